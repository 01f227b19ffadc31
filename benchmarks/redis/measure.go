//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// kind is a server, and how it was told to write.
type kind struct {
	name string
	args func(s settings, dir, port string) []string
}

// buffer is what our store writes to memory before it makes a table of it.
const buffer = "buffer_mib=64"

// kinds are measured one after another.
var kinds = []kind{
	{"StrictKV", func(s settings, dir, port string) []string {
		return s.ours("pebble://"+dir+"?"+buffer, port)
	}},
	{"Redis, appendfsync always", func(_ settings, dir, port string) []string {
		return theirs(dir, port, "--appendonly", "yes", "--appendfsync", "always")
	}},
	{"StrictKV, unsynced", func(s settings, dir, port string) []string {
		return s.ours("pebble://"+dir+"?nosync=true&"+buffer, port)
	}},
	{"Redis, no log", func(_ settings, dir, port string) []string {
		return theirs(dir, port, "--appendonly", "no")
	}},
}

func (s settings) ours(url, port string) []string {
	return []string{
		s.strictkv, "--bucket", url, "--db", "bench", "redis", "--create",
		"--listen", "127.0.0.1:" + port,
	}
}

func theirs(dir, port string, more ...string) []string {
	return append([]string{"redis-server", "--port", port, "--dir", dir, "--save", ""}, more...)
}

// figure is one measurement.
type figure struct {
	kind, load string
	bytes      int
	value      float64
}

// chained is how many commands a client of a pipeline sends at once.
const chained = 16

// loads are what is measured of a server, by arguments of redis-benchmark.
var loads = []struct {
	name  string
	args  []string
	share int // of the requests of the others, in percent
}{
	{"SET", []string{"-t", "set"}, 100},
	{"GET", []string{"-t", "get"}, 100},
	{"SET, 16 at once", []string{"-t", "set", "-P", strconv.Itoa(chained)}, 100},
	{"GET, 16 at once", []string{"-t", "get", "-P", strconv.Itoa(chained)}, 200},
}

// volume is about how many bytes a load moves, between requestsMin and requestsMax requests.
const (
	volume      = 400 << 20
	requestsMin = 200
	requestsMax = 60_000
)

// keysMax is how many keys there are; large values have less, as Redis keeps them in memory.
const keysMax = 2000

// measure runs a server, and all loads.
func (s settings) measure(ctx context.Context, k kind, size int) (all []figure, err error) {
	dir, err := os.MkdirTemp(s.dir, "redis-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	port, err := free()
	if err != nil {
		return nil, err
	}
	args := k.args(s, dir, port)
	server := exec.CommandContext(ctx, args[0], args[1:]...)
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait() // Its data are not needed any more.
	}()
	if err := answers(ctx, port); err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.String())
	}
	requests := min(max(volume/size, requestsMin), requestsMax)
	keys := min(keysMax, requests/4)
	load := func(args []string, n int) (float64, error) {
		return run(ctx, append([]string{
			"-p", port, "-c", strconv.Itoa(s.clients), "-n", strconv.Itoa(n),
			"-r", strconv.Itoa(keys), "-d", strconv.Itoa(size), "-k", "1", "--csv",
		}, args...))
	}
	if _, err := load(loads[0].args, 5*keys); err != nil { // nearly all keys are there then
		return nil, err
	}
	for _, l := range loads {
		if strings.Contains(l.name, "at once") && size >= 1<<20 {
			continue // 1.6 GB at once
		}
		rate, err := load(l.args, requests*l.share/100)
		if err != nil {
			return nil, err
		}
		all = append(all, figure{k.name, l.name, size, rate})
	}
	resident, err := memory(server.Process.Pid)
	return append(all, figure{k.name, "resident memory, MiB", size, resident}), err
}

// run is one run of redis-benchmark, and the commands per second that it tells.
func run(ctx context.Context, args []string) (float64, error) {
	out, err := exec.CommandContext(ctx, "redis-benchmark", args...).Output()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark: %w", err)
	}
	rows := csv.NewReader(bytes.NewReader(out))
	rows.FieldsPerRecord = -1
	lines, err := rows.ReadAll()
	if err != nil || len(lines) == 0 || len(lines[len(lines)-1]) < 2 {
		return 0, fmt.Errorf("redis-benchmark: said %q", out)
	}
	return strconv.ParseFloat(lines[len(lines)-1][1], 64)
}

// free is a port of this machine that nobody listens at.
func free() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(ln.Addr().String())
	return port, errors.Join(err, ln.Close())
}

// answerMax is how long a server may take to begin.
const answerMax = 10 * time.Second

// answers waits until a server listens.
func answers(ctx context.Context, port string) error {
	ctx, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// memory is what a process takes, in MiB.
func memory(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("no VmRSS")
}

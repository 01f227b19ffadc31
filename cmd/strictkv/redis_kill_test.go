package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/history"
)

const (
	killedTimes   = 5
	killedClients = 4
	killedAfter   = 50 // transactions that were acknowledged
)

// victimServer is a process that serves a database in a pebble store to clients of Redis.
type victimServer struct {
	dir  string
	cmd  *exec.Cmd
	addr atomic.Pointer[string]
}

func (v *victimServer) start(t *testing.T) {
	v.cmd = exec.CommandContext(t.Context(), "strictkv", "--bucket",
		"pebble://"+filepath.ToSlash(v.dir), "--db", "db", "redis", "--create",
		"--listen", "127.0.0.1:0")
	v.cmd.Stderr = os.Stderr
	out, err := v.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, v.cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	require.True(t, ok, line)
	v.addr.Store(&addr)
}

func (v *victimServer) kill() {
	_ = v.cmd.Process.Kill()
	_ = v.cmd.Wait()
}

// killedClient changes and reads keys over connections that break at any time.
type killedClient struct {
	v    *victimServer
	name string
	nc   net.Conn
	r    *bufio.Reader
}

// do sends commands, and returns what each has replied: the words of it.
func (c *killedClient) do(commands ...string) (replies [][]string, err error) {
	if c.nc == nil {
		if c.nc, err = net.Dial("tcp", *c.v.addr.Load()); err != nil {
			c.nc = nil
			<-time.After(10 * time.Millisecond) // it is being started
			return nil, err
		}
		c.r = bufio.NewReader(c.nc)
	}
	_, err = io.WriteString(c.nc, strings.Join(commands, "\r\n")+"\r\n")
	for range commands {
		var words []string
		if err == nil {
			words, err = reply(c.r)
		}
		replies = append(replies, words)
	}
	if err != nil {
		c.close()
	}
	return replies, err
}

func (c *killedClient) close() {
	if c.nc != nil {
		_ = c.nc.Close()
	}
	c.nc = nil
}

// reply reads one, whose lists are one list of words.
func reply(r *bufio.Reader) (words []string, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	n, _ := strconv.Atoi(line[1:])
	switch {
	case line[0] == '*' || line[0] == '$' && n < 0:
		for range n {
			more, err := reply(r)
			if err != nil {
				return nil, err
			}
			words = append(words, more...)
		}
		return words, nil
	case line[0] == '$':
		text := make([]byte, n+len("\r\n"))
		_, err := io.ReadFull(r, text)
		return []string{string(text[:n])}, err
	}
	return []string{line}, nil
}

var errNotDone = errors.New("not done")

// change reads two keys, and writes both in a transaction, if they have not changed meanwhile.
func (c *killedClient) change(call *history.Call, id string, a, b int) error {
	keys := []string{fmt.Sprint("k", a), fmt.Sprint("k", b)}
	both := strings.Join(keys, " ")
	replies, err := c.do("WATCH "+both, "MGET "+both)
	if err != nil || len(replies[1]) != len(keys) {
		call.Fail(false)
		return errors.Join(err, errNotDone)
	}
	for i, key := range keys {
		call.Read(key, replies[1][i], true)
		call.Write(key, id)
	}
	replies, err = c.do("MULTI", "SET "+keys[0]+" "+id, "SET "+keys[1]+" "+id, "EXEC")
	switch {
	case err != nil || strings.HasPrefix(strings.Join(replies[3], ""), "-INDOUBT"):
		call.Doubt()
		return errors.Join(err, errNotDone)
	case len(replies[3]) != len(keys): // changed, or an error: nothing was done
		call.Fail(false)
		return errNotDone
	}
	call.Commit()
	return nil
}

// look reads all keys at one instant.
func (c *killedClient) look(call *history.Call) error {
	replies, err := c.do("MULTI", "MGET k0 k1 k2 k3", "EXEC")
	if err != nil || len(replies[2]) != killedClients {
		call.Fail(false)
		return errors.Join(err, errNotDone)
	}
	for i, value := range replies[2] {
		call.Read(fmt.Sprint("k", i), value, true)
	}
	call.Commit()
	return nil
}

// step is the n-th of the i-th client.
func (c *killedClient) step(call *history.Call, i, n int) error {
	if n%killedClients == 0 {
		return c.look(call)
	}
	id := fmt.Sprintf("%s/%d", c.name, n)
	return c.change(call, id, i, (i+n)%killedClients)
}

// TestRedisKilled kills a server of a pebble store by SIGKILL, wherever it is, and starts another
// in its place: what clients have seen is a strictly serializable history.
func TestRedisKilled(t *testing.T) {
	v := &victimServer{dir: t.TempDir()}
	v.start(t)
	began := time.Now()
	rec := history.NewRecorder("t", func() int64 { return int64(time.Since(began)) }, nil)
	first := &killedClient{v: v, name: "first"}
	call := rec.Begin(first.name)
	for i := range killedClients {
		call.Write(fmt.Sprint("k", i), fmt.Sprint("start", i))
	}
	replies, err := first.do("MSET k0 start0 k1 start1 k2 start2 k3 start3")
	require.NoError(t, err)
	require.Equal(t, []string{"+OK"}, replies[0])
	call.Commit()
	first.close()

	acknowledged, stop := make(chan bool), make(chan struct{})
	var all sync.WaitGroup
	for i := range killedClients {
		all.Go(func() {
			c := &killedClient{v: v, name: fmt.Sprint("c", i)}
			defer c.close()
			for n := 0; ; n++ {
				err := c.step(rec.Begin(c.name), i, n)
				select {
				case acknowledged <- err == nil:
				case <-stop:
					return
				}
			}
		})
	}
	for range killedTimes {
		for n := 0; n < killedAfter; {
			if <-acknowledged {
				n++
			}
		}
		v.kill()
		v.start(t)
	}
	close(stop)
	all.Wait()
	require.NoError(t, first.look(rec.Begin("last")))
	first.close()
	v.kill()

	report, err := history.Check(rec.History(), history.Options{})
	require.NoError(t, err)
	assert.NoError(t, report.Err())
	assert.Zero(t, report.Undetermined, "the verdict is exact")
	done := map[history.Status]int{}
	for _, x := range rec.History() {
		done[x.Status]++
	}
	assert.NotZero(t, done[history.Committed])
	t.Logf("%v", done)
}

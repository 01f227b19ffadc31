//go:build linux

// Command snapshot measures package layers/snapshot beside Pebble: entries of 1 KiB, built, read at
// random and in order, in memory and from the disk.
//
//	go run -C benchmarks ./snapshot -sizes 10000000,100000000,1000000000
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strictkv/strictkv/benchmarks/internal/chart"
	"github.com/strictkv/strictkv/benchmarks/internal/report"
)

func main() {
	if err := program(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "snapshot:", err)
		os.Exit(1)
	}
}

// row is what was measured of one engine with one size: medians of some rounds, which both take
// in turns.
type row struct {
	Engine     string  `json:"engine" column:"engine"`
	MB         float64 `json:"mb" column:"MB"`
	OpenMS     float64 `json:"open_ms" column:"open, ms"`
	Random     float64 `json:"random_per_s" column:"random reads/s"`
	Wall       float64 `json:"random_per_s_wall" column:"by the clock"`
	P50        float64 `json:"random_p50_us" column:"p50, µs"`
	P99        float64 `json:"random_p99_us" column:"p99, µs"`
	Sequential float64 `json:"sequential_per_s" column:"sequential/s"`
	Cold       float64 `json:"cold_per_s" column:"uncached reads/s"`
	ColdRead   float64 `json:"cold_read" column:"read per byte returned, uncached"`
	Written    float64 `json:"written_sorted" column:"written per byte, sorted"`
	Unsorted   float64 `json:"written_unsorted" column:"written per byte, unsorted"`
}

type settings struct {
	dir    string
	rounds int
	time   time.Duration
	cold   int
	cache  int64
	sorted bool
	log    io.Writer
}

func program(args []string, out, log io.Writer) error {
	s := settings{log: log}
	f := flag.NewFlagSet("snapshot", flag.ContinueOnError)
	sizes := f.String("sizes", "10000000,100000000", "sizes of the data, in bytes")
	f.StringVar(&s.dir, "dir", os.TempDir(), "where to put them")
	f.IntVar(&s.rounds, "rounds", 5, "rounds that both take in turns")
	f.DurationVar(&s.time, "time", 2*time.Second, "time of random reads in each round")
	f.IntVar(&s.cold, "cold", 2000, "uncached reads in each round")
	f.Int64Var(&s.cache, "cache", 0,
		"Pebble's cache is twice the data, but that at most, in bytes; 0 is any")
	f.BoolVar(&s.sorted, "sorted", false, "build from sorted input alone")
	plots := f.String("plots", "", "put pictures into this folder")
	to := report.Output{Table: out}
	to.Flag(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	var rows []row
	for text := range strings.SplitSeq(*sizes, ",") {
		size, err := strconv.ParseInt(text, 10, 64)
		if err != nil || size < entrySize {
			return fmt.Errorf("size %q: want a number of bytes from %d", text, entrySize)
		}
		some, err := s.measure(size)
		if err != nil {
			return err
		}
		rows = append(rows, some...)
	}
	err := report.Show(to, "", rows)
	if *plots != "" {
		err = errors.Join(err, draw(*plots, rows))
	}
	return err
}

var names = []string{"layers/snapshot", "Pebble"}

// measure measures both engines with data of a size.
func (s settings) measure(size int64) (rows []row, err error) {
	dir, err := os.MkdirTemp(s.dir, "snapshot-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := newRecords(size)
	engines, samples := []engine{&ours{}, &theirs{}}, make([][]row, 2)
	for i, e := range engines {
		fmt.Fprintf(s.log, "%s: %d MB\n", names[i], size/1e6)
		base := row{Engine: names[i], MB: float64(size) / 1e6}
		if !s.sorted {
			if base.Unsorted, err = s.build(e, dir, r, false); err != nil {
				return nil, err
			}
		}
		if base.Written, err = s.build(e, filepath.Join(dir, names[i]), r, true); err != nil {
			return nil, err
		}
		samples[i] = append(samples[i], base)
	}
	for round := range s.rounds {
		for i, e := range engines {
			x, err := s.round(e, filepath.Join(dir, names[i]), r, uint64(round))
			if err != nil {
				return nil, err
			}
			samples[i] = append(samples[i], x)
		}
	}
	for i := range engines {
		rows = append(rows, median(samples[i]))
	}
	return rows, nil
}

// build builds the files, and tells how many bytes were written for each of the records.
func (s settings) build(e engine, dir string, r *records, sorted bool) (float64, error) {
	if !sorted {
		dir = filepath.Join(dir, "unsorted")
		defer func() { _ = os.RemoveAll(dir) }()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	before := counted("wchar")
	err := e.build(dir, r, sorted)
	return float64(counted("wchar")-before) / float64(r.n*entrySize), err
}

// counted is a count of the system for this process: of bytes given to write calls, "wchar", or
// read from the disk, "read_bytes".
func counted(name string) int64 {
	text, _ := os.ReadFile("/proc/self/io")
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, name+": "); ok {
			x, _ := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			return x
		}
	}
	return 0
}

// cached is the size of a cache.
func (s settings) cached(r *records) int64 {
	twice := 2 * int64(r.n) * entrySize
	if s.cache > 0 {
		return min(twice, s.cache)
	}
	return twice
}

func (s settings) round(e engine, dir string, r *records, seed uint64) (x row, err error) {
	if err := forget(dir); err != nil {
		return x, err
	}
	if err := e.open(dir, s.cached(r)); err != nil {
		return x, err
	}
	random := rand.New(rand.NewPCG(seed, 1))
	before, start := counted("read_bytes"), time.Now()
	var buf []byte
	for range s.cold {
		buf = r.key(buf, random.IntN(r.n))
		if _, err := e.get(buf); err != nil {
			return x, err
		}
	}
	x.Cold = float64(s.cold) / time.Since(start).Seconds()
	x.ColdRead = float64(counted("read_bytes")-before) / float64(s.cold*entrySize)
	if _, err := e.scan(); err != nil { // now all is in memory
		return x, err
	}
	if err := e.close(); err != nil {
		return x, err
	}
	start = time.Now()
	if err := e.open(dir, s.cached(r)); err != nil {
		return x, err
	}
	x.OpenMS = float64(time.Since(start).Microseconds()) / 1000
	if _, err := e.scan(); err != nil {
		return x, err
	}
	used, scanned := processor(), 0
	start = time.Now()
	for scanned == 0 || time.Since(start) < s.time {
		n, err := e.scan()
		if err != nil || n != r.n*entrySize {
			return x, fmt.Errorf("scanned %d bytes of %d: %w", n, r.n*entrySize, err)
		}
		scanned += r.n
	}
	x.Sequential = float64(scanned) / (processor() - used).Seconds()
	if err := s.random(e, r, random, &x); err != nil {
		return x, err
	}
	return x, e.close()
}

// random reads at random for some time.
func (s settings) random(e engine, r *records, random *rand.Rand, x *row) error {
	var buf []byte
	took := make([]time.Duration, 0, 1<<22)
	clear(took[:cap(took)]) // its pages are there
	begin, used := time.Now(), processor()
	for time.Since(begin) < s.time && len(took) < cap(took) {
		for range 100 {
			buf = r.key(buf, random.IntN(r.n))
			start := time.Now()
			if _, err := e.get(buf); err != nil {
				return err
			}
			took = append(took, time.Since(start))
		}
	}
	x.Wall = float64(len(took)) / time.Since(begin).Seconds()
	x.Random = float64(len(took)) / (processor() - used).Seconds()
	slices.Sort(took)
	x.P50 = float64(took[len(took)/2].Nanoseconds()) / 1000
	x.P99 = float64(took[len(took)*99/100].Nanoseconds()) / 1000
	return nil
}

// processor is the time that processors have worked for this process: of reads from memory it tells
// how many a second there are, also where others work on the machine.
func processor() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// forget makes the system drop the files in a directory from its cache.
func forget(dir string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		err = unix.Fdatasync(int(f.Fd()))
		return errors.Join(err, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
	})
}

// median has the medians of the rounds; the first sample tells what is no round's.
func median(all []row) row {
	m, rounds := all[0], all[1:]
	of := func(get func(row) float64) float64 {
		var xs []float64
		for _, x := range rounds {
			xs = append(xs, get(x))
		}
		slices.Sort(xs)
		return chart.Quantile(xs, 0.5)
	}
	m.OpenMS = of(func(r row) float64 { return r.OpenMS })
	m.Random = of(func(r row) float64 { return r.Random })
	m.Wall = of(func(r row) float64 { return r.Wall })
	m.P50 = of(func(r row) float64 { return r.P50 })
	m.P99 = of(func(r row) float64 { return r.P99 })
	m.Sequential = of(func(r row) float64 { return r.Sequential })
	m.Cold = of(func(r row) float64 { return r.Cold })
	m.ColdRead = of(func(r row) float64 { return r.ColdRead })
	return m
}

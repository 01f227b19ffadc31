package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// row is one figure of one engine in one round.
type row struct {
	What   string  `json:"what"`
	Unit   string  `json:"unit"`
	Engine string  `json:"engine"`
	Round  int     `json:"round"`
	Figure float64 `json:"figure"`
}

// settings are those of a run.
type settings struct {
	Dir     string        // of all stores
	Time    time.Duration // of each load
	Keys    int           // that are updated and read
	Scan    int           // keys of a scan
	Records int           // whose space is measured
	Rounds  int
}

// part is a measurement of one engine, in a directory of its own.
type part struct {
	name    string
	measure func(ctx context.Context, s settings, k kind, dir string) ([]row, error)
}

var parts = []part{
	{"durable", func(ctx context.Context, s settings, k kind, dir string) ([]row, error) {
		return updates(ctx, s, k, dir, true)
	}},
	{"unsynced", func(ctx context.Context, s settings, k kind, dir string) ([]row, error) {
		return updates(ctx, s, k, dir, false)
	}},
	{"scan", scan},
	{"space", space},
}

// valueSize is that of the values that are updated and read, recordSize that of those whose
// space is measured, in bytes.
const (
	valueSize  = 1 << 10
	recordSize = 220 - keySize
	keySize    = 8
)

// items yields n keys in order, with values that do not compress.
func items(n, size int) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		source := rand.NewChaCha8([32]byte{1})
		for i := range n {
			value := make([]byte, size) // some engines keep it
			_, _ = source.Read(value)   // It never fails.
			if !yield(key(i), value) {
				return
			}
		}
	}
}

func key(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }

// in opens an engine, and closes it when f has returned.
func in(
	ctx context.Context, k kind, dir string, durable bool, f func(engine) error,
) (err error) {
	e, err := k.open(ctx, dir, durable)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close(ctx)) }()
	return f(e)
}

// updates measures updates of one key by several goroutines, and reads.
func updates(
	ctx context.Context, s settings, k kind, dir string, durable bool,
) (rows []row, err error) {
	err = in(ctx, k, dir, durable, func(e engine) error {
		if err := e.load(ctx, items(s.Keys, valueSize)); err != nil {
			return err
		}
		word := "unsynced"
		if durable {
			word = "durable"
		}
		random := func() int { return rand.IntN(s.Keys) }
		for _, goroutines := range []int{1, 8, 64} {
			n, err := rate(ctx, s.Time, goroutines, random, e.update)
			if err != nil {
				return err
			}
			rows = append(rows, row{
				What: fmt.Sprintf("%s updates, %d goroutines", word, goroutines), Figure: n})
		}
		if !durable {
			own, err := reads(ctx, s, e, random)
			rows = append(rows, own...)
			return err
		}
		n, err := rate(ctx, s.Time, 64, func() int { return 0 }, e.update)
		if err != nil {
			return err
		}
		rows = append(rows, row{What: "durable updates of one hot key, 64 goroutines", Figure: n})
		ms, err := reopen(ctx, k, dir)
		rows = append(rows, row{What: "opening after a crash", Unit: "ms", Figure: ms})
		return err
	})
	return rows, err
}

// reads measures reads of keys that have all been read before.
func reads(ctx context.Context, s settings, e engine, random func() int) ([]row, error) {
	for i := range s.Keys {
		if err := e.read(ctx, key(i)); err != nil {
			return nil, err
		}
	}
	began, used := time.Now(), processor()
	n, err := rate(ctx, s.Time, 8, random, e.read)
	used = processor() - used
	return []row{
		{What: "reads, 8 goroutines", Figure: n},
		{What: "processor's time of a read", Unit: "us",
			Figure: float64(used.Nanoseconds()) / 1000 / (n * time.Since(began).Seconds())},
	}, err
}

// rate is how many calls with random keys several goroutines make per second.
func rate(
	ctx context.Context, d time.Duration, goroutines int, pick func() int,
	call func(context.Context, []byte) error,
) (float64, error) {
	var n atomic.Int64
	var over atomic.Bool
	g, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for range goroutines {
		g.Go(func() error {
			var own int64
			defer func() { n.Add(own) }()
			for !over.Load() {
				if err := call(ctx, key(pick())); err != nil {
					return err
				}
				own++
			}
			return nil
		})
	}
	time.Sleep(d)
	over.Store(true)
	err := g.Wait()
	return float64(n.Load()) / time.Since(began).Seconds(), err
}

// reopen copies the files of an engine that is open, as a crash would leave them, and measures
// how long it takes to open the copy and to read a key.
func reopen(ctx context.Context, k kind, dir string) (ms float64, err error) {
	crashed := dir + "-crashed"
	if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(crashed)) }()
	began := time.Now()
	err = in(ctx, k, crashed, true, func(e engine) error {
		err := e.read(ctx, key(0))
		ms = float64(time.Since(began).Microseconds()) / 1000
		return err
	})
	return ms, err
}

func scan(ctx context.Context, s settings, k kind, dir string) (rows []row, err error) {
	err = in(ctx, k, dir, false, func(e engine) error {
		return e.load(ctx, items(s.Scan, recordSize))
	})
	if err != nil {
		return nil, err
	}
	err = in(ctx, k, dir, false, func(e engine) error {
		for _, what := range []string{"scan after opening", "scan again"} {
			began := time.Now()
			n, err := e.scan(ctx)
			if err != nil {
				return err
			}
			if n != s.Scan {
				return fmt.Errorf("%s: %d of %d: %w", k.name, n, s.Scan, errCount)
			}
			rows = append(rows, row{
				What: fmt.Sprintf("%s, %d keys", what, n), Unit: "keys/s",
				Figure: float64(n) / time.Since(began).Seconds(),
			})
		}
		return nil
	})
	return rows, err
}

// space measures the bytes of all files over those of keys and values, after the engine was
// closed.
func space(ctx context.Context, s settings, k kind, dir string) ([]row, error) {
	err := in(ctx, k, dir, false, func(e engine) error {
		return e.load(ctx, items(s.Records, recordSize))
	})
	if err != nil {
		return nil, err
	}
	var bytes int64
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n, err := allocated(path)
		bytes += n
		return err
	})
	return []row{{
		What: fmt.Sprintf("space of %d records of 220 B", s.Records), Unit: "of the data",
		Figure: float64(bytes) / float64(s.Records*(recordSize+keySize)),
	}}, err
}

// all measures all engines, round by round, one after another.
func all(
	ctx context.Context, s settings, chosen func(kind string, part string) bool, tell io.Writer,
) (rows []row, err error) {
	for round := range s.Rounds {
		for _, p := range parts {
			for _, k := range kinds {
				if !chosen(k.name, p.name) {
					continue
				}
				fmt.Fprintf(tell, "round %d: %s, %s\n", round+1, p.name, k.name)
				dir, err := os.MkdirTemp(s.Dir, "engines")
				if err != nil {
					return nil, err
				}
				found, err := p.measure(ctx, s, k, dir)
				if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
					return nil, fmt.Errorf("%s, %s: %w", k.name, p.name, err)
				}
				for _, r := range found {
					r.Engine, r.Round = k.name, round+1
					if r.Unit == "" {
						r.Unit = "1/s"
					}
					rows = append(rows, r)
				}
			}
		}
	}
	return rows, nil
}

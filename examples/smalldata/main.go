// Smalldata builds a snapshot of records from CSV, and asks it questions: data that fit on a disk
// need no server to be queried.
//
//	go run ./examples/smalldata                        # 1 000 000 records that it makes up
//	go run ./examples/smalldata -records 10000000
//	go run ./examples/smalldata -csv cities.csv        # the first column is the key
//
// The rows may come in any order: they are sorted on the disk, in bounded memory.
package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/snapshot"
)

func main() {
	records := flag.Int("records", 1_000_000, "how many records to make up")
	file := flag.String("csv", "", "a file to read instead")
	dir := flag.String("dir", "", "where to keep the snapshot; else it is removed in the end")
	flag.Parse()
	if err := run(os.Stdout, *file, *dir, *records); err != nil {
		fmt.Fprintln(os.Stderr, "smalldata:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, file, dir string, records int) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "smalldata-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	rows := madeUp(records)
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		rows = f
	}
	ctx, s := context.Background(), snapshot.Dir(dir)
	start := time.Now()
	in := &reader{rows: csv.NewReader(bufio.NewReader(rows))}
	name, err := snapshot.Build(ctx, s, in.each)
	if err = errors.Join(in.err, err); err != nil {
		return err
	}
	fmt.Fprintf(out, "built %s of %d rows in %v\n", name, in.n,
		time.Since(start).Round(time.Millisecond))
	start = time.Now()
	snap, err := snapshot.Open(ctx, s, name)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "opened it in %v\n", time.Since(start))
	return errors.Join(ask(ctx, out, snap, in.some), snap.Close())
}

// reader reads rows of CSV.
type reader struct {
	rows *csv.Reader
	n    int
	some []string // keys
	err  error
}

// each yields each row, its first column as the key, the others as the value.
func (r *reader) each(yield func(key, value []byte) bool) {
	r.rows.ReuseRecord, r.rows.FieldsPerRecord = true, -1
	for {
		row, err := r.rows.Read()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
			return
		}
		if r.n++; r.n%1000 == 1 && len(r.some) < 1000 {
			r.some = append(r.some, strings.Clone(row[0]))
		}
		if !yield([]byte(row[0]), []byte(strings.Join(row[1:], ","))) {
			return
		}
	}
}

// ask reads some keys, a range, and everything.
func ask(ctx context.Context, out io.Writer, snap *snapshot.Snapshot, keys []string) error {
	start := time.Now()
	for _, key := range keys {
		if _, err := snap.Get(ctx, []byte(key)); err != nil {
			return err
		}
	}
	if n := len(keys); n > 0 {
		fmt.Fprintf(out, "%d single reads, %v each\n", n, time.Since(start)/time.Duration(n))
	}
	fmt.Fprintln(out, "the last three:")
	for item, err := range snap.Scan(ctx, strictkv.Range{Reverse: true, Limit: 3}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  %s: %s\n", item.Key, item.Value)
	}
	start = time.Now()
	n, bytes := 0, 0
	for item, err := range snap.Scan(ctx, strictkv.Range{}) {
		if err != nil {
			return err
		}
		n, bytes = n+1, bytes+len(item.Value)
	}
	fmt.Fprintf(out, "went through %d records with %d bytes in %v\n", n, bytes,
		time.Since(start).Round(time.Millisecond))
	return nil
}

// madeUp is a file of records in no order.
func madeUp(n int) io.Reader {
	r, w := io.Pipe()
	go func() {
		out := bufio.NewWriter(w)
		random := rand.New(rand.NewPCG(1, 1))
		for i := range n {
			id := uint64(i) * 2_654_435_761 % uint64(n) // a prime: each once, unless it divides n
			fmt.Fprintf(out, "customer-%09d,%d,%s\n", id, random.IntN(100_000),
				[]string{"new", "active", "gone"}[random.IntN(3)])
		}
		w.CloseWithError(out.Flush())
	}()
	return r
}

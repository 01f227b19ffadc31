//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/snapshot"
)

// entrySize is the size of a key with its value, and keySize that of the key.
const (
	entrySize = 1024
	keySize   = 16
)

// records are entries of a data set: keys are numbers scattered over their range, values what
// nobody can compress.
type records struct {
	n     int
	chunk []byte // random bytes that values are parts of
}

func newRecords(size int64) *records {
	r := &records{n: int(size / entrySize), chunk: make([]byte, 1<<22)}
	x := uint64(1)
	for i := 0; i < len(r.chunk); i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		binary.LittleEndian.PutUint64(r.chunk[i:], x)
	}
	return r
}

func (r *records) key(buf []byte, i int) []byte { return fmt.Appendf(buf[:0], "k%015d", i*7) }

func (r *records) value(i int) []byte {
	at := i * 1021 % (len(r.chunk) - entrySize)
	return r.chunk[at : at+entrySize-keySize]
}

// each yields the records, in order or as scattered as can be.
func (r *records) each(sorted bool) func(yield func(k, v []byte) bool) {
	return func(yield func(k, v []byte) bool) {
		var buf []byte
		for i := range r.n {
			if !sorted {
				i = int(uint64(i) * 2_654_435_761 % uint64(r.n)) // a prime: each once
			}
			if buf = r.key(buf, i); !yield(buf, r.value(i)) {
				return
			}
		}
	}
}

// engine is what is measured.
type engine interface {
	// build makes the files of the records in a directory.
	build(dir string, r *records, sorted bool) error
	// open opens them, for data of a size that all fit into the cache.
	open(dir string, size int64) error
	get(key []byte) (n int, err error)
	// scan goes through all, and returns how many bytes there are.
	scan() (n int, err error)
	close() error
}

// ours is package snapshot.
type ours struct{ snap *snapshot.Snapshot }

func (o *ours) build(dir string, r *records, sorted bool) error {
	_, err := snapshot.Build(context.Background(), snapshot.Dir(dir), r.each(sorted))
	return err
}

func (o *ours) open(dir string, _ int64) error {
	s := snapshot.Dir(dir)
	names, err := snapshot.Names(context.Background(), s)
	if err != nil || len(names) != 1 {
		return fmt.Errorf("%d snapshots: %w", len(names), err)
	}
	o.snap, err = snapshot.Open(context.Background(), s, names[0])
	return err
}

func (o *ours) get(key []byte) (int, error) {
	v, err := o.snap.Get(context.Background(), key)
	return touch(v), err
}

func (o *ours) scan() (n int, err error) {
	for item, err := range o.snap.Scan(context.Background(), strictkv.Range{}) {
		if err != nil {
			return n, err
		}
		n += len(item.Key) + touch(item.Value)
	}
	return n, nil
}

func (o *ours) close() error { return o.snap.Close() }

// touch reads a value, as far as its cache lines go, and returns its length.
func touch(v []byte) int {
	x := byte(0)
	for i := 0; i < len(v); i += 64 {
		x |= v[i]
	}
	runtime.KeepAlive(x)
	return len(v)
}

// theirs is Pebble: its defaults, a filter of 10 bits, and everything compacted.
type theirs struct {
	db    *pebble.DB
	cache *pebble.Cache
}

func options(cache *pebble.Cache, readOnly bool) *pebble.Options {
	o := &pebble.Options{
		Cache: cache, FS: vfs.Default, ReadOnly: readOnly, Logger: quiet{},
		FormatMajorVersion: pebble.FormatNewest,
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return o
}

type quiet struct{}

func (quiet) Infof(string, ...any)                   {}
func (quiet) Errorf(f string, a ...any)              { fmt.Fprintf(os.Stderr, f+"\n", a...) }
func (quiet) Fatalf(f string, a ...any)              { panic(fmt.Sprintf(f, a...)) }
func (quiet) Eventf(context.Context, string, ...any) {}

func (p *theirs) build(dir string, r *records, sorted bool) error {
	db, err := pebble.Open(dir, options(nil, false))
	if err != nil {
		return err
	}
	b := db.NewBatch()
	for k, v := range r.each(sorted) {
		if err := b.Set(k, v, nil); err != nil {
			return err
		}
		if b.Len() > 1<<20 {
			if err := b.Commit(pebble.NoSync); err != nil {
				return err
			}
			b = db.NewBatch()
		}
	}
	if err := b.Commit(pebble.Sync); err != nil {
		return err
	}
	if err := db.Flush(); err != nil {
		return err
	}
	if err := db.Compact(context.Background(), []byte("a"), []byte("z"), true); err != nil {
		return err
	}
	return db.Close()
}

func (p *theirs) open(dir string, size int64) (err error) {
	p.cache = pebble.NewCache(size)
	p.db, err = pebble.Open(dir, options(p.cache, true))
	return err
}

func (p *theirs) get(key []byte) (int, error) {
	v, done, err := p.db.Get(key)
	if err != nil {
		return 0, err
	}
	return touch(v), done.Close()
}

func (p *theirs) scan() (n int, err error) {
	it, err := p.db.NewIter(nil)
	if err != nil {
		return 0, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return n, err
		}
		n += len(it.Key()) + touch(v)
	}
	return n, it.Close()
}

func (p *theirs) close() error {
	err := p.db.Close()
	p.cache.Unref()
	return err
}

// Package snapshot keeps immutable copies of collections: sorted files, named by a hash of their
// content, in a directory or a bucket. An analysis reads one, and touches no live key; a backup is
// one.
//
//	s := snapshot.Dir("./snapshots")
//	name, err := snapshot.Save(ctx, s, users, snapshot.SaveOptions{})
//	snap, err := snapshot.Open(ctx, s, name)
//	defer snap.Close()
//	value, err := snap.Get(ctx, key)
//
// Equal content has an equal name, whoever has saved it, and when. Diff saves what has changed
// since as a layer, which refers to its base by name; it reads only that. Layers stack; Compact
// makes one file of them, the one that Save would have made. GC removes what is not wanted any
// more.
//
// A file appears under its name at once and as a whole. A process that dies in any call leaves what
// the next GC removes, nothing else.
//
// docs/snapshot.md has the format of the files, and figures.
package snapshot

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/snapshot/internal/table"
)

// LayersMax is how many files may be stacked. Reads take longer with each: Compact merges them.
const LayersMax = 1000

// Snapshot is an immutable sorted map from keys to values. Any number of goroutines may use it.
type Snapshot struct {
	store    Store
	files    []*table.File // the top first
	changes  *node         // atop of them, or nil
	instant  time.Time
	itemWise bool
	err      error // of With
}

// Open opens a snapshot with all that it is a layer on. Its index is read when it is wanted: that
// takes as long for a large one as for a small one. In a directory the file is mapped into memory;
// of one in a bucket, parts are fetched when they are wanted, and the last ones kept. Close it.
//
// Errors: ErrInvalid of a name that is none, ErrNotFound, ErrNoBase, ErrCorrupt, ErrFormat, and
// the store's.
func Open(ctx context.Context, s Store, name string) (*Snapshot, error) {
	snap := &Snapshot{store: s}
	if err := snap.open(ctx, name); err != nil {
		return nil, errors.Join(fmt.Errorf("open: %w", err), snap.Close())
	}
	return snap, nil
}

func (s *Snapshot) open(ctx context.Context, name string) error {
	for at := name; ; {
		f, err := openNamed(ctx, s.store, at)
		if errors.Is(err, ErrNotFound) && len(s.files) > 0 {
			return fmt.Errorf("snapshot %s: %w: %s", name, ErrNoBase, at)
		} else if err != nil {
			return err
		}
		if s.files = append(s.files, f); len(s.files) > LayersMax {
			return fmt.Errorf("snapshot %s: more than %d layers: %w", name, LayersMax, ErrInvalid)
		}
		if f.Base == (table.Sum{}) {
			break
		}
		at = hex.EncodeToString(f.Base[:])
	}
	o, err := s.store.open(ctx, kindOrigin, name)
	if errors.Is(err, ErrNotFound) {
		return nil
	} else if err != nil {
		return fmt.Errorf("origin of %s: %w", name, err)
	}
	s.instant, s.itemWise = o.Instant, o.ItemWise
	return o.Close()
}

// Close ends the use of the snapshot, of what With and Without have made of it, and of all values
// that came from them: their memory is gone. A second one does nothing.
func (s *Snapshot) Close() error {
	var err error
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Name is the name that the snapshot was opened by: a hash of all its content. Of one that With or
// Without have made it is that of what they began with.
func (s *Snapshot) Name() string { return hex.EncodeToString(s.files[0].Name[:]) }

// Layers are the names of the files that the snapshot consists of, each a layer on the next.
func (s *Snapshot) Layers() []string {
	var all []string
	for _, f := range s.files {
		all = append(all, hex.EncodeToString(f.Name[:]))
	}
	return all
}

// Instant is when the collection that was saved had this content: all that had committed before is
// in the snapshot. If equal content was saved several times, it is the last of them. It is zero for
// a snapshot that was not made of a collection. If ItemWise, it is when the save began.
func (s *Snapshot) Instant() time.Time { return s.instant }

// ItemWise reports whether each key is as it was at an instant of its own, while the snapshot was
// saved: SaveOptions.ItemWise allowed that.
func (s *Snapshot) ItemWise() bool { return s.itemWise }

// Get returns the value of a key, or ErrNotFound. It is not copied: it must not be changed, which
// in a directory's would end the process, and is gone after Close. Other errors: ErrCorrupt, and
// the store's.
func (s *Snapshot) Get(ctx context.Context, key []byte) ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	e, found := s.changes.find(key)
	if !found {
		var err error
		if e, found, err = findIn(ctx, s.files, key); err != nil {
			return nil, fmt.Errorf("get %.100q: %w", key, err)
		}
	}
	if !found || e.Deleted {
		return nil, ErrNotFound
	}
	return e.Value, nil
}

// findIn finds a key in the first file that has it, or its deletion.
func findIn(
	ctx context.Context, files []*table.File, key []byte,
) (e table.Entry, found bool, err error) {
	for _, f := range files {
		if e, found, err = f.Find(ctx, key); found || err != nil {
			return e, found, err
		}
	}
	return e, false, nil
}

// Len is how many keys have a value. It costs nothing, but a Get for each change of With and
// Without. Errors are those of Get.
func (s *Snapshot) Len(ctx context.Context) (int64, error) {
	n := s.files[0].Length
	if s.err != nil {
		return 0, s.err
	}
	for e := s.changes.first(nil); e != nil; e = e.next(s.changes) {
		below, found, err := findIn(ctx, s.files, e.Key)
		if err != nil {
			return 0, fmt.Errorf("len: %w", err)
		}
		n += presence(!e.Deleted) - presence(found && !below.Deleted)
	}
	return n, nil
}

func presence(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// Verify reads every byte once, and of layers the keys once more, and compares it with its
// checksums and hashes; and that each file has the keys in order, and as many as it says.
// Errors: ErrCorrupt, and the store's.
func (s *Snapshot) Verify(ctx context.Context) error {
	for _, f := range s.files {
		err := f.Verify(ctx)
		if err == nil {
			err = s.verifyOrigin(ctx, f)
		}
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
	}
	n, err := s.count(ctx)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if n != s.files[0].Length {
		return fmt.Errorf("verify: %w: %s has %d keys, not %d", ErrCorrupt, s.Name(), n,
			s.files[0].Length)
	}
	return nil
}

// count is how many keys the files have that are as they should be. Layers are read for it.
func (s *Snapshot) count(ctx context.Context) (n int64, err error) {
	if len(s.files) == 1 {
		return s.files[0].Entries - s.files[0].Deletes, nil
	}
	for _, err := range (&Snapshot{files: s.files}).Scan(ctx, strictkv.Range{KeysOnly: true}) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

func (s *Snapshot) verifyOrigin(ctx context.Context, f *table.File) error {
	o, err := openOrigin(ctx, s.store, f)
	if o == nil || err != nil {
		return err
	}
	return errors.Join(o.Verify(ctx), o.Close())
}

// Scan yields the keys of a range in its order, with their values and when these expire; Version
// and State are zero. Keys are the caller's, values are not: see Get. The loop may be as long as
// it likes. An error is yielded last: ErrInvalid for a negative limit, those of Get, and ctx's.
func (s *Snapshot) Scan(ctx context.Context, r strictkv.Range) iter.Seq2[strictkv.Item, error] {
	return func(yield func(strictkv.Item, error) bool) {
		if err := s.scan(ctx, r, func(i strictkv.Item) bool { return yield(i, nil) }); err != nil {
			yield(strictkv.Item{}, fmt.Errorf("scan: %w", err))
		}
	}
}

func (s *Snapshot) scan(
	ctx context.Context, r strictkv.Range, yield func(strictkv.Item) bool,
) error {
	if r.Limit < 0 {
		return fmt.Errorf("limit %d: %w", r.Limit, ErrInvalid)
	}
	if s.err != nil {
		return s.err
	}
	m := s.merged(ctx, r.Reverse)
	if m.seek(r.From); r.Reverse {
		m.seek(none(r.To))
	}
	for n := 0; r.Limit == 0 || n < r.Limit; m.next() {
		e := m.entry()
		if e == nil || !r.Reverse && len(r.To) > 0 && bytes.Compare(e.Key, r.To) >= 0 ||
			r.Reverse && bytes.Compare(e.Key, r.From) < 0 {
			break
		}
		if e.Deleted {
			continue
		}
		item := strictkv.Item{Key: e.Key}
		if !r.KeysOnly {
			item.Value, item.Expires = e.Value, e.Time()
		}
		if n++; !yield(item) {
			return nil
		}
		if n%scanCheckEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return m.err()
}

// scanCheckEvery is how many keys a scan yields between two looks at its context.
const scanCheckEvery = 1024

// none is nil for an empty bound.
func none(bound []byte) []byte {
	if len(bound) == 0 {
		return nil
	}
	return bound
}

// With returns a snapshot in which a key has a value, in memory: the one that it is made of stays
// as it is, and shares all else. Save makes it last. A key that is not 1 to 4096 bytes long, or a
// value of more than 64 MiB, makes every use of what is returned fail with ErrInvalid.
func (s *Snapshot) With(key, value []byte) *Snapshot {
	return s.changed(table.Entry{Key: bytes.Clone(key), Value: bytes.Clone(value)})
}

// Without returns a snapshot in which a key has no value; else it is like With.
func (s *Snapshot) Without(key []byte) *Snapshot {
	return s.changed(table.Entry{Key: bytes.Clone(key), Deleted: true})
}

func (s *Snapshot) changed(e table.Entry) *Snapshot {
	c := *s
	c.instant, c.itemWise = time.Time{}, false
	if err := e.Check(); err != nil && c.err == nil {
		c.err = err
	} else if err == nil {
		c.changes = c.changes.with(e)
	}
	return &c
}

// Names are the names of all snapshots in a store, layers included, sorted.
func Names(ctx context.Context, s Store) ([]string, error) {
	all, err := s.list(ctx, kindContent)
	if err != nil {
		return nil, fmt.Errorf("names: %w", err)
	}
	var names []string
	for _, x := range all {
		if _, err := parseName(x.id); err == nil {
			names = append(names, x.id)
		}
	}
	slices.Sort(names)
	return names, nil
}

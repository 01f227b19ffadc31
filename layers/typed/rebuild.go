package typed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
)

const (
	// ProblemsMax is how many problems a Report lists.
	ProblemsMax = 100

	// A transaction of a rebuild looks at batchKeys values or entries at most, and at
	// batchEntries entries of values, or those of one value. batchesMax run at once.
	batchKeys    = 64
	batchEntries = 500
	batchesMax   = 8
)

// Report is what a Rebuild has done, or a Verify found.
type Report struct {
	// Values and Entries count what was looked at.
	Values, Entries int64
	// Missing counts the entries that values lacked, and Stale those that no value explains. A
	// Rebuild has added the former, and removed the latter.
	Missing, Stale int64
	// Problems lists what no Rebuild mends, up to ProblemsMax.
	Problems []Problem
}

// Problem is a value that can't be indexed.
type Problem struct {
	// Key is the value's, as stored.
	Key []byte
	// Err is ErrDecode, or ErrNotUnique if another value has the same key of a unique index, or
	// what is wrong with the value's index keys.
	Err error
}

// InStep reports whether nothing was wrong.
func (r Report) InStep() bool { return r.Missing == 0 && r.Stale == 0 && len(r.Problems) == 0 }

func (r *Report) add(o Report) {
	r.Values += o.Values
	r.Entries += o.Entries
	r.Missing += o.Missing
	r.Stale += o.Stale
	r.Problems = append(r.Problems, o.Problems...)
	r.Problems = r.Problems[:min(len(r.Problems), ProblemsMax)]
}

func (r *Report) problem(key []byte, err error) {
	r.Problems = append(r.Problems, Problem{key, err})
}

// Rebuild brings the index in step with its collection. It may run while others read and write,
// several at once too, and may be stopped at any time: call it again.
//
// When it returns nil, and every program that wrote meanwhile declares the index as this one
// does, the index has each entry of each value, and none else, apart from the Problems; and it
// stays so. While it runs, lookups may miss values, or return ErrIndex, and a unique index may
// admit a second value, which becomes a Problem, or refuse one with an index key that no value
// has any more.
//
// It walks all keys, and then all entries, in transactions of 64, eight at a time: a list
// request for each 1000 keys and entries, a read for each value and entry that is not cached,
// the values again for the entries, and a write for each entry that is missing or stale. Errors
// are those of strictkv.Collection.Items and strictkv.DB.Tx; with one of them, the report tells
// what was done nevertheless.
func (x *Index[IK, K, V]) Rebuild(ctx context.Context) (Report, error) {
	return x.ix.check(ctx, true)
}

// Verify looks for entries that are missing or stale, as Rebuild does, and writes nothing. Each
// was so at an instant within the call; none is reported of an index that is in step, whatever
// others write meanwhile.
func (x *Index[IK, K, V]) Verify(ctx context.Context) (Report, error) {
	return x.ix.check(ctx, false)
}

// Rebuild brings the index in step with its collection: see Index.Rebuild.
func (x *Unique[IK, K, V]) Rebuild(ctx context.Context) (Report, error) {
	return x.ix.check(ctx, true)
}

// Verify looks for entries that are missing or stale: see Index.Verify.
func (x *Unique[IK, K, V]) Verify(ctx context.Context) (Report, error) {
	return x.ix.check(ctx, false)
}

// A checker looks at keys, and mends what it finds if mend is set; done is how many of the keys
// it has looked at.
type checker func(tx *strictkv.Tx, keys [][]byte, mend bool) (found Report, done int, err error)

// check first goes through the values, for entries that are missing: from the transaction on that
// has added those of a key, all who write it keep them. Then it goes through the entries, for
// those that are stale: from its beginning on, nobody adds such.
func (x *index[IK, K, V]) check(ctx context.Context, mend bool) (Report, error) {
	if x.of.err != nil {
		return Report{}, x.of.err
	}
	all, err := walk(ctx, x.of.raw, x.values, mend)
	if err == nil {
		var entries Report
		entries, err = walk(ctx, x.in.raw, x.strays, mend)
		all.add(entries)
	}
	return all, x.in.wrap(err)
}

// walk runs a checker over the keys of a collection.
func walk(ctx context.Context, c *strictkv.Collection, look checker, mend bool) (Report, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(batchesMax)
	var mu sync.Mutex // guards all
	var all Report
	start := func(keys [][]byte) {
		group.Go(func() error {
			found, err := batch(ctx, c.DB(), keys, look, mend)
			mu.Lock()
			defer mu.Unlock()
			all.add(found)
			return err
		})
	}
	var keys [][]byte
	var broken error
	for i, err := range c.Items(ctx, strictkv.Range{KeysOnly: true}) {
		if err != nil {
			broken = err
			break
		}
		if keys = append(keys, i.Key); len(keys) == batchKeys {
			start(keys)
			keys = nil
		}
	}
	if len(keys) > 0 && broken == nil {
		start(keys)
	}
	if err := group.Wait(); err != nil {
		return all, err
	}
	return all, broken
}

// batch runs a checker over some keys, in as few transactions as it takes.
func batch(
	ctx context.Context, db *strictkv.DB, keys [][]byte, look checker, mend bool,
) (all Report, err error) {
	for len(keys) > 0 {
		var found Report
		var done int
		fn := func(tx *strictkv.Tx) (err error) {
			found, done, err = look(tx, keys, mend)
			return err
		}
		if mend {
			err = db.Tx(ctx, fn)
		} else {
			err = db.View(ctx, fn)
		}
		if err != nil {
			return all, err
		}
		all.add(found)
		keys = keys[done:]
	}
	return all, nil
}

// values is the checker of values.
func (x *index[IK, K, V]) values(
	tx *strictkv.Tx, keys [][]byte, mend bool,
) (found Report, done int, err error) {
	results := tx.ReadMulti(keysOf(x.of.raw, keys)...)
	var wanted, owners [][]byte
	var entries []entry
	for ; done < len(keys) && len(wanted) < batchEntries; done++ {
		key, r := keys[done], results[done]
		if errors.Is(r.Err, strictkv.ErrNotFound) {
			continue
		}
		if r.Err != nil {
			return found, 0, r.Err
		}
		found.Values++
		own, err := x.stored(key, r.Value)
		if err != nil {
			found.problem(key, err)
		}
		for _, e := range own {
			entries, owners, wanted = append(entries, e), append(owners, key), append(wanted, e.key)
		}
	}
	_ = tx.ReadMulti(keysOf(x.in.raw, wanted)...) // for the reads below
	for i, e := range entries {
		missing, err := x.missing(tx, e)
		var taken *UniqueError
		switch {
		case errors.As(err, &taken):
			found.problem(owners[i], err)
		case err != nil:
			return found, 0, fmt.Errorf("entry of the value of %q: %w", owners[i], err)
		case missing:
			found.Missing++
			if !mend {
				continue
			}
			if err := tx.Write(x.in.raw, e.key, e.value); err != nil {
				return found, 0, err
			}
		}
	}
	return found, done, nil
}

// stored are the entries of a value as stored. The error is ErrDecode, or what is wrong with the
// value's index keys: then it has none.
func (x *index[IK, K, V]) stored(key, value []byte) ([]entry, error) {
	i, err := x.of.item(strictkv.Item{Key: key, Value: value}, false)
	if err != nil {
		return nil, err
	}
	return x.entries(i.Key, key, i.Value)
}

// missing reports whether an entry of a value is not there, or, in a unique index, that of a
// value that does not explain it. If that does, the error is a UniqueError.
func (x *index[IK, K, V]) missing(tx *strictkv.Tx, e entry) (bool, error) {
	holder, err := tx.Read(x.in.raw, e.key)
	switch {
	case errors.Is(err, strictkv.ErrNotFound):
		return true, nil
	case err != nil || !x.unique || bytes.Equal(holder, e.value):
		return false, err
	case !isKey(holder):
		return true, nil
	}
	value, err := tx.Read(x.of.raw, holder)
	if err != nil {
		return true, absent(err)
	}
	own, err := x.stored(holder, value)
	if !errors.Is(err, ErrDecode) && len(without([]entry{e}, own)) > 0 {
		return true, nil
	}
	return false, &UniqueError{Index: x.in.name, Entry: e.key, Holder: holder}
}

// absent is nil if that is what the error says.
func absent(err error) error {
	if errors.Is(err, strictkv.ErrNotFound) {
		return nil
	}
	return err
}

// strays is the checker of entries.
func (x *index[IK, K, V]) strays(
	tx *strictkv.Tx, keys [][]byte, mend bool,
) (found Report, done int, err error) {
	var entries []entry
	var owners [][]byte // of those that can be decoded
	for i, r := range tx.ReadMulti(keysOf(x.in.raw, keys)...) {
		if r.Err != nil && absent(r.Err) == nil {
			continue
		}
		if r.Err != nil {
			return found, 0, r.Err
		}
		found.Entries++
		e := entry{keys[i], r.Value}
		if _, _, key, err := x.decode(e); err == nil {
			entries, owners = append(entries, e), append(owners, key)
		} else if err := x.stray(tx, e, mend, &found); err != nil {
			return found, 0, err
		}
	}
	for i, r := range tx.ReadMulti(keysOf(x.of.raw, owners)...) {
		if absent(r.Err) != nil {
			return found, 0, r.Err
		}
		var own []entry
		if r.Err == nil {
			var err error // a problem that was found with the values
			if own, err = x.stored(owners[i], r.Value); errors.Is(err, ErrDecode) {
				continue // it may well have the entry
			}
		}
		if len(without(entries[i:i+1], own)) > 0 {
			if err := x.stray(tx, entries[i], mend, &found); err != nil {
				return found, 0, err
			}
		}
	}
	return found, len(keys), nil
}

// stray counts an entry that no value explains, and removes it if it is to be mended.
func (x *index[IK, K, V]) stray(tx *strictkv.Tx, e entry, mend bool, found *Report) error {
	found.Stale++
	if !mend {
		return nil
	}
	return tx.Delete(x.in.raw, e.key)
}

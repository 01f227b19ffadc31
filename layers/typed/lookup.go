package typed

import (
	"errors"
	"iter"
	"slices"

	"github.com/strictkv/strictkv"
)

// The values of entries are read many at once: first by fetchMin, then by more each time, up to
// fetchMax.
const (
	fetchMin    = 16
	fetchGrowth = 4
	fetchMax    = 256
)

// Entry is an index key with the item that has it.
type Entry[IK, K, V any] struct {
	Index IK
	Key   K
	Value V
}

// Find yields the items that have an index key, in the order of their keys, and of these a range.
// Values are read in parallel, up to 256 at once and ahead of the loop: what the loop itself
// changes may come as it was before. What it has gone through is read, entries and values: see
// strictkv.Tx.Scan. An error is yielded last, with no item: ErrDecode, ErrEncode, ErrIndex, and
// those of strictkv.Tx.Scan.
func (x *Index[IK, K, V]) Find(tx *strictkv.Tx, ik IK, r Range[K]) iter.Seq2[Item[K, V], error] {
	return func(yield func(Item[K, V], error) bool) {
		part, err := x.ix.part(ik)
		var within strictkv.Range
		if err == nil {
			r.Prefix = slices.Concat(part, r.Prefix)
			within, err = bounds(r, func(k K) ([]byte, error) {
				return x.ix.append(slices.Clone(part), k)
			}, true)
		}
		if err != nil {
			yield(Item[K, V]{}, err)
			return
		}
		for e, err := range x.ix.walk(tx, within) {
			if !yield(Item[K, V]{e.Key, e.Value}, err) {
				return
			}
		}
	}
}

// Scan yields the entries of a range of index keys, in their order and, among those with the
// same, in that of the items' keys. A value that has several index keys comes several times.
// Costs, promises and errors are those of Find.
func (x *Index[IK, K, V]) Scan(
	tx *strictkv.Tx, r Range[IK],
) iter.Seq2[Entry[IK, K, V], error] {
	return x.ix.scan(tx, r)
}

// Get returns the item that has an index key; ok reports whether there is one. It takes two
// reads, one after the other. Errors: ErrDecode, ErrEncode, ErrIndex, and those of
// strictkv.Tx.Read.
func (x *Unique[IK, K, V]) Get(tx *strictkv.Tx, ik IK) (k K, v V, ok bool, err error) {
	part, err := x.ix.part(ik)
	if err != nil {
		return k, v, false, err
	}
	holder, err := tx.Read(x.ix.in.raw, part)
	if errors.Is(err, strictkv.ErrNotFound) {
		return k, v, false, nil
	}
	if err != nil {
		return k, v, false, x.ix.in.wrap(err)
	}
	found, err := x.ix.fetch(tx, []entry{{key: part, value: holder}}, false)
	if err != nil {
		return k, v, false, err
	}
	return found[0].Key, found[0].Value, true, nil
}

// Scan yields the entries of a range of index keys, in their order. Costs, promises and errors
// are those of Index.Find.
func (x *Unique[IK, K, V]) Scan(
	tx *strictkv.Tx, r Range[IK],
) iter.Seq2[Entry[IK, K, V], error] {
	return x.ix.scan(tx, r)
}

func (x *index[IK, K, V]) scan(tx *strictkv.Tx, r Range[IK]) iter.Seq2[Entry[IK, K, V], error] {
	return func(yield func(Entry[IK, K, V], error) bool) {
		within, err := bounds(r, x.part, false)
		if x.of.err != nil {
			err = x.of.err
		}
		if err != nil {
			yield(Entry[IK, K, V]{}, err)
			return
		}
		x.walk(tx, within)(yield)
	}
}

// walk yields the entries of a range of the index as stored.
func (x *index[IK, K, V]) walk(
	tx *strictkv.Tx, within strictkv.Range,
) iter.Seq2[Entry[IK, K, V], error] {
	return func(yield func(Entry[IK, K, V], error) bool) {
		keysOnly := within.KeysOnly
		within.KeysOnly = keysOnly && !x.unique // the key of a unique one's value is in its value
		for batch, err := range batches(tx.Scan(x.in.raw, within)) {
			var found []Entry[IK, K, V]
			if err == nil {
				found, err = x.fetch(tx, batch, keysOnly)
			}
			for _, e := range found {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(Entry[IK, K, V]{}, err)
				return
			}
		}
	}
}

// batches gathers entries. The error comes last, alone.
func batches(walk iter.Seq2[strictkv.Item, error]) iter.Seq2[[]entry, error] {
	return func(yield func([]entry, error) bool) {
		size := fetchMin
		var batch []entry
		for i, err := range walk {
			if err != nil {
				_ = (len(batch) == 0 || yield(batch, nil)) && yield(nil, err)
				return
			}
			if batch = append(batch, entry{i.Key, i.Value}); len(batch) < size {
				continue
			}
			if !yield(batch, nil) {
				return
			}
			size, batch = min(fetchGrowth*size, fetchMax), nil
		}
		if len(batch) > 0 {
			yield(batch, nil)
		}
	}
}

// fetch decodes entries, and reads their values. With an error it returns what comes before.
func (x *index[IK, K, V]) fetch(
	tx *strictkv.Tx, entries []entry, keysOnly bool,
) ([]Entry[IK, K, V], error) {
	all := make([]Entry[IK, K, V], len(entries))
	keys := make([][]byte, len(entries))
	for i, e := range entries {
		var err error
		if all[i].Index, all[i].Key, keys[i], err = x.decode(e); err != nil {
			return all[:0], err
		}
	}
	if keysOnly {
		return all, nil
	}
	found, err := x.of.readMulti(tx, keys)
	if err != nil {
		return all[:0], err
	}
	for i, f := range found {
		if f.OK {
			all[i].Value = f.Value
			f.OK = x.explains(all[i].Key, keys[i], f.Value, entries[i])
		}
		if !f.OK {
			return all[:i], &IndexError{Index: x.in.name, Entry: entries[i].key, Key: keys[i]}
		}
	}
	return all, nil
}

// explains reports whether a value has an entry.
func (x *index[IK, K, V]) explains(k K, key []byte, v V, e entry) bool {
	own, err := x.entries(k, key, v)
	return err == nil && len(without([]entry{e}, own)) == 0
}

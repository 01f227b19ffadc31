package fields

import (
	"bytes"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// A value above these limits becomes a large one. Tests lower them.
var (
	smallMax      = keys.SmallMax // bytes
	smallElements = keys.SmallElements
)

// Fields is a hash or a set, within a run of a transaction.
type Fields struct {
	t     *keys.Tx
	key   []byte
	kind  keys.Kind
	entry keys.Entry
	x     *keys.Elements // nil in a small value

	body
	// index finds pairs by name; nil until it is worth its making.
	index map[string]int
}

// Open returns the hash or set of a key; without names if there is none. The error is
// keys.ErrWrongType if the key has a value of another kind.
func Open(t *keys.Tx, key []byte, k keys.Kind) (*Fields, error) {
	e, err := t.Value(key, k)
	if err != nil {
		return nil, err
	}
	f := &Fields{t: t, key: key, kind: k, entry: e}
	if e.Absent() {
		f.entry.Kind = k
		return f, nil
	}
	data := e.Body
	if e.Large {
		f.x = t.Elements(key, &f.entry)
		data = e.Header()
	}
	f.body, err = decodeBody(data, k)
	return f, err
}

// Len is how many names there are.
func (f *Fields) Len() int { return f.moved + len(f.pairs) }

// Absent reports whether the key has no value.
func (f *Fields) Absent() bool { return f.Len() == 0 }

// find is where a name is among the pairs; -1 if it is not.
func (f *Fields) find(name []byte) int {
	if f.index != nil {
		if i, ok := f.index[string(name)]; ok {
			return i
		}
		return -1
	}
	for i := range f.pairs {
		if bytes.Equal(f.pairs[i].Name, name) {
			return i
		}
	}
	return -1
}

// indexMin is from how many comparisons on an index is worth its making.
const indexMin = 4096

// expect prepares for a number of calls of find.
func (f *Fields) expect(calls int) {
	if f.index != nil || calls*len(f.pairs) < indexMin {
		return
	}
	f.index = make(map[string]int, len(f.pairs))
	for i, p := range f.pairs {
		f.index[string(p.Name)] = i
	}
}

// Get returns the values of names: nil where there is none, else not nil.
func (f *Fields) Get(names ...[]byte) ([][]byte, error) {
	values := make([][]byte, len(names))
	var elsewhere [][]byte
	var places []int
	f.expect(len(names))
	for i, name := range names {
		at := f.find(name)
		switch {
		case at < 0:
			elsewhere, places = append(elsewhere, name), append(places, i)
		case f.pairs[at].Value == nil:
			values[i] = []byte{}
		default:
			values[i] = f.pairs[at].Value
		}
	}
	if f.moved == 0 || len(elsewhere) == 0 {
		return values, nil
	}
	found, err := f.elements(elsewhere)
	for i, value := range found {
		values[places[i]] = value
	}
	return values, err
}

// Value is Get of one name.
func (f *Fields) Value(name []byte) ([]byte, error) {
	values, err := f.Get(name)
	return values[0], err
}

// elements reads those of names, in one wave: nil where there is none.
func (f *Fields) elements(names [][]byte) ([][]byte, error) {
	ks := make([][]byte, len(names))
	for i, name := range names {
		ks[i] = elementKey(name)
	}
	values, err := f.x.ReadMulti(ks)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		if v == nil {
			continue
		}
		if values[i], err = elementValue(ks[i], v); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// All returns all names with their values. It does not read these of a set.
func (f *Fields) All() ([]Pair, error) {
	return f.read(strictkv.Range{KeysOnly: f.kind == keys.Set})
}

// Names returns all names.
func (f *Fields) Names() ([][]byte, error) {
	pairs, err := f.read(strictkv.Range{KeysOnly: true})
	names := make([][]byte, len(pairs))
	for i, p := range pairs {
		names[i] = p.Name
	}
	return names, err
}

// read returns all pairs, or all names. Of the range only how it is gone through counts.
func (f *Fields) read(how strictkv.Range) ([]Pair, error) {
	pairs := f.pairs[:len(f.pairs):len(f.pairs)]
	if f.moved == 0 {
		return pairs, nil
	}
	how.From, how.To = from(0).From, from(0).To
	found, err := f.scan(how)
	for _, p := range found {
		pairs = append(pairs, p.Pair)
	}
	return pairs, err
}

// probeMax is how many elements are listed at the cost of reading one.
const probeMax = 16

// Among returns those of names that are there, or those that are not.
func (f *Fields) Among(names [][]byte, there bool) ([][]byte, error) {
	var has func(int) bool
	if f.moved > len(names)*probeMax || f.moved == 0 {
		values, err := f.Get(names...)
		if err != nil {
			return nil, err
		}
		has = func(i int) bool { return values[i] != nil }
	} else {
		all, err := f.Names()
		if err != nil {
			return nil, err
		}
		known := make(map[string]struct{}, len(all))
		for _, name := range all {
			known[string(name)] = struct{}{}
		}
		has = func(i int) bool {
			_, ok := known[string(names[i])]
			return ok
		}
	}
	var found [][]byte
	for i, name := range names {
		if has(i) == there {
			found = append(found, name)
		}
	}
	return found, nil
}

package fields

import (
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

const (
	// waitMax is up to how long, in bytes, a command makes the header of a large value by what is
	// to be moved later.
	waitMax = 1 << 20
	// bodyMax is how long a body may be, in bytes: what is left of it for an ID stays free.
	bodyMax = keys.StringMax - 64
)

// Put gives names values, the last one if a name is there twice, and returns how many are new. It
// writes nothing if it returns a resp.Error: keys.ErrTooLong or keys.ErrTooMany.
func (f *Fields) Put(pairs ...Pair) (added int, err error) {
	w, err := f.plan(pairs)
	if err != nil {
		return 0, err
	}
	if len(w.elements)+len(w.body) == 0 {
		return 0, nil
	}
	for _, p := range w.elements {
		if err := f.x.Write(element(p)); err != nil {
			return 0, err
		}
	}
	f.moved += w.created
	f.change(w.body)
	moved, err := f.move()
	if err != nil {
		return 0, err
	}
	if f.x != nil && w.created+len(w.body)+moved == 0 {
		return 0, nil // the header says the same as before
	}
	return w.added, f.save()
}

// writes are those of a Put.
type writes struct {
	elements []Pair // of which created are new
	created  int
	body     []Pair
	added    int
}

// plan says where pairs go: those of a large value become elements, but what is in its body stays
// there, as do those that are too many for one command.
func (f *Fields) plan(pairs []Pair) (w writes, err error) {
	if pairs, err = f.distinct(pairs); err != nil {
		return w, err
	}
	before, size := f.size(f.kind), f.size(f.kind)
	var others []Pair
	f.expect(len(pairs))
	for _, p := range pairs {
		at := f.find(p.Name)
		switch {
		case at < 0:
			others = append(others, p)
		case f.kind == keys.Hash:
			size += p.size(f.kind) - f.pairs[at].size(f.kind)
			w.body = append(w.body, p)
		}
	}
	if f.x != nil {
		if others, err = f.among(others, &w); err != nil {
			return w, err
		}
	}
	for _, p := range others {
		size += p.size(f.kind)
	}
	w.body = append(w.body, others...)
	w.added = w.created + len(others)
	switch {
	case len(w.elements) > keys.WritesMax, f.x != nil && size > before && size > waitMax:
		return w, keys.ErrTooMany
	case size > bodyMax:
		return w, keys.ErrTooLong
	}
	return w, nil
}

// among adds to writes those to elements, and returns the pairs that are new and too many.
func (f *Fields) among(pairs []Pair, w *writes) (rest []Pair, err error) {
	names := make([][]byte, len(pairs))
	for i, p := range pairs {
		names[i] = p.Name
	}
	values, err := f.elements(names)
	if err != nil {
		return nil, err
	}
	for i, p := range pairs {
		switch {
		case values[i] == nil:
			rest = append(rest, p)
		case f.kind == keys.Hash:
			w.elements = append(w.elements, p)
		}
	}
	w.created = min(len(rest), max(keys.WritesMax-len(w.elements), 0))
	w.elements = append(w.elements, rest[:w.created]...)
	return rest[w.created:], nil
}

// distinct are pairs, of each name the last one.
func (f *Fields) distinct(pairs []Pair) ([]Pair, error) {
	for _, p := range pairs {
		if len(p.Name)+len(p.Value) > bodyMax {
			return nil, keys.ErrTooLong
		}
	}
	if len(pairs) == 1 {
		return pairs, nil
	}
	at := make(map[string]int, len(pairs))
	once := make([]Pair, 0, len(pairs))
	for _, p := range pairs {
		if i, twice := at[string(p.Name)]; twice {
			once[i].Value = p.Value
			continue
		}
		at[string(p.Name)] = len(once)
		once = append(once, p)
	}
	return once, nil
}

// change sets pairs of the body.
func (f *Fields) change(pairs []Pair) {
	for _, p := range pairs {
		if at := f.find(p.Name); at >= 0 {
			f.pairs[at].Value = p.Value
			continue
		}
		if f.index != nil {
			f.index[string(p.Name)] = len(f.pairs)
		}
		f.pairs = append(f.pairs, p)
	}
}

// move makes pairs of the body elements, if the value is a large one or becomes that, and returns
// how many.
func (f *Fields) move() (int, error) {
	over := f.size(f.kind) > smallMax || len(f.pairs) > smallElements
	if f.x == nil && !over {
		return 0, nil
	}
	n := f.t.Moves(len(f.pairs))
	if n == 0 {
		return 0, nil
	}
	if f.x == nil {
		e, err := f.t.NewLarge(f.key, f.kind)
		if err != nil {
			return 0, err
		}
		e.Expires = f.entry.Expires
		f.entry = e
		f.x = f.t.Elements(f.key, &f.entry)
	}
	left := len(f.pairs) - n
	for _, p := range f.pairs[left:] {
		if err := f.x.Write(element(p)); err != nil {
			return 0, err
		}
	}
	f.pairs, f.index = f.pairs[:left], nil
	f.moved += n
	return n, nil
}

// save writes the body, or the header.
func (f *Fields) save() error {
	data := f.encode(f.kind)
	if f.x == nil {
		f.entry.Body = data
	} else {
		f.entry.SetHeader(data)
	}
	return f.t.Set(f.key, f.entry)
}

// Delete removes names, and returns how many were there. Without any left the key is removed. It
// writes nothing if it returns a resp.Error, keys.ErrTooMany.
func (f *Fields) Delete(names ...[]byte) (int, error) {
	values, err := f.Get(names...)
	if err != nil {
		return 0, err
	}
	var there [][]byte
	known := make(map[string]struct{}, len(names))
	for i, name := range names {
		if _, twice := known[string(name)]; values[i] != nil && !twice {
			known[string(name)] = struct{}{}
			there = append(there, name)
		}
	}
	return len(there), f.Remove(there)
}

// Remove is Delete of names that are there, each once.
func (f *Fields) Remove(names [][]byte) error {
	if len(names) == 0 {
		return nil
	}
	if len(names) == f.Len() {
		f.body, f.index = body{}, nil
		_, err := f.t.Delete(f.key)
		return err
	}
	var elements [][]byte
	gone := map[int]struct{}{}
	f.expect(len(names))
	for _, name := range names {
		if at := f.find(name); at >= 0 {
			gone[at] = struct{}{}
		} else {
			elements = append(elements, name)
		}
	}
	if len(elements) > keys.WritesMax {
		return keys.ErrTooMany
	}
	for _, name := range elements {
		if err := f.x.Delete(elementKey(name)); err != nil {
			return err
		}
	}
	f.moved -= len(elements)
	left := make([]Pair, 0, len(f.pairs)-len(gone))
	for i, p := range f.pairs {
		if _, ok := gone[i]; !ok {
			left = append(left, p)
		}
	}
	f.pairs, f.index = left, nil
	if _, err := f.move(); err != nil {
		return err
	}
	return f.save()
}

// Replace gives a key a hash or set of pairs with different names, in place of whatever it has;
// without any it removes the key.
func Replace(t *keys.Tx, key []byte, k keys.Kind, pairs []Pair) error {
	if len(pairs) == 0 {
		_, err := t.Delete(key)
		return err
	}
	f := &Fields{t: t, key: key, kind: k, entry: keys.Entry{Kind: k}}
	_, err := f.Put(pairs...)
	return err
}

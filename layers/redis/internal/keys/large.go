package keys

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"iter"
	"strings"

	"github.com/strictkv/strictkv"
)

// idLen is how long the ID of a large value is, in bytes.
const idLen = 16

type id [idLen]byte

// id is that of the entry's elements, which is large.
func (e *Entry) id() id { return id(e.Body[:idLen]) }

// name is the one of the collection that the elements are in.
func (i id) name() []byte {
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(i[:])
	return []byte(strings.ToLower(text))
}

// Header is the body of a large value behind its ID: what its kind keeps there.
func (e *Entry) Header() []byte { return e.Body[idLen:] }

// SetHeader replaces what Header returns. It is written by Tx.Set.
func (e *Entry) SetHeader(header []byte) {
	e.Body = append(e.Body[:idLen:idLen], header...)
}

// NewLarge makes a large value of a kind, for a key: without elements, and not yet set. Its
// elements can be written before it is.
func (t *Tx) NewLarge(name []byte, k Kind) (Entry, error) {
	var i id
	_, _ = rand.Read(i[:]) // it never fails
	e := Entry{Kind: k, Large: true, Body: i[:]}
	return e, t.own(&e, name)
}

// GrowthMax is how many writes of a transaction make values large, unless it is one value alone.
const GrowthMax = 450

// Grows reports whether a value may become a large one now, by so many writes. If it may not, it
// stays small until the next command that writes it. So values that grow in step within one
// transaction leave room for what the commands themselves write.
func (t *Tx) Grows(writes int) bool {
	if *t.grown > 0 && *t.grown+writes > GrowthMax {
		return false
	}
	*t.grown += writes
	return true
}

// MovesMax is how many elements one transaction moves from the bodies of values to where large
// ones have them. A transaction can write these besides WritesMax others; and the fewer keys one
// writes, the less do their cells note of it.
const MovesMax = 64

// Moves returns how many of n elements may be moved now: what the transaction has not moved yet of
// MovesMax. They count as moved.
func (t *Tx) Moves(n int) int {
	n = min(n, MovesMax-*t.moved)
	*t.moved += n
	return n
}

// own notes whose the elements are.
func (t *Tx) own(e *Entry, name []byte) error {
	key, _ := store(name)
	owner := append([]byte{byte(t.n)}, key...)
	return t.tx.Write(t.space.elements(e.id()), []byte{ownerName}, owner)
}

// leave notes that nobody owns the elements any more.
func (t *Tx) leave(i id) error {
	return t.tx.Write(t.space.left, i.name(), nil)
}

func (s *Space) elements(i id) *strictkv.Collection { return s.large.Collection(i.name()) }

// Elements are those of a large value that the run has read, and so depends on. Each has a name of
// at most NameMax bytes, and a value.
type Elements struct {
	t    *Tx
	in   *strictkv.Collection
	name []byte // of the key
	e    *Entry
	said bool // the header says that they have changed, if somebody wants to know
}

// Elements are those of a large value of a key.
func (t *Tx) Elements(name []byte, e *Entry) *Elements {
	return &Elements{t: t, in: t.space.elements(e.id()), name: name, e: e}
}

// Read returns the value of an element, and reports whether it is there.
func (x *Elements) Read(name []byte) ([]byte, bool, error) {
	key, named := store(name)
	v, err := x.t.tx.Read(x.in, key)
	if errors.Is(err, strictkv.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if named != nil {
		_, v, err = cutName(v)
	}
	return v, true, err
}

// ReadMulti is Read of several, in one wave. A value is nil where there is none. Names that are the
// same share it.
func (x *Elements) ReadMulti(names [][]byte) ([][]byte, error) {
	keys := make([]strictkv.Key, 0, len(names))
	first := make(map[string]int, len(names))
	at := make([]int, len(names))
	for i, name := range names {
		var twice bool
		if at[i], twice = first[string(name)]; !twice {
			at[i], first[string(name)] = len(keys), len(keys)
			key, _ := store(name)
			keys = append(keys, x.in.Key(key))
		}
	}
	values := make([][]byte, len(names))
	results, err := x.t.readAll(keys)
	if err != nil {
		return nil, err
	}
	for i := range names {
		r := results[at[i]]
		switch {
		case errors.Is(r.Err, strictkv.ErrNotFound):
		case r.Err != nil:
			return nil, r.Err
		default:
			values[i] = r.Value
			if _, named := store(names[i]); named != nil {
				var err error
				if _, values[i], err = cutName(r.Value); err != nil {
					return nil, err
				}
			}
		}
	}
	return values, nil
}

// Write sets the value of an element.
func (x *Elements) Write(name, value []byte) error {
	if len(name) > NameMax {
		return ErrNameTooLong
	}
	if err := x.changed(); err != nil {
		return err
	}
	key, named := store(name)
	if named != nil {
		value = append(appendName(nil, named), value...)
	}
	if err := x.t.copies(value); err != nil {
		return err
	}
	return x.t.tx.Write(x.in, key, value)
}

// Delete removes an element.
func (x *Elements) Delete(name []byte) error {
	if err := x.changed(); err != nil {
		return err
	}
	key, _ := store(name)
	return x.t.tx.Delete(x.in, key)
}

// changed writes the header if somebody watches it.
func (x *Elements) changed() error {
	if x.said || !x.e.watched {
		return nil
	}
	x.said, x.e.watched = true, false
	return x.t.put(x.name, *x.e)
}

// Changed tells those who watch the key that its elements change. Write and Delete do so, too.
func (x *Elements) Changed() error { return x.changed() }

// Order is a collection beside the elements, for a kind that keeps them in another order, too. Who
// writes to it calls Changed before. It goes when the elements go.
func (x *Elements) Order() *strictkv.Collection { return x.in.Collection([]byte("order")) }

// Element is one of a large value.
type Element struct{ Name, Value []byte }

// All yields all elements, in an order that means nothing.
func (x *Elements) All() iter.Seq2[Element, error] { return x.scan(strictkv.Range{}) }

// After yields those elements that All yields behind the one with a name, which need not be there.
func (x *Elements) After(name []byte) iter.Seq2[Element, error] {
	key, _ := store(name)
	return x.scan(strictkv.Range{}.After(key))
}

func (x *Elements) scan(r strictkv.Range) iter.Seq2[Element, error] {
	return func(yield func(Element, error) bool) {
		for item, err := range x.t.tx.Scan(x.in, r) {
			if err != nil {
				yield(Element{}, err)
				return
			}
			if item.Key[0] == ownerName {
				continue
			}
			if err := x.t.keeps(len(item.Value)); err != nil {
				yield(Element{}, err)
				return
			}
			e := Element{item.Key, item.Value}
			if !plain(item.Key) {
				if e.Name, e.Value, err = cutName(item.Value); err != nil {
					yield(Element{}, err)
					return
				}
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Empty reports whether there is no element, at the cost of listing one.
func (x *Elements) Empty() (bool, error) {
	for _, err := range x.All() {
		return false, err
	}
	return true, nil
}

// Range yields the elements within a range of names, in their order. It is for names that all stand
// for themselves: with 1 to 256 bytes, the first of them above 1.
func (x *Elements) Range(r strictkv.Range) iter.Seq2[Element, error] {
	return func(yield func(Element, error) bool) {
		for item, err := range x.t.tx.Scan(x.in, r) {
			if err == nil {
				err = x.t.keeps(len(item.Value))
			}
			if !yield(Element{item.Key, item.Value}, err) || err != nil {
				return
			}
		}
	}
}

package listcmd

import (
	"slices"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// Limits above which a list becomes a large one. Tests lower them.
var (
	smallMax      = keys.SmallMax
	smallElements = 128
)

// growMax is how many elements a list may have to be written as a large one at once.
const growMax = 800

// pieceMax is how many elements of a large list are read in one wave.
const pieceMax = 256

// list is the value of a key, in one run. It changes in memory until save, but for the elements
// of a large one.
type list struct {
	c     *command.Call
	key   []byte
	entry keys.Entry
	small [][]byte
	large header
}

// open reads the list of a key. It is empty if there is none.
func open(c *command.Call, key []byte) (*list, error) {
	e, err := c.Value(key, keys.List)
	if err != nil {
		return nil, err
	}
	l := &list{c: c, key: key, entry: e}
	switch {
	case e.Large:
		l.large, err = decodeHeader(e.Header())
	case !e.Absent():
		l.small, err = decode(e.Body)
	}
	return l, err
}

func (l *list) absent() bool { return l.entry.Absent() }

func (l *list) len() int {
	if l.entry.Large {
		return l.large.n
	}
	return len(l.small)
}

func (l *list) elements() *keys.Elements { return l.c.Elements(l.key, &l.entry) }

// slice is the elements from one index to below another, which are in the list.
func (l *list) slice(from, to int) ([][]byte, error) {
	if !l.entry.Large {
		return slices.Clone(l.small[from:to]), nil
	}
	items := make([][]byte, 0, to-from)
	for at := from; at < to; at += pieceMax {
		names := make([][]byte, 0, pieceMax)
		for i := at; i < min(at+pieceMax, to); i++ {
			names = append(names, l.large.name(i))
		}
		values, err := l.elements().ReadMulti(names)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			if v == nil {
				return nil, damaged("an element is missing")
			}
		}
		items = append(items, values...)
	}
	return items, nil
}

// each calls f for the elements in order, from the last to the first if backward, until that
// returns false.
func (l *list) each(backward bool, f func(index int, item []byte) bool) error {
	n := l.len()
	for done := 0; done < n; done += pieceMax {
		size := min(pieceMax, n-done)
		from := done
		if backward {
			from = n - done - size
		}
		items, err := l.slice(from, from+size)
		if err != nil {
			return err
		}
		for i := range items {
			if backward {
				i = size - 1 - i
			}
			if !f(from+i, items[i]) {
				return nil
			}
		}
	}
	return nil
}

// set replaces the element with an index.
func (l *list) set(index int, item []byte) error {
	if l.entry.Large {
		return l.elements().Write(l.large.name(index), item)
	}
	l.small[index] = item
	return nil
}

// replaceFirst puts items in the place of the first k elements.
func (l *list) replaceFirst(k int, items [][]byte) error {
	if !l.entry.Large {
		l.small = append(slices.Clip(items), l.small[k:]...)
		return nil
	}
	h := header{l.large.first + uint64(k) - uint64(len(items)), l.large.n - k + len(items)}
	return l.rewrite(h, 0, items, max(k-len(items), 0))
}

// replaceLast puts items in the place of the last k elements.
func (l *list) replaceLast(k int, items [][]byte) error {
	if !l.entry.Large {
		l.small = append(l.small[:len(l.small)-k:len(l.small)-k], items...)
		return nil
	}
	h := header{l.large.first, l.large.n - k + len(items)}
	return l.rewrite(h, l.large.n-k, items, max(k-len(items), 0))
}

// rewrite gives a large list another header, writes items to where the index from is there, and
// deletes so many of the elements that are beyond the list then: at its beginning if that has
// moved up, else at its end.
func (l *list) rewrite(h header, from int, items [][]byte, gone int) error {
	if len(items)+gone > keys.WritesMax {
		return keys.ErrTooMany
	}
	x := l.elements()
	for i, item := range items {
		if err := x.Write(h.name(from+i), item); err != nil {
			return err
		}
	}
	beyond := h.n
	if h.first > l.large.first {
		beyond = -gone
	}
	for i := range gone {
		if err := x.Delete(h.name(beyond + i)); err != nil {
			return err
		}
	}
	l.large = h
	return nil
}

// save writes what has changed, the elements of a large list excepted, which were.
func (l *list) save() error {
	if l.len() == 0 {
		_, err := l.c.Delete(l.key)
		return err
	}
	if !l.entry.Large {
		l.entry.Kind, l.entry.Body = keys.List, encode(l.small)
		above := len(l.entry.Body) > smallMax || len(l.small) > smallElements
		if !above || len(l.small) > growMax || !l.c.Grows(len(l.small)) {
			return l.c.Set(l.key, l.entry)
		}
		if err := l.grow(); err != nil {
			return err
		}
	}
	l.entry.SetHeader(l.large.encode())
	return l.c.Set(l.key, l.entry)
}

// grow makes a small list a large one.
func (l *list) grow() error {
	e, err := l.c.NewLarge(l.key, keys.List)
	if err != nil {
		return err
	}
	e.Expires = l.entry.Expires
	l.entry, l.large = e, header{first: middle}
	return l.replaceLast(0, l.small)
}

// shrink has all elements of a large list that are left in memory, so that save writes them anew.
// What was large is left behind as a whole.
func (l *list) shrink(items [][]byte) {
	l.small = items
	l.entry.Large, l.entry.Body = false, nil
}

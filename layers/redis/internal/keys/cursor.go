package keys

import (
	"container/list"
	"math/rand/v2"
	"sync"
)

// Limits of the iterations that a server remembers: those that were used longest ago go.
const (
	// CursorsMax is how many there are.
	CursorsMax = 16 << 10
	// CursorBytesMax is how many bytes their places have: those of long members count.
	CursorBytesMax = 16 << 20
)

// Cursors are the places that iterations have come to. Clients know them by numbers, as the
// protocol has it, which is too little for a key. They are one server's.
type Cursors struct {
	mu     sync.Mutex // guards all below
	places map[uint64]*list.Element
	used   list.List // of cursorAt, the latest first
	bytes  int       // of their places
}

type cursorAt struct {
	number uint64
	place  string
}

// Keep returns the number of a place: never 0.
func (c *Cursors) Keep(place string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.places == nil {
		c.places = map[uint64]*list.Element{}
	}
	// Below 2^53, as some clients keep numbers in doubles.
	number := rand.Uint64N(1<<53-1) + 1
	for c.places[number] != nil {
		number = rand.Uint64N(1<<53-1) + 1
	}
	c.places[number] = c.used.PushFront(cursorAt{number, place})
	c.bytes += len(place)
	for c.used.Len() > CursorsMax || c.bytes > CursorBytesMax {
		last := c.used.Remove(c.used.Back()).(cursorAt)
		delete(c.places, last.number)
		c.bytes -= len(last.place)
	}
	return number
}

// Place is the one that has a number. It stays, so that a client may ask again.
func (c *Cursors) Place(number uint64) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.places[number]
	if e == nil {
		return "", false
	}
	c.used.MoveToFront(e)
	return e.Value.(cursorAt).place, true
}

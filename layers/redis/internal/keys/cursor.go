package keys

import (
	"container/list"
	"math/rand/v2"
	"sync"
)

// CursorsMax is how many iterations a server remembers: the one that was used longest ago goes.
const CursorsMax = 16 << 10

// Cursors are the places that iterations have come to. Clients know them by numbers, as the
// protocol has it, which is too little for a key. They are one server's.
type Cursors struct {
	mu     sync.Mutex // guards all below
	places map[uint64]*list.Element
	used   list.List // of cursorAt, the latest first
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
	if c.used.Len() > CursorsMax {
		last := c.used.Back()
		delete(c.places, c.used.Remove(last).(cursorAt).number)
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

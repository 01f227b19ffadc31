package cache

import "github.com/strictkv/strictkv/internal/cell"

// valuesMax is how many external values must have room in a cache: a larger one, which
// would drive out too much else, is not kept.
const valuesMax = 4

// Value returns the external value in the object with that name. Nobody may modify
// the bytes.
func (s *Space) Value(name string) ([]byte, bool) {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.use(&s.values, name)
	if n == nil {
		return nil, false
	}
	return n.cell.Value.Data, true
}

// LearnValue records the external value in the object with that name, unless it is
// larger than a quarter of the cache. The bytes are the cache's from then on: nobody
// may modify them.
func (s *Space) LearnValue(name string, data []byte) {
	c := s.cache
	// To the cache it is a cell that holds nothing else.
	f := fact{cell: &cell.Cell{Value: cell.Value{Kind: cell.Inline, Data: data}}}
	cost := f.cell.Footprint(0)
	if int64(cost) > c.max/valuesMax {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.use(&s.values, name) == nil { // else it is the same
		c.put(c.insert(&s.values, name), f, cost)
	}
}

// ForgetValue removes the external value in the object with that name.
func (s *Space) ForgetValue(name string) {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.find(&s.values, name); n != nil {
		c.remove(n)
	}
}

package cache

import (
	"slices"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
)

// Disk is a second tier, which is larger, slower and there after a restart. What it finds was
// put there, but whether that is still current nobody knows: it is for a request to prove.
// It is safe for concurrent use.
type Disk interface {
	// Get returns what was put under a key, and the size in bytes of the buffer that data is
	// in. It may block.
	Get(key string) (version string, data []byte, size int, ok bool)
	// Put keeps data under a key, or does not. It does not block. Nobody may modify the data
	// afterwards.
	Put(key, version string, data []byte)
}

// Onto gives the cache a second tier, before its first use.
func (c *Cache) Onto(d Disk) { c.disk = d }

// Disk is the second tier, nil if there is none.
func (c *Cache) Disk() Disk { return c.disk }

// Keeps reports whether there is a second tier.
func (s *Space) Keeps() bool { return s.cache.disk != nil }

// Recall returns the cell that the second tier has under an object's name: as it once was. All
// that is set beside it is its version and its size. It may block.
func (s *Space) Recall(name string) (Entry, bool) {
	version, data, size, ok := s.recall(cells, name)
	if !ok || version == "" {
		return Entry{}, false
	}
	c, err := cell.Decode(data)
	if err != nil {
		return Entry{}, false
	}
	return Entry{Cell: c, Version: backend.Version(version), Size: size}, true
}

// Keep puts a cell into the second tier: the bytes in which it is stored, which nobody may modify
// any more. One with an intent is about to change, and not worth it.
func (s *Space) Keep(name string, e Entry, data []byte) {
	if s.Keeps() && e.Cell.Intent == nil && e.Version != "" {
		s.cache.disk.Put(s.diskKey(cells, name), string(e.Version), data)
	}
}

// RecallValue returns what the second tier has under the name of an external value. It may
// block.
func (s *Space) RecallValue(name string) ([]byte, bool) {
	_, data, size, ok := s.recall(values, name)
	if size-len(data) >= size/wastePart { // memory counts a value as what it is
		data = slices.Clone(data)
	}
	return data, ok
}

// KeepValue puts an external value into the second tier. Nobody may modify the bytes any more.
func (s *Space) KeepValue(name string, data []byte) {
	if s.Keeps() {
		s.cache.disk.Put(s.diskKey(values, name), "", data)
	}
}

func (s *Space) recall(k kind, name string) (version string, data []byte, size int, ok bool) {
	if !s.Keeps() {
		return "", nil, 0, false
	}
	return s.cache.disk.Get(s.diskKey(k, name))
}

// diskKey tells databases apart, and cells from values. An id has no slash.
func (s *Space) diskKey(k kind, name string) string {
	return s.cells.place.space + [...]string{cells: "/c/", values: "/v/"}[k] + name
}

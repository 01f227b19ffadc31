package recordlog

import "slices"

const (
	// carryPart is the part of a segment that may be copied when it is given up: at most one
	// in that many bytes. So each that goes makes room.
	carryPart = 4
	// usedBit, in the size of a place, says that its record was read since it was written.
	usedBit = 1 << 31
)

// place is where a record is.
type place struct{ segment, offset, size uint32 }

func (p place) bytes() int64 { return int64(p.size &^ usedBit) }

func (p place) used() bool { return p.size&usedBit != 0 }

// segment is a file of the log.
type segment struct {
	id     uint32
	file   File
	size   int64 // bytes that were written
	live   int64 // bytes of records that the index knows
	hashes []uint64
}

// index knows where each record is, by a hash of its key: two keys of one hash drive each other
// out. What it takes for a record does not depend on how long that is.
type index struct {
	places   map[uint64]place
	segments []*segment // the oldest first
	size     int64      // of all segments
}

func (x *index) segment(id uint32) *segment {
	i, ok := slices.BinarySearchFunc(x.segments, id, func(s *segment, id uint32) int {
		return int(int64(s.id) - int64(id))
	})
	if !ok {
		return nil
	}
	return x.segments[i]
}

// grow tells of more bytes in a segment.
func (x *index) grow(s *segment, n int64) {
	s.size += n
	x.size += n
}

// use returns where the record with a hash is, and remembers that it was wanted.
func (x *index) use(hash uint64) (place, *segment) {
	p, ok := x.places[hash]
	if !ok {
		return place{}, nil
	}
	if !p.used() {
		p.size |= usedBit
		x.places[hash] = p
	}
	return p, x.segment(p.segment)
}

// put tells of a record that was written to a segment; it replaces one with the same hash.
func (x *index) put(s *segment, hash uint64, offset, size int64) {
	if old, ok := x.places[hash]; !ok || old.segment != s.id { // else s knows the hash
		s.hashes = append(s.hashes, hash)
	}
	x.remove(hash)
	x.places[hash] = place{s.id, uint32(offset), uint32(size)}
	s.live += size
}

func (x *index) remove(hash uint64) {
	p, ok := x.places[hash]
	if !ok {
		return
	}
	delete(x.places, hash)
	if s := x.segment(p.segment); s != nil {
		s.live -= p.bytes()
	}
}

// drop forgets a segment with all records in it: so many of them at once, and reports whether
// that was all.
func (x *index) drop(s *segment, most int) bool {
	keep := max(len(s.hashes)-most, 0)
	for _, hash := range s.hashes[keep:] {
		if x.places[hash].segment == s.id {
			delete(x.places, hash)
		}
	}
	if s.hashes = s.hashes[:keep]; keep > 0 {
		return false
	}
	x.size -= s.size
	x.segments = slices.DeleteFunc(x.segments, func(o *segment) bool { return o == s })
	return true
}

// victim is the segment to be given up next, nil if there is none but the last, which is being
// written: the one with the least in it that is live, if that is little enough to be carried
// over; else the oldest.
func (x *index) victim() *segment {
	if len(x.segments) < 2 {
		return nil
	}
	old := x.segments[:len(x.segments)-1]
	least := slices.MinFunc(old, func(a, b *segment) int { return int(a.live - b.live) })
	if least.sparse() {
		return least
	}
	return old[0]
}

// sparse reports whether all live records of s may be carried over.
func (s *segment) sparse() bool { return s.live <= s.size/carryPart }

// kept is a record to be carried over.
type kept struct {
	hash uint64
	place
}

// carried returns the records of a segment that get a second chance, in the order in which they
// were written: those that were used since, or all of them if they are few.
func (x *index) carried(s *segment) (list []kept) {
	room, all := s.size/carryPart, s.sparse()
	for _, hash := range s.hashes {
		p := x.places[hash]
		if p.segment != s.id || !all && !p.used() || p.bytes() > room {
			continue
		}
		room -= p.bytes()
		list = append(list, kept{hash, p})
	}
	return list
}

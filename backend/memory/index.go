package memory

import (
	"slices"
	"sort"
	"strings"
)

// chunkMax is the largest number of names in one chunk of an index.
const chunkMax = 512

// index is a set of names in byte order, cut into chunks, so that neither an
// insertion nor a removal moves more than one chunk and the list of chunks.
type index struct {
	chunks [][]string // none is empty
}

// position is a place in an index, good until the index changes.
type position struct{ chunk, i int }

// find is the position of the least name that is reached: if a name is, so must be
// every greater one.
func (x *index) find(reached func(name string) bool) position {
	c := sort.Search(len(x.chunks), func(c int) bool {
		chunk := x.chunks[c]
		return reached(chunk[len(chunk)-1])
	})
	if c == len(x.chunks) {
		return position{c, 0}
	}
	chunk := x.chunks[c]
	return position{c, sort.Search(len(chunk), func(i int) bool { return reached(chunk[i]) })}
}

// seek is the position of the least name that is not less than name.
func (x *index) seek(name string) position {
	return x.find(func(n string) bool { return n >= name })
}

// past is the position of the least name that is greater than all names that
// begin with prefix.
func (x *index) past(prefix string) position {
	return x.find(func(n string) bool { return n > prefix && !strings.HasPrefix(n, prefix) })
}

// at is the name at p, false at the end.
func (x *index) at(p position) (string, bool) {
	if p.chunk == len(x.chunks) {
		return "", false
	}
	return x.chunks[p.chunk][p.i], true
}

// next is the position after p, which is not the end.
func (x *index) next(p position) position {
	if p.i+1 < len(x.chunks[p.chunk]) {
		return position{p.chunk, p.i + 1}
	}
	return position{p.chunk + 1, 0}
}

// insert adds a name that is not in the set.
func (x *index) insert(name string) {
	p := x.seek(name)
	if p.chunk == len(x.chunks) {
		if len(x.chunks) == 0 {
			x.chunks = [][]string{{name}}
			return
		}
		p.chunk--
		p.i = len(x.chunks[p.chunk])
	}
	chunk := slices.Insert(x.chunks[p.chunk], p.i, name)
	x.chunks[p.chunk] = chunk
	if len(chunk) > chunkMax {
		half := len(chunk) / 2
		x.chunks[p.chunk] = chunk[:half]
		x.chunks = slices.Insert(x.chunks, p.chunk+1, slices.Clone(chunk[half:]))
	}
}

// remove takes away a name that is in the set.
func (x *index) remove(name string) {
	p := x.seek(name)
	x.chunks[p.chunk] = slices.Delete(x.chunks[p.chunk], p.i, p.i+1)
	if len(x.chunks[p.chunk]) == 0 {
		x.chunks = slices.Delete(x.chunks, p.chunk, p.chunk+1)
	}
}

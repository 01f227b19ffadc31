package recordlog

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// indexed is an index of segments of 1000 bytes, each with ten records of 100: hashes 10 i to
// 10 i + 9 in segment i.
func indexed(segments int) *index {
	x := &index{places: map[uint64]place{}}
	for i := range segments {
		s := &segment{id: uint32(i)}
		x.segments = append(x.segments, s)
		for n := range 10 {
			x.grow(s, 100)
			x.put(s, uint64(10*i+n), int64(100*n), 100)
		}
	}
	return x
}

func hashes(list []kept) (all []uint64) {
	for _, k := range list {
		all = append(all, k.hash)
	}
	return all
}

func TestVictim(t *testing.T) {
	x := indexed(4)
	assert.Same(t, x.segments[0], x.victim(), "the oldest")
	last := x.segments[3]
	for n := range 8 {
		x.put(last, uint64(20+n), 0, 100)
	}
	assert.Same(t, x.segments[2], x.victim(), "the one with little in it")
	assert.Equal(t, []uint64{28, 29}, hashes(x.carried(x.segments[2])), "all that is live")
	for n := range 10 {
		x.remove(uint64(30 + n))
	}
	assert.NotSame(t, last, x.victim(), "never the last")
	assert.Nil(t, indexed(1).victim())
	assert.Nil(t, indexed(0).victim())
}

func TestCarried(t *testing.T) {
	x := indexed(2)
	s := x.segments[0]
	assert.Empty(t, x.carried(s), "nothing was used")
	for _, hash := range []uint64{7, 5, 3, 1} {
		p, in := x.use(hash)
		assert.EqualValues(t, 100*hash, p.offset)
		assert.Same(t, s, in)
	}
	assert.Equal(t, []uint64{1, 3}, hashes(x.carried(s)), "a quarter of the segment")
	x.put(s, 1, 500, 100)
	assert.Equal(t, []uint64{3, 5}, hashes(x.carried(s)), "not used since it was written anew")
	x.use(1)
	x.remove(3)
	x.remove(5)
	assert.Equal(t, []uint64{1, 7}, hashes(x.carried(s)), "once, though it was written twice")
	x.remove(7)
	assert.Equal(t, []uint64{1}, hashes(x.carried(s)), "once, though it was written twice")
}

func TestDrop(t *testing.T) {
	x := indexed(3)
	s := x.segments[1]
	x.put(x.segments[2], 10, 1000, 100)
	assert.EqualValues(t, 900, s.live)
	assert.False(t, x.drop(s, 4))
	assert.False(t, x.drop(s, 4))
	assert.True(t, x.drop(s, 4))
	assert.Len(t, x.places, 21)
	assert.EqualValues(t, 2000, x.size)
	assert.Len(t, x.segments, 2)
	_, in := x.use(10)
	assert.Same(t, x.segments[1], in)
	_, in = x.use(11)
	assert.Nil(t, in)
}

package explore

import (
	"encoding/binary"
	"math/bits"
)

// key is 128 bits of a state.
type key struct{ a, b uint64 }

func hash(p []byte) key {
	const (
		k0 = 0xa0761d6478bd642f
		k1 = 0xe7037ed1a0b428db
		k2 = 0x8ebc6af09c88c6e3
		k3 = 0x589965cc75374cc3
	)
	a, b := uint64(k0), uint64(k2)
	take := func(x, y uint64) {
		a, b = mix(x^k1, y^a), mix(x^k3, y^b)
	}
	for ; len(p) >= 16; p = p[16:] {
		take(binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:]))
	}
	var rest [16]byte
	copy(rest[:], p)
	take(binary.LittleEndian.Uint64(rest[:]), binary.LittleEndian.Uint64(rest[8:]))
	return key{mix(a^k2, b^k1), mix(b^k0, a^k3)}
}

func mix(x, y uint64) uint64 {
	high, low := bits.Mul64(x, y)
	return high ^ low
}

// visited is a set with open addressing. Each entry knows the one from which it was reached, so
// that a trace can be found.
type visited struct {
	keys   []key
	parent []uint32
	slots  []uint32 // 1 + the place of an entry
}

// slotsMin is how many slots a set has to begin with.
const slotsMin = 1 << 12

func newVisited() *visited { return &visited{slots: make([]uint32, slotsMin)} }

// add returns the place of a key, and reports whether it is new.
func (v *visited) add(k key, parent uint32) (at uint32, fresh bool) {
	i := v.slot(k)
	if at := v.slots[i]; at != 0 {
		return at - 1, false
	}
	v.keys, v.parent = append(v.keys, k), append(v.parent, parent)
	v.slots[i] = uint32(len(v.keys))
	if len(v.keys)*3 > len(v.slots)*2 {
		v.grow()
	}
	return uint32(len(v.keys) - 1), true
}

// slot is where a key is, or would be.
func (v *visited) slot(k key) uint64 {
	mask := uint64(len(v.slots) - 1)
	for i := k.a & mask; ; i = (i + 1) & mask {
		if at := v.slots[i]; at == 0 || v.keys[at-1] == k {
			return i
		}
	}
}

func (v *visited) grow() {
	v.slots = make([]uint32, 2*len(v.slots))
	for at, k := range v.keys {
		v.slots[v.slot(k)] = uint32(at + 1)
	}
}

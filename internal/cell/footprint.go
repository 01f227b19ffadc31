package cell

import (
	"bytes"
	"slices"
	"unsafe"

	"github.com/strictkv/strictkv/internal/txid"
)

const (
	pageSize = 8 << 10
	// headMin is the size in bytes above which an allocation with pointers in it has a
	// head of its own.
	headMin  = 512
	headSize = 8
)

// classes are the sizes in bytes that the Go runtime rounds small allocations up to.
var classes = [...]uint16{
	8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288,
	320, 352, 384, 416, 448, 480, 512, 576, 640, 704, 768, 896, 1024, 1152, 1280, 1408,
	1536, 1792, 2048, 2304, 2688, 3072, 3200, 3456, 4096, 4864, 5376, 6144, 6528, 6784,
	6912, 8192, 9472, 9728, 10240, 10880, 12288, 13568, 14336, 16384, 18432, 19072, 20480,
	21760, 24576, 27264, 28672, 32768,
}

// Allocated is what n bytes take on the heap, if there are no pointers in them.
func Allocated(n int) int {
	if n <= 0 {
		return 0
	}
	if n > int(classes[len(classes)-1]) {
		return (n + pageSize - 1) &^ (pageSize - 1)
	}
	i, _ := slices.BinarySearch(classes[:], uint16(n))
	return int(classes[i])
}

// allocated is what n bytes with pointers in them take.
func allocated(n uintptr) int {
	if n > headMin {
		n += headSize
	}
	return Allocated(int(n))
}

// Footprint is what the cell takes on the heap, in bytes.
//
// For a cell that Decode has read, encoded is the size of what it was read from. That
// is kept as a whole if there is an inline value, which is a part of it.
//
// For a cell that this process has made, encoded is 0. The lists of its members are then
// taken to be shared by the cells of all members: each counts for one member.
func (c *Cell) Footprint(encoded int) int {
	n := allocated(unsafe.Sizeof(*c)) + c.Value.footprint()
	n += Allocated(cap(c.Recent) * int(unsafe.Sizeof(txid.ID{})))
	n += allocated(uintptr(cap(c.Marks)) * unsafe.Sizeof(Mark{}))
	inline := c.Value.Kind == Inline
	if in := c.Intent; in != nil {
		n += allocated(unsafe.Sizeof(*in)) + in.Value.footprint() + in.Members.footprint(encoded)
		inline = inline || in.Value.Kind == Inline
	}
	for i := range c.Marks {
		n += c.Marks[i].Members.footprint(encoded)
	}
	switch {
	case encoded == 0:
		n += c.inlineFootprint()
	case inline:
		n += Allocated(encoded)
	}
	return n
}

// inlineFootprint is what the inline values take that are not part of something else.
func (c *Cell) inlineFootprint() int {
	n := Allocated(cap(c.Value.Data))
	if c.Intent != nil {
		n += Allocated(cap(c.Intent.Value.Data))
	}
	return n
}

// footprint is what the value takes beside inline bytes.
func (v *Value) footprint() int { return Allocated(len(v.Ref)) }

func (m *Members) footprint(encoded int) int {
	list := allocated(uintptr(cap(m.List)) * unsafe.Sizeof(Member{}))
	if encoded > 0 { // the names and versions are parts of one string
		return list + Allocated(m.listSize()-uvarintSize(uint64(len(m.List))))
	}
	if len(m.List) == 0 {
		return 0
	}
	names := 0
	for i := range m.List {
		names += Allocated(len(m.List[i].Name)) + Allocated(len(m.List[i].Expected))
	}
	return list/cap(m.List) + names/len(m.List)
}

// Apart returns the same cell with inline values that are not parts of what a cell was
// read from, which they would keep as a whole. Those that may be are copied.
func (c *Cell) Apart() *Cell {
	value, intent := c.Value.apart(), (*Intent)(nil)
	if in := c.Intent; in != nil && !in.Value.apart() {
		intent = new(Intent)
		*intent = *in
		intent.Value = in.Value.copied()
	}
	if value && intent == nil {
		return c
	}
	n := *c
	if !value {
		n.Value = c.Value.copied()
	}
	if intent != nil {
		n.Intent = intent
	}
	return &n
}

// copied is the same inline value with bytes of its own.
func (v Value) copied() Value {
	v.Data, v.own = bytes.Clone(v.Data), true
	return v
}

// apart reports whether the value certainly is no part of what a cell was read from.
func (v *Value) apart() bool { return v.Kind != Inline || v.own }

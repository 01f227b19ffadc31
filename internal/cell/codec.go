package cell

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
)

// The stored format of a cell, in full in docs/format.md:
//
//	magic, version, nonce, fields, padding, checksum
//
// A field is a tag byte, a uvarint length and that many bytes. Fields are in the
// order of their tags. A reader must know the tags up to criticalMax, and skips the
// others.
const (
	magic         = "SKVC"
	formatVersion = 1
	// formatCondemned is the version of condemned tombstones, whose size has a shape of
	// its own. Cells of version 1 may be condemned too, and have the shape of tombstones.
	formatCondemned = 2
	nonceSize       = 8
	headerSize      = len(magic) + 1 + nonceSize
	sumSize         = 4
	sizeMin         = headerSize + sumSize
	idSize          = 16
	termsSize       = 8 + 8 + 1 + 1
	expiresSize     = 8
	criticalMax     = 127
)

// The tags of fields. Value fields are the same in a cell and in an intent, the
// others of an intent the same as in a mark.
const (
	tagPadding = 0

	tagInline   = 1
	tagExternal = 2

	tagWriter    = 3
	tagRecent    = 4
	tagIntent    = 5
	tagMark      = 6
	tagCondemned = 7
	tagExpires   = 8 // of an intent's value as well

	tagTx      = 3
	tagTerms   = 4
	tagMembers = 5
	tagLong    = 6
)

// ErrFormat is matched by Decode's error for a cell of another format version, or
// with a field that a reader must know and this one does not.
var ErrFormat = errors.New("unsupported format version")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Shape is what an object's size tells of the cell in it.
type Shape uint8

// The shapes of cells: the size of the object modulo 4.
const (
	// ShapeValue is a cell with a value that never expires, and without an intent.
	ShapeValue Shape = iota
	// ShapeTombstone is a cell without a value and without an intent.
	ShapeTombstone
	// ShapeLook is a cell that only a look tells of: with an intent, or a value that expires.
	ShapeLook
	// ShapeCondemned is a tombstone that is condemned: it has neither intent nor marks.
	ShapeCondemned
)

// ShapeOf tells the shape of the cell in an object of size bytes.
func ShapeOf(size int64) Shape { return Shape(size & 3) }

// Shape tells the shape that c is stored with.
func (c *Cell) Shape() Shape {
	switch {
	case c.Intent != nil, c.Value.Expires != 0:
		return ShapeLook
	case c.Value.Kind != Absent:
		return ShapeValue
	case c.Condemned:
		return ShapeCondemned
	default:
		return ShapeTombstone
	}
}

// Encode returns the stored form of c. The nonce should be random, so that equal
// cells are never equal objects. It panics if c breaks a rule of the model, as such
// a cell could not be read again.
func Encode(c *Cell, nonce uint64) []byte {
	if err := c.check(); err != nil {
		panic(fmt.Sprintf("cell: encode: %v", err))
	}
	n := sizeMin + c.fieldsSize()
	pad := (int(c.Shape()) - n) & 3
	b := make([]byte, 0, n+pad)
	b = append(b, magic...)
	b = append(b, c.format())
	b = binary.LittleEndian.AppendUint64(b, nonce)
	b = c.appendFields(b)
	b = append(b, "\x00\x00\x00"[:pad]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// format is the version that c is stored in.
func (c *Cell) format() byte {
	if c.Condemned {
		return formatCondemned
	}
	return formatVersion
}

func (c *Cell) fieldsSize() int {
	n := c.Value.size()
	if !c.Writer.IsZero() {
		n += fieldSize(idSize)
	}
	if len(c.Recent) > 0 {
		n += fieldSize(idSize * len(c.Recent))
	}
	if c.Intent != nil {
		n += fieldSize(c.Intent.size())
	}
	for i := range c.Marks {
		n += fieldSize(c.Marks[i].size())
	}
	if c.Condemned {
		n += fieldSize(0)
	}
	return n
}

func (c *Cell) appendFields(b []byte) []byte {
	b = c.Value.append(b)
	if !c.Writer.IsZero() {
		b = append(appendHead(b, tagWriter, idSize), c.Writer[:]...)
	}
	if len(c.Recent) > 0 {
		b = appendHead(b, tagRecent, idSize*len(c.Recent))
		for i := range c.Recent {
			b = append(b, c.Recent[i][:]...)
		}
	}
	if c.Intent != nil {
		b = c.Intent.append(appendHead(b, tagIntent, c.Intent.size()))
	}
	for i := range c.Marks {
		b = c.Marks[i].append(appendHead(b, tagMark, c.Marks[i].size()))
	}
	if c.Condemned {
		b = appendHead(b, tagCondemned, 0)
	}
	return c.Value.appendExpires(b)
}

func (v *Value) size() int {
	n := 0
	switch v.Kind {
	case Inline:
		n = fieldSize(len(v.Data))
	case External:
		n = fieldSize(v.externalSize())
	}
	if v.Expires != 0 {
		n += fieldSize(expiresSize)
	}
	return n
}

func (v *Value) externalSize() int { return uvarintSize(v.Size) + 4 + len(v.Ref) }

func (v *Value) append(b []byte) []byte {
	switch v.Kind {
	case Inline:
		b = append(appendHead(b, tagInline, len(v.Data)), v.Data...)
	case External:
		b = appendHead(b, tagExternal, v.externalSize())
		b = binary.AppendUvarint(b, v.Size)
		b = binary.LittleEndian.AppendUint32(b, v.Sum)
		b = append(b, v.Ref...)
	}
	return b
}

// appendExpires is apart, as the field comes last.
func (v *Value) appendExpires(b []byte) []byte {
	if v.Expires == 0 {
		return b
	}
	b = appendHead(b, tagExpires, expiresSize)
	return binary.LittleEndian.AppendUint64(b, uint64(v.Expires))
}

func (in *Intent) size() int {
	return in.Value.size() + fieldSize(idSize) + fieldSize(termsSize) + in.Members.size()
}

func (in *Intent) append(b []byte) []byte {
	b = in.Value.append(b)
	b = append(appendHead(b, tagTx, idSize), in.Tx[:]...)
	b = appendHead(b, tagTerms, termsSize)
	b = binary.LittleEndian.AppendUint64(b, uint64(in.Priority.Time))
	b = binary.LittleEndian.AppendUint64(b, in.Priority.Tie)
	b = append(b, byte(in.Mode), byte(in.Action))
	return in.Value.appendExpires(in.Members.append(b))
}

func (m *Mark) size() int { return fieldSize(idSize) + m.Members.size() }

func (m *Mark) append(b []byte) []byte {
	b = append(appendHead(b, tagTx, idSize), m.Tx[:]...)
	return m.Members.append(b)
}

func (m *Members) size() int {
	n := fieldSize(m.listSize())
	if m.Long {
		n += fieldSize(0)
	}
	return n
}

func (m *Members) listSize() int {
	n := uvarintSize(uint64(len(m.List)))
	for i := range m.List {
		n += stringSize(m.List[i].Name) + stringSize(m.List[i].Expected)
	}
	return n
}

func (m *Members) append(b []byte) []byte {
	b = appendHead(b, tagMembers, m.listSize())
	b = binary.AppendUvarint(b, uint64(len(m.List)))
	for i := range m.List {
		b = appendString(b, m.List[i].Name)
		b = appendString(b, m.List[i].Expected)
	}
	if m.Long {
		b = appendHead(b, tagLong, 0)
	}
	return b
}

func appendHead(b []byte, tag byte, size int) []byte {
	return binary.AppendUvarint(append(b, tag), uint64(size))
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func stringSize(s string) int { return uvarintSize(uint64(len(s))) + len(s) }

func fieldSize(n int) int { return 1 + uvarintSize(uint64(n)) + n }

func uvarintSize(x uint64) int { return (bits.Len64(x|1) + 6) / 7 }

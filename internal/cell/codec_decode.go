package cell

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/strictkv/strictkv/internal/txid"
)

var (
	errTruncated = errors.New("truncated")
	errMalformed = errors.New("malformed field")
)

// Decode reads what Encode writes, or wrote in version 1 of the format, and nothing
// else: apart from fields that may be ignored, every cell has one stored form for each
// nonce. Inline values alias data, which nobody may modify. An error that does not match
// ErrFormat means that the object is damaged or no cell.
func Decode(data []byte) (*Cell, error) {
	body, err := open(data)
	if err != nil {
		return nil, fmt.Errorf("cell: %w", err)
	}
	c := new(Cell)
	if err := c.decode(body); err != nil {
		return nil, fmt.Errorf("cell: %w", err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("cell: %w", err)
	}
	v, shape := data[len(magic)], c.Shape()
	if c.Condemned && v == formatVersion {
		shape = ShapeTombstone
	} else if c.format() != v {
		return nil, fmt.Errorf("cell: version %d, content of version %d", v, c.format())
	}
	if s := ShapeOf(int64(len(data))); s != shape {
		return nil, fmt.Errorf("cell: a size of shape %d, content of shape %d", s, shape)
	}
	return c, nil
}

// open checks the frame and returns the fields with the padding. The version comes
// before the checksum, since another version may have another one.
func open(data []byte) ([]byte, error) {
	if len(data) < sizeMin {
		return nil, errTruncated
	}
	if string(data[:len(magic)]) != magic {
		return nil, errors.New("foreign object: wrong magic")
	}
	if v := data[len(magic)]; v != formatVersion && v != formatCondemned {
		return nil, fmt.Errorf("%w: found %d, supported are up to %d",
			ErrFormat, v, formatCondemned)
	}
	body, sum := data[:len(data)-sumSize], data[len(data)-sumSize:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(sum) {
		return nil, errors.New("wrong checksum")
	}
	return body[headerSize:], nil
}

func (c *Cell) decode(body []byte) error {
	f := fields{rest: body, repeated: tagMark}
	for f.next() {
		var err error
		switch f.tag {
		case tagInline, tagExternal:
			err = c.Value.decode(f.tag, f.body)
		case tagWriter:
			c.Writer, err = decodeID(f.body)
		case tagRecent:
			c.Recent, err = decodeIDs(f.body)
		case tagIntent:
			c.Intent = new(Intent)
			err = c.Intent.decode(f.body)
		case tagMark:
			c.Marks = append(c.Marks, Mark{})
			err = c.Marks[len(c.Marks)-1].decode(f.body)
		case tagCondemned:
			c.Condemned, err = true, decodeFlag(f.body)
		case tagExpires:
			c.Value.Expires, err = decodeExpires(f.body)
		default:
			err = f.unknown()
		}
		if err == nil && len(c.Marks) > MarksMax {
			err = fmt.Errorf("more than %d marks", MarksMax)
		}
		if err != nil {
			return fmt.Errorf("field %d: %w", f.tag, err)
		}
	}
	if f.err != nil {
		return f.err
	}
	return checkPadding(f.rest)
}

func checkPadding(b []byte) error {
	if len(b) > 3 {
		return errors.New("too much padding")
	}
	for _, x := range b {
		if x != 0 {
			return errors.New("padding is not zero")
		}
	}
	return nil
}

func (v *Value) decode(tag byte, b []byte) error {
	if v.Kind != Absent {
		return errors.New("a second value")
	}
	if tag == tagInline {
		v.Kind, v.Data = Inline, b
		return nil
	}
	size, b, ok := uvarint(b)
	if !ok || len(b) < 4 {
		return errMalformed
	}
	v.Kind, v.Size, v.Sum = External, size, binary.LittleEndian.Uint32(b)
	v.Ref = string(b[4:])
	return nil
}

func (in *Intent) decode(b []byte) error {
	f := fields{rest: b}
	for f.next() {
		var err error
		switch f.tag {
		case tagInline, tagExternal:
			err = in.Value.decode(f.tag, f.body)
		case tagTx:
			in.Tx, err = decodeID(f.body)
		case tagTerms:
			err = in.decodeTerms(f.body)
		case tagMembers, tagLong:
			err = in.Members.decode(f.tag, f.body)
		case tagExpires:
			in.Value.Expires, err = decodeExpires(f.body)
		default:
			err = f.unknown()
		}
		if err != nil {
			return fmt.Errorf("field %d: %w", f.tag, err)
		}
	}
	return f.end()
}

func (in *Intent) decodeTerms(b []byte) error {
	if len(b) != termsSize {
		return errMalformed
	}
	in.Priority.Time = int64(binary.LittleEndian.Uint64(b))
	in.Priority.Tie = binary.LittleEndian.Uint64(b[8:])
	in.Mode, in.Action = Mode(b[16]), Action(b[17])
	return nil
}

func (m *Mark) decode(b []byte) error {
	f := fields{rest: b}
	for f.next() {
		var err error
		switch f.tag {
		case tagTx:
			m.Tx, err = decodeID(f.body)
		case tagMembers, tagLong:
			err = m.Members.decode(f.tag, f.body)
		default:
			err = f.unknown()
		}
		if err != nil {
			return fmt.Errorf("field %d: %w", f.tag, err)
		}
	}
	return f.end()
}

func (m *Members) decode(tag byte, b []byte) error {
	if tag == tagLong {
		m.Long = true
		return decodeFlag(b)
	}
	n, b, ok := uvarint(b)
	if !ok || n > MembersMax {
		return fmt.Errorf("members: %w", errMalformed)
	}
	// One copy of all bytes, which the names and versions share.
	s := string(b)
	m.List = make([]Member, n)
	for i := range m.List {
		x := &m.List[i]
		if x.Name, b, s, ok = cutString(b, s); !ok {
			return fmt.Errorf("member %d: %w", i, errMalformed)
		}
		if x.Expected, b, s, ok = cutString(b, s); !ok {
			return fmt.Errorf("member %d: %w", i, errMalformed)
		}
	}
	if len(b) > 0 {
		return fmt.Errorf("members: %w", errMalformed)
	}
	return nil
}

// cutString takes a length and that many bytes off b and off s, its copy.
func cutString(b []byte, s string) (x string, bRest []byte, sRest string, ok bool) {
	n, rest, ok := uvarint(b)
	if !ok || n > uint64(len(rest)) {
		return "", nil, "", false
	}
	s = s[len(b)-len(rest):]
	return s[:n], rest[n:], s[n:], true
}

func decodeID(b []byte) (txid.ID, error) {
	if len(b) != idSize || txid.ID(b).IsZero() {
		return txid.ID{}, errMalformed
	}
	return txid.ID(b), nil
}

func decodeIDs(b []byte) ([]txid.ID, error) {
	if len(b) == 0 || len(b)%idSize != 0 || len(b) > idSize*RecentMax {
		return nil, errMalformed
	}
	ids := make([]txid.ID, len(b)/idSize)
	for i := range ids {
		ids[i] = txid.ID(b[i*idSize:])
	}
	return ids, nil
}

func decodeExpires(b []byte) (int64, error) {
	if len(b) != expiresSize {
		return 0, errMalformed
	}
	at := int64(binary.LittleEndian.Uint64(b))
	if at <= 0 {
		return 0, errMalformed
	}
	return at, nil
}

func decodeFlag(b []byte) error {
	if len(b) != 0 {
		return errMalformed
	}
	return nil
}

// fields walks over the fields in rest. It ends at their end, before padding, or at
// an error, which is kept in err.
type fields struct {
	rest     []byte
	repeated byte // the tag that may come several times
	tag      byte
	body     []byte
	err      error
}

func (f *fields) next() bool {
	if len(f.rest) == 0 || f.rest[0] == tagPadding {
		return false
	}
	last := f.tag
	f.tag = f.rest[0]
	if f.tag < last || f.tag == last && f.tag != f.repeated && f.tag <= criticalMax {
		f.err = fmt.Errorf("field %d after field %d", f.tag, last)
		return false
	}
	n, rest, ok := uvarint(f.rest[1:])
	if !ok || n > uint64(len(rest)) {
		f.err = fmt.Errorf("field %d: %w", f.tag, errTruncated)
		return false
	}
	f.body, f.rest = rest[:n:n], rest[n:]
	return true
}

// end reports whether nested fields ended well; they have no padding.
func (f *fields) end() error {
	if f.err == nil && len(f.rest) > 0 {
		return errMalformed
	}
	return f.err
}

// unknown refuses a field that a reader must know.
func (f *fields) unknown() error {
	if f.tag > criticalMax {
		return nil
	}
	return fmt.Errorf("%w: a newer version of the library is needed", ErrFormat)
}

// uvarint takes a number in its shortest form off b.
func uvarint(b []byte) (x uint64, rest []byte, ok bool) {
	x, n := binary.Uvarint(b)
	if n <= 0 || n != uvarintSize(x) {
		return 0, nil, false
	}
	return x, b[n:], true
}

package follow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// The stored form of a position, which never changes its meaning:
//
//	"SKVP", version 1, the database's id in 16 bytes, the number of items (uvarint),
//	for each item: how many bytes its name shares with that of the item before, and how many
//	  more it has (uvarints), those, state and writer in 16 bytes each, when it expires (uvarint,
//	  nanoseconds since 1970, 0 for never),
//	CRC-32C of all that, little-endian.
//
// Items have a value, and are in the order of names.
const (
	positionMagic   = "SKVP"
	positionVersion = 1
	headSize        = len(positionMagic) + 1 + len(txid.ID{})
	sumSize         = 4
	// itemMin is the least size of an item in bytes.
	itemMin = 3 + len(State{}) + len(txid.ID{})
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode is the stored form of items of a database: of those that have a value.
func Encode(db txid.ID, items Items) []byte {
	n, size := 0, headSize+binary.MaxVarintLen64+sumSize
	for _, item := range items {
		if item.Present {
			n, size = n+1, size+itemMin+binary.MaxVarintLen64+len(item.Name)
		}
	}
	b := make([]byte, 0, size)
	b = append(append(append(b, positionMagic...), positionVersion), db[:]...)
	b = binary.AppendUvarint(b, uint64(n))
	before := ""
	for _, item := range items {
		if !item.Present {
			continue
		}
		shared := 0
		for shared < min(len(before), len(item.Name)) && before[shared] == item.Name[shared] {
			shared++
		}
		b = binary.AppendUvarint(b, uint64(shared))
		b = binary.AppendUvarint(b, uint64(len(item.Name)-shared))
		b = append(append(append(b, item.Name[shared:]...), item.State[:]...), item.Writer[:]...)
		b = binary.AppendUvarint(b, uint64(item.Expires))
		before = item.Name
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

var errShort = errors.New("it ends early")

// Decode is the inverse of Encode.
func Decode(data []byte) (db txid.ID, items Items, err error) {
	switch {
	case len(data) < headSize+1+sumSize || string(data[:len(positionMagic)]) != positionMagic:
		return db, nil, fmt.Errorf("not a position: %w", backend.ErrCorrupt)
	case data[len(positionMagic)] != positionVersion:
		return db, nil, fmt.Errorf("version %d: %w", data[len(positionMagic)], store.ErrFormat)
	}
	body, sum := data[:len(data)-sumSize], data[len(data)-sumSize:]
	if binary.LittleEndian.Uint32(sum) != crc32.Checksum(body, castagnoli) {
		return db, nil, fmt.Errorf("checksum: %w", backend.ErrCorrupt)
	}
	copy(db[:], body[headSize-len(db):])
	d := decoder{rest: body[headSize:]}
	if items = d.items(); d.err == nil && len(d.rest) > 0 {
		d.err = errors.New("more than its items")
	}
	if d.err != nil {
		return txid.ID{}, nil, fmt.Errorf("%w: %w", d.err, backend.ErrCorrupt)
	}
	return db, items, nil
}

// decoder takes fields off the rest. After an error all are zero.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) items() Items {
	n := d.number()
	if n > uint64(len(d.rest)/itemMin) {
		d.err = errShort
		return nil
	}
	items := make(Items, 0, n)
	before := ""
	for range n {
		shared, more := d.number(), d.number()
		if shared > uint64(len(before)) {
			d.err = errors.New("a name shares more than there is")
			return nil
		}
		item := Item{Name: before[:shared] + string(d.bytes(more))}
		copy(item.State[:], d.bytes(uint64(len(item.State))))
		copy(item.Writer[:], d.bytes(uint64(len(item.Writer))))
		item.Expires, item.Present = int64(d.number()), true
		switch {
		case d.err != nil:
			return nil
		case item.Name <= before || item.Expires < 0 || item.Writer.IsZero():
			d.err = errors.New("an item is not what one can be")
			return nil
		}
		items, before = append(items, item), item.Name
	}
	return items
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.err, d.rest = errShort, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.err, d.rest = errShort, nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

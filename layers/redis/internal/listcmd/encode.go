package listcmd

import (
	"encoding/binary"
	"fmt"

	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// Both forms begin with the version of the format.
const format = 1

// encode is the body of a small list: the format's version, then each element with its length
// before it, a varint.
func encode(items [][]byte) []byte {
	size := 1
	for _, item := range items {
		size += binary.MaxVarintLen32 + len(item)
	}
	out := append(make([]byte, 0, size), format)
	for _, item := range items {
		out = binary.AppendUvarint(out, uint64(len(item)))
		out = append(out, item...)
	}
	return out
}

// decode is the inverse of encode. The elements share the body's memory.
func decode(body []byte) ([][]byte, error) {
	if len(body) == 0 || body[0] != format {
		return nil, damaged("no list of this layer, or of a newer version of it")
	}
	var items [][]byte
	for rest := body[1:]; len(rest) > 0; {
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > uint64(len(rest)-used) {
			return nil, damaged("cut short")
		}
		end := used + int(n)
		items = append(items, rest[used:end:end])
		rest = rest[end:]
	}
	if len(items) == 0 {
		return nil, damaged("no element")
	}
	return items, nil
}

// header is what the header of a large list tells.
type header struct {
	first uint64 // place of the first element
	n     int
}

// middle is where the first element of a list is put that becomes a large one: both ends have more
// places than there will ever be elements.
const middle = 1 << 62

const headerLen = 1 + 8 + 8

func (h header) encode() []byte {
	out := append(make([]byte, 0, headerLen), format)
	out = binary.LittleEndian.AppendUint64(out, h.first)
	return binary.LittleEndian.AppendUint64(out, uint64(h.n))
}

func decodeHeader(b []byte) (header, error) {
	if len(b) != headerLen || b[0] != format {
		return header{}, damaged("no header of this layer, or of a newer version of it")
	}
	h := header{binary.LittleEndian.Uint64(b[1:]), int(binary.LittleEndian.Uint64(b[9:]))}
	if h.n <= 0 || h.first < middle/2 || h.first > 2*middle-middle/2 || h.n > middle/2 {
		return header{}, damaged("a place that none can be at")
	}
	return h, nil
}

// name is that of the element with an index.
func (h header) name(index int) []byte {
	return binary.BigEndian.AppendUint64(nil, h.first+uint64(index))
}

func damaged(what string) error { return fmt.Errorf("list: %s: %w", what, keys.ErrDamaged) }

package fields

import (
	"encoding/binary"
	"fmt"

	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// format is the version of a body.
const format = 1

// Pair is a name with its value: nil in a set.
type Pair struct{ Name, Value []byte }

// body is that of a small value, or the header of a large one.
type body struct {
	moved int    // names that are elements
	pairs []Pair // all others
}

// encode writes the version, how many names are elements, then each pair: the name's length, the
// name, and in a hash the value's length, and the value.
func (b *body) encode(k keys.Kind) []byte {
	out := make([]byte, 0, b.size(k))
	out = append(out, format)
	out = binary.AppendUvarint(out, uint64(b.moved))
	for _, p := range b.pairs {
		out = appendBytes(out, p.Name)
		if k == keys.Hash {
			out = appendBytes(out, p.Value)
		}
	}
	return out
}

// decodeBody is the inverse of encode. The pairs share the data's memory.
func decodeBody(data []byte, k keys.Kind) (b body, err error) {
	if len(data) == 0 || data[0] != format {
		return b, damaged("not of this version")
	}
	moved, used := binary.Uvarint(data[1:])
	if used <= 0 || moved > countMax {
		return b, damaged("number of elements")
	}
	b.moved = int(moved)
	for rest := data[1+used:]; len(rest) > 0; {
		var p Pair
		if p.Name, rest, err = cutBytes(rest); err != nil {
			return body{}, err
		}
		if k == keys.Hash {
			if p.Value, rest, err = cutBytes(rest); err != nil {
				return body{}, err
			}
		}
		b.pairs = append(b.pairs, p)
	}
	return b, nil
}

// countMax is more than any value has names.
const countMax = 1 << 48

// size is how long the encoding is, in bytes; a few more.
func (b *body) size(k keys.Kind) int {
	n := 1 + binary.MaxVarintLen64
	for _, p := range b.pairs {
		n += p.size(k)
	}
	return n
}

func (p *Pair) size(k keys.Kind) int {
	n := lengthLen(len(p.Name)) + len(p.Name)
	if k == keys.Hash {
		n += lengthLen(len(p.Value)) + len(p.Value)
	}
	return n
}

// lengthLen is how many bytes a length takes.
func lengthLen(n int) int {
	bytes := 1
	for ; n >= 0x80; n >>= 7 {
		bytes++
	}
	return bytes
}

func appendBytes(to, b []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(b))), b...)
}

func cutBytes(data []byte) (b, rest []byte, err error) {
	n, used := binary.Uvarint(data)
	if used <= 0 || n > uint64(len(data)-used) {
		return nil, nil, damaged("cut short")
	}
	end := used + int(n)
	return data[used:end:end], data[end:], nil
}

func damaged(what string) error { return fmt.Errorf("names: %s: %w", what, keys.ErrDamaged) }

package zsetcmd

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// Both forms begin with the version of the format.
const format = 1

// entry is a member with its score, which is not NaN, nor -0.
type entry struct {
	member []byte
	score  float64
}

// compare tells the order of a set: by scores, then by members as bytes.
func compare(a, b entry) int {
	if c := cmp.Compare(a.score, b.score); c != 0 {
		return c
	}
	return bytes.Compare(a.member, b.member)
}

const scoreLen = 8 // bytes

// encode is the body of a small set, whose members are in order: the format's version, then of each
// the score, as the bits of a double, little-endian, and the member, with its length before it, a
// varint.
func encode(entries []entry) []byte {
	size := 1
	for _, e := range entries {
		size += scoreLen + binary.MaxVarintLen32 + len(e.member)
	}
	out := append(make([]byte, 0, size), format)
	for _, e := range entries {
		out = appendScore(out, e.score)
		out = binary.AppendUvarint(out, uint64(len(e.member)))
		out = append(out, e.member...)
	}
	return out
}

// decode is the inverse of encode. The members share the body's memory.
func decode(body []byte) ([]entry, error) {
	if len(body) == 0 || body[0] != format {
		return nil, damaged("no sorted set of this layer, or of a newer version of it")
	}
	var entries []entry
	for rest := body[1:]; len(rest) > 0; {
		score, err := cutScore(rest)
		if err != nil {
			return nil, err
		}
		rest = rest[scoreLen:]
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > uint64(len(rest)-used) {
			return nil, damaged("cut short")
		}
		end := used + int(n)
		e := entry{rest[used:end:end], score}
		if len(entries) > 0 && compare(entries[len(entries)-1], e) >= 0 {
			return nil, damaged("out of order")
		}
		entries, rest = append(entries, e), rest[end:]
	}
	if len(entries) == 0 {
		return nil, damaged("no member")
	}
	return entries, nil
}

// appendScore writes a score as that of an element is.
func appendScore(to []byte, score float64) []byte {
	return binary.LittleEndian.AppendUint64(to, math.Float64bits(score))
}

// cutScore reads what appendScore has written to the beginning of b.
func cutScore(b []byte) (float64, error) {
	if len(b) < scoreLen {
		return 0, damaged("cut short")
	}
	score := math.Float64frombits(binary.LittleEndian.Uint64(b))
	if math.IsNaN(score) || score == 0 && math.Signbit(score) {
		return 0, damaged("a score that none has")
	}
	return score, nil
}

const headerLen = 1 + 8

// encodeHeader is the header of a large set: the format's version, and how many members there are.
func encodeHeader(n int) []byte {
	return binary.LittleEndian.AppendUint64(append(make([]byte, 0, headerLen), format), uint64(n))
}

func decodeHeader(b []byte) (int, error) {
	if len(b) != headerLen || b[0] != format {
		return 0, damaged("no header of this layer, or of a newer version of it")
	}
	n := binary.LittleEndian.Uint64(b[1:])
	if n == 0 || n > math.MaxInt32 {
		return 0, damaged("a number of members that none has")
	}
	return int(n), nil
}

// orderMax is how many bytes of a member are in its name in the order.
const orderMax = 256

// orderKey is the name of an entry in the order: the score, so that scores are in order as bytes,
// then the member. Of a member that is longer than orderMax it is the beginning, and the hash of
// all; then the value is the member, and those that begin alike are not in order.
func orderKey(e entry) (key, value []byte) {
	key = append(orderScore(e.score), e.member[:min(len(e.member), orderMax)]...)
	if len(e.member) <= orderMax {
		return key, nil
	}
	sum := sha256.Sum256(e.member)
	return append(key, sum[:]...), e.member
}

// orderScore is what the names in the order begin with that have a score.
func orderScore(score float64) []byte {
	bits := math.Float64bits(score)
	if score < 0 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(make([]byte, 0, scoreLen+orderMax), bits)
}

// parseOrder is the inverse of orderKey. If it is long, the member is its beginning.
func parseOrder(key []byte) (e entry, long bool, err error) {
	if len(key) < scoreLen {
		return e, false, damaged("cut short")
	}
	bits := binary.BigEndian.Uint64(key)
	if bits&(1<<63) != 0 {
		bits &^= 1 << 63
	} else {
		bits = ^bits
	}
	e = entry{key[scoreLen:], math.Float64frombits(bits)}
	switch n := len(e.member); {
	case math.IsNaN(e.score), e.score == 0 && math.Signbit(e.score),
		n > orderMax && n != orderMax+sha256.Size:
		return e, false, damaged("a name in the order that none has")
	case n > orderMax:
		e.member = slices.Clip(e.member[:orderMax])
		return e, true, nil
	}
	return e, false, nil
}

func damaged(what string) error { return fmt.Errorf("sorted set: %s: %w", what, keys.ErrDamaged) }

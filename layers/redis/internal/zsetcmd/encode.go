package zsetcmd

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

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
		out = appendEntry(out, e)
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
		e, behind, err := cutEntry(rest)
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 && compare(entries[len(entries)-1], e) >= 0 {
			return nil, damaged("out of order")
		}
		entries, rest = append(entries, e), behind
	}
	if len(entries) == 0 {
		return nil, damaged("no member")
	}
	return entries, nil
}

func appendEntry(to []byte, e entry) []byte {
	to = appendScore(to, e.score)
	to = binary.AppendUvarint(to, uint64(len(e.member)))
	return append(to, e.member...)
}

// cutEntry takes what appendEntry has written off the beginning of b.
func cutEntry(b []byte) (e entry, rest []byte, err error) {
	if e.score, err = cutScore(b); err != nil {
		return e, nil, err
	}
	b = b[scoreLen:]
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return e, nil, damaged("cut short")
	}
	end := used + int(n)
	e.member = b[used:end:end]
	return e, b[end:], nil
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

func damaged(what string) error { return fmt.Errorf("sorted set: %s: %w", what, keys.ErrDamaged) }

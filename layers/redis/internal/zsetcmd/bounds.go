package zsetcmd

import (
	"bytes"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// bounds are those of a range by scores, or by members that all have the same score. The zero
// bounds are those of the whole set.
type bounds struct {
	by       by
	min, max bound
}

type by uint8

const (
	byRank by = iota // no bounds
	byScore
	byLex
)

// bound is an end of a range.
type bound struct {
	score    float64
	member   []byte
	open     bool // what is at the bound is not in the range
	infinite int  // of members: below or above all
}

const (
	errScoreBound = resp.Error("ERR min or max is not a float")
	errLexBound   = resp.Error("ERR min or max not valid string range item")
)

// parseBounds are those that two arguments stand for, the lower one first.
func parseBounds(by by, low, high []byte) (b bounds, err error) {
	parse := parseScoreBound
	if by == byLex {
		parse = parseLexBound
	}
	b.by = by
	if b.min, err = parse(low); err != nil {
		return b, err
	}
	b.max, err = parse(high)
	return b, err
}

func parseScoreBound(arg []byte) (b bound, err error) {
	arg, b.open = bytes.CutPrefix(arg, []byte("("))
	var ok bool
	if b.score, ok = command.ParseFloat(arg); !ok {
		return b, errScoreBound
	}
	return b, nil
}

func parseLexBound(arg []byte) (b bound, err error) {
	switch {
	case string(arg) == "-":
		b.infinite = -1
	case string(arg) == "+":
		b.infinite = 1
	case len(arg) > 0 && (arg[0] == '[' || arg[0] == '('):
		b.open, b.member = arg[0] == '(', arg[1:]
	default:
		return b, errLexBound
	}
	return b, nil
}

// side tells on which side of a bound an entry is.
func (b bound) side(by by, e entry) int {
	switch {
	case by == byLex && b.infinite != 0:
		return -b.infinite
	case by == byLex:
		return bytes.Compare(e.member, b.member)
	case e.score < b.score:
		return -1
	case e.score > b.score:
		return 1
	}
	return 0
}

// below reports whether an entry is before the range.
func (b bounds) below(e entry) bool {
	if b.by == byRank {
		return false
	}
	side := b.min.side(b.by, e)
	return side < 0 || side == 0 && b.min.open
}

// above reports whether an entry is behind the range.
func (b bounds) above(e entry) bool {
	if b.by == byRank {
		return false
	}
	side := b.max.side(b.by, e)
	return side > 0 || side == 0 && b.max.open
}

// plus is the score, 0 in place of -0.
func plus(score float64) float64 {
	if score == 0 {
		return 0
	}
	return score
}

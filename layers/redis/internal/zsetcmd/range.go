package zsetcmd

import (
	"bytes"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// ranging is what ZRANGE and its like are asked for.
type ranging struct {
	key             []byte
	by              by
	reverse, scores bool
	offset, limit   int64 // a limit below 0 is none

	start, stop int64 // by rank
	bounds      bounds
}

func zrange(c *command.Call) error        { return ranged(c, ranging{}, true) }
func zrevrange(c *command.Call) error     { return ranged(c, ranging{reverse: true}, false) }
func zrangebyscore(c *command.Call) error { return ranged(c, ranging{by: byScore}, false) }
func zrevrangebyscore(c *command.Call) error {
	return ranged(c, ranging{by: byScore, reverse: true}, false)
}
func zrangebylex(c *command.Call) error { return ranged(c, ranging{by: byLex}, false) }
func zrevrangebylex(c *command.Call) error {
	return ranged(c, ranging{by: byLex, reverse: true}, false)
}

// ranged replies a range. By what it is, and whether it is reversed, options may tell only if that
// is free.
func ranged(c *command.Call, o ranging, free bool) error {
	if err := o.parse(c, c.Args[1:], free, true); err != nil {
		return err
	}
	entries, err := o.entries(c)
	if err != nil {
		return err
	}
	reply(c, entries, o.scores)
	return nil
}

func zrangestore(c *command.Call) error {
	var o ranging
	if err := o.parse(c, c.Args[2:], true, false); err != nil {
		return err
	}
	entries, err := o.entries(c)
	if err != nil {
		return err
	}
	return store(c, c.Args[1], entries)
}

// store gives a key a set of these members, and replies how many there are.
func store(c *command.Call, key []byte, entries []entry) error {
	z, err := replace(c, key, entries)
	if err != nil {
		return err
	}
	c.Out.Int(int64(z.n))
	return nil
}

// parse reads the arguments from the key on. By what the range is may be free, scores be asked for.
func (o *ranging) parse(c *command.Call, args [][]byte, free, scores bool) (err error) {
	o.key, o.limit = args[0], -1
	limited := false
	for i := 3; i < len(args); i++ {
		switch {
		case scores && command.Is(args[i], "WITHSCORES"):
			o.scores = true
		case command.Is(args[i], "LIMIT") && i+2 < len(args):
			at := len(c.Args) - len(args) + i
			if o.offset, err = c.Int(at + 1); err != nil {
				return err
			}
			if o.limit, err = c.Int(at + 2); err != nil {
				return err
			}
			limited = o.limit != -1
			i += 2
		case free && command.Is(args[i], "REV"):
			o.reverse = true
		case free && command.Is(args[i], "BYLEX"):
			o.by = byLex
		case free && command.Is(args[i], "BYSCORE"):
			o.by = byScore
		default:
			return command.ErrSyntax
		}
	}
	switch {
	case limited && o.by == byRank:
		return resp.Error("ERR syntax error, LIMIT is only supported in combination " +
			"with either BYSCORE or BYLEX")
	case o.scores && o.by == byLex:
		return resp.Error("ERR syntax error, WITHSCORES not supported in combination with BYLEX")
	}
	return o.parseRange(args[1], args[2])
}

func (o *ranging) parseRange(first, last []byte) (err error) {
	if o.by != byRank {
		if o.reverse {
			first, last = last, first
		}
		o.bounds, err = parseBounds(o.by, first, last)
		return err
	}
	var ok bool
	if o.start, ok = resp.ParseInt(first); !ok {
		return command.ErrNotInt
	}
	if o.stop, ok = resp.ParseInt(last); !ok {
		return command.ErrNotInt
	}
	return nil
}

// entries are those that are asked for, in that order.
func (o *ranging) entries(c *command.Call) ([]entry, error) {
	z, err := open(c, o.key)
	if err != nil {
		return nil, err
	}
	return o.of(z)
}

// of is entries of a set.
func (o *ranging) of(z *zset) ([]entry, error) {
	if o.by == byRank {
		from, to := command.Between(o.start, o.stop, z.n)
		if o.reverse {
			from, to = z.n-to, z.n-from
		}
		return z.slice(from, to, o.reverse)
	}
	if o.offset < 0 {
		return nil, nil
	}
	from, to, err := z.span(o.bounds)
	if err != nil {
		return nil, err
	}
	skip := int(min(o.offset, int64(to-from)))
	n := to - from - skip
	if o.limit >= 0 {
		n = int(min(o.limit, int64(n)))
	}
	if o.reverse {
		return z.slice(to-skip-n, to-skip, true)
	}
	return z.slice(from+skip, from+skip+n, false)
}

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

package zsetcmd

import (
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

// ranged replies a range. Whether it is by rank, and reversed, is asked for by options only if any
// are.
func ranged(c *command.Call, o ranging, any bool) error {
	if err := o.parse(c, c.Args[1:], any, true); err != nil {
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

// parse reads the arguments from the key on. Scores may be asked for.
func (o *ranging) parse(c *command.Call, args [][]byte, any, scores bool) (err error) {
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
		case any && command.Is(args[i], "REV"):
			o.reverse = true
		case any && command.Is(args[i], "BYLEX"):
			o.by = byLex
		case any && command.Is(args[i], "BYSCORE"):
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

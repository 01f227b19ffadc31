package zsetcmd

import (
	"math"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// adding is what ZADD is asked for.
type adding struct {
	nx, xx, gt, lt, ch, incr bool
	pairs                    []entry
}

// parseAdding reads the options of ZADD, and the scores and members behind them.
func parseAdding(c *command.Call) (o adding, err error) {
	at := 2
	for options := map[string]*bool{
		"NX": &o.nx, "XX": &o.xx, "GT": &o.gt, "LT": &o.lt, "CH": &o.ch, "INCR": &o.incr,
	}; at < len(c.Args); at++ {
		option := false
		for name, set := range options {
			if command.Is(c.Args[at], name) {
				*set, option = true, true
			}
		}
		if !option {
			break
		}
	}
	rest := c.Args[at:]
	switch {
	case len(rest) == 0 || len(rest)%2 != 0:
		return o, command.ErrSyntax
	case o.nx && o.xx:
		return o, resp.Error("ERR XX and NX options at the same time are not compatible")
	case o.gt && o.nx || o.lt && o.nx || o.gt && o.lt:
		return o, resp.Error("ERR GT, LT, and/or NX options at the same time are not compatible")
	case o.incr && len(rest) > 2:
		return o, resp.Error("ERR INCR option supports a single increment-element pair")
	}
	for i := 0; i < len(rest); i += 2 {
		score, err := c.Float(at + i)
		if err != nil {
			return o, err
		}
		o.pairs = append(o.pairs, entry{rest[i+1], score})
	}
	for _, e := range o.pairs {
		if len(e.member) > keys.NameMax {
			return o, keys.ErrNameTooLong
		}
	}
	return o, nil
}

func zadd(c *command.Call) error {
	o, err := parseAdding(c)
	if err != nil {
		return err
	}
	return o.add(c)
}

func zincrby(c *command.Call) error {
	by, err := c.Float(2)
	if err != nil {
		return err
	}
	if len(c.Args[3]) > keys.NameMax {
		return keys.ErrNameTooLong
	}
	o := adding{incr: true, pairs: []entry{{c.Args[3], by}}}
	return o.add(c)
}

// add does what is asked for, and replies how many members are new, or have another score too, or
// the score after an increment.
func (o *adding) add(c *command.Call) error {
	z, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	if err := z.look(members(o.pairs)...); err != nil {
		return err
	}
	added, updated, score := 0, 0, (*float64)(nil)
	for _, e := range o.pairs {
		old, is, err := z.score(e.member)
		if err != nil {
			return err
		}
		if o.incr && is {
			e.score += old
		}
		if math.IsNaN(e.score) {
			return resp.Error("ERR resulting score is not a number (NaN)")
		}
		if o.refuses(e.score, old, is) {
			continue
		}
		score = &e.score
		switch {
		case !is:
			added++
		case e.score != old:
			updated++
		default:
			continue
		}
		z.set(e.member, e.score, is)
	}
	if added+updated > 0 {
		if err := z.save(); err != nil {
			return err
		}
	}
	switch {
	case o.incr && score == nil:
		c.Out.Null()
	case o.incr:
		c.Out.Double(plus(*score))
	case o.ch:
		c.Out.Int(int64(added + updated))
	default:
		c.Out.Int(int64(added))
	}
	return nil
}

// refuses reports whether a member is to be left as it is.
func (o *adding) refuses(score, old float64, is bool) bool {
	if !is {
		return o.xx
	}
	return o.nx || o.gt && score <= old || o.lt && score >= old
}

func members(entries []entry) [][]byte {
	all := make([][]byte, len(entries))
	for i, e := range entries {
		all[i] = e.member
	}
	return all
}

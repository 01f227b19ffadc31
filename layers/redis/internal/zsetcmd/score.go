package zsetcmd

import (
	"github.com/strictkv/strictkv/layers/redis/internal/command"
)

func zcard(c *command.Call) error {
	z, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	c.Out.Int(int64(z.n))
	return nil
}

func zscore(c *command.Call) error {
	z, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	return z.tell(c.Args[2])
}

func zmscore(c *command.Call) error {
	z, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	if err := z.look(c.Args[2:]...); err != nil {
		return err
	}
	c.Out.Array(len(c.Args) - 2)
	for _, member := range c.Args[2:] {
		if err := z.tell(member); err != nil {
			return err
		}
	}
	return nil
}

// tell replies the score of a member.
func (z *zset) tell(member []byte) error {
	score, is, err := z.score(member)
	if err != nil {
		return err
	}
	if is {
		z.c.Out.Double(score)
	} else {
		z.c.Out.Null()
	}
	return nil
}

func zcount(c *command.Call) error    { return count(c, byScore) }
func zlexcount(c *command.Call) error { return count(c, byLex) }

func count(c *command.Call, by by) error {
	b, err := parseBounds(by, c.Args[2], c.Args[3])
	if err != nil {
		return err
	}
	z, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	from, to, err := z.span(b)
	if err != nil {
		return err
	}
	c.Out.Int(int64(to - from))
	return nil
}

func zrank(c *command.Call) error    { return rank(c, false) }
func zrevrank(c *command.Call) error { return rank(c, true) }

func rank(c *command.Call, reverse bool) error {
	scored := len(c.Args) == 4
	if len(c.Args) > 4 || scored && !command.Is(c.Args[3], "WITHSCORE") {
		return command.ErrSyntax
	}
	z, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	score, is, err := z.score(c.Args[2])
	if err != nil {
		return err
	}
	if !is {
		if scored {
			c.Out.NullArray()
		} else {
			c.Out.Null()
		}
		return nil
	}
	e := entry{c.Args[2], score}
	at, err := z.rank(func(other entry) bool { return compare(other, e) < 0 })
	if err != nil {
		return err
	}
	if reverse {
		at = z.n - 1 - at
	}
	if scored {
		c.Out.Array(2)
	}
	c.Out.Int(int64(at))
	if scored {
		c.Out.Double(score)
	}
	return nil
}

// reply writes entries, with their scores if they are wanted: in version 3 of the protocol each is
// an array then.
func reply(c *command.Call, entries []entry, scores bool) {
	switch {
	case !scores:
		c.Out.Array(len(entries))
	case c.Out.Version < 3:
		c.Out.Array(2 * len(entries))
	default:
		replyPairs(c, entries)
		return
	}
	for _, e := range entries {
		c.Out.Bulk(e.member)
		if scores {
			c.Out.Double(e.score)
		}
	}
}

// replyPairs writes entries as arrays of a member and its score.
func replyPairs(c *command.Call, entries []entry) {
	c.Out.Array(len(entries))
	for _, e := range entries {
		c.Out.Array(2)
		c.Out.Bulk(e.member)
		c.Out.Double(e.score)
	}
}

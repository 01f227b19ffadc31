package zsetcmd

import (
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

func zrem(c *command.Call) error {
	z, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	if err := z.look(c.Args[2:]...); err != nil {
		return err
	}
	n := 0
	for _, member := range c.Args[2:] {
		_, is, err := z.score(member)
		if err != nil {
			return err
		}
		if is {
			z.remove(member)
			n++
		}
	}
	if n > 0 {
		if err := z.save(); err != nil {
			return err
		}
	}
	c.Out.Int(int64(n))
	return nil
}

func zremrangebyrank(c *command.Call) error  { return removeRange(c, byRank) }
func zremrangebyscore(c *command.Call) error { return removeRange(c, byScore) }
func zremrangebylex(c *command.Call) error   { return removeRange(c, byLex) }

func removeRange(c *command.Call, by by) error {
	o := ranging{key: c.Args[1], by: by, limit: -1}
	if err := o.parseRange(c.Args[2], c.Args[3]); err != nil {
		return err
	}
	z, err := open(c, o.key)
	if err != nil {
		return err
	}
	entries, err := o.of(z)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		if err := z.removeAll(entries); err != nil {
			return err
		}
	}
	c.Out.Int(int64(len(entries)))
	return nil
}

// removeAll removes members, and saves the set.
func (z *zset) removeAll(entries []entry) error {
	if err := z.look(members(entries)...); err != nil {
		return err
	}
	for _, e := range entries {
		z.remove(e.member)
	}
	return z.save()
}

// pop takes the first entries off a set, or the last ones.
func (z *zset) pop(highest bool, count int64) ([]entry, error) {
	n := int(min(count, int64(z.n)))
	from, to := 0, n
	if highest {
		from, to = z.n-n, z.n
	}
	entries, err := z.slice(from, to, highest)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	return entries, z.removeAll(entries)
}

func zpopmin(c *command.Call) error { return popped(c, false) }
func zpopmax(c *command.Call) error { return popped(c, true) }

func popped(c *command.Call, highest bool) error {
	several, count := len(c.Args) > 2, int64(1)
	if len(c.Args) > 3 {
		return command.ErrSyntax
	}
	if several {
		var ok bool
		if count, ok = resp.ParseInt(c.Args[2]); !ok || count < 0 {
			return resp.Error("ERR value is out of range, must be positive")
		}
	}
	z, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	entries, err := z.pop(highest, count)
	if err != nil {
		return err
	}
	if several || len(entries) == 0 {
		reply(c, entries, true)
		return nil
	}
	c.Out.Array(2)
	c.Out.Bulk(entries[0].member)
	c.Out.Double(entries[0].score)
	return nil
}

func zmpop(c *command.Call) error {
	n, ok := resp.ParseInt(c.Args[1])
	if !ok || n <= 0 {
		return resp.Error("ERR numkeys should be greater than 0")
	}
	if n > int64(len(c.Args)-3) {
		return command.ErrSyntax
	}
	at, count := int(n)+2, int64(1)
	highest := command.Is(c.Args[at], "MAX")
	if !highest && !command.Is(c.Args[at], "MIN") {
		return command.ErrSyntax
	}
	switch rest := c.Args[at+1:]; {
	case len(rest) == 0:
	case len(rest) == 2 && command.Is(rest[0], "COUNT"):
		if count, ok = resp.ParseInt(rest[1]); !ok || count <= 0 {
			return resp.Error("ERR count should be greater than 0")
		}
	default:
		return command.ErrSyntax
	}
	for _, key := range c.Args[2:at] {
		z, err := open(c, key)
		if err != nil {
			return err
		}
		if z.absent() {
			continue
		}
		entries, err := z.pop(highest, count)
		if err != nil {
			return err
		}
		c.Out.Array(2)
		c.Out.Bulk(key)
		replyPairs(c, entries)
		return nil
	}
	c.Out.NullArray()
	return nil
}

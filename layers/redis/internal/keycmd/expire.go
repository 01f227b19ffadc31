package keycmd

import (
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

func expire(c *command.Call) error { return expireAt(c, "expire", command.Seconds) }

func pexpire(c *command.Call) error { return expireAt(c, "pexpire", command.Milliseconds) }

func expireat(c *command.Call) error { return expireAt(c, "expireat", command.AtSeconds) }

func pexpireat(c *command.Call) error { return expireAt(c, "pexpireat", command.AtMilliseconds) }

// condition is when a key may get another end.
type condition struct{ nx, xx, gt, lt bool }

func parseCondition(args [][]byte) (o condition, err error) {
	for _, arg := range args {
		switch {
		case command.Is(arg, "NX"):
			o.nx = true
		case command.Is(arg, "XX"):
			o.xx = true
		case command.Is(arg, "GT"):
			o.gt = true
		case command.Is(arg, "LT"):
			o.lt = true
		default:
			return o, resp.Error("ERR Unsupported option " + string(arg))
		}
	}
	switch {
	case o.nx && (o.xx || o.gt || o.lt):
		return o, resp.Error(
			"ERR NX and XX, GT or LT options at the same time are not compatible")
	case o.gt && o.lt:
		return o, resp.Error("ERR GT and LT options at the same time are not compatible")
	}
	return o, nil
}

// allows reports whether an end, 0 for none, may be replaced by another.
func (o condition) allows(old, at int64) bool {
	switch {
	case o.nx && old != 0, o.xx && old == 0, o.gt && (old == 0 || at <= old):
		return false
	}
	return !o.lt || old == 0 || at < old
}

func expireAt(c *command.Call, name string, u command.Unit) error {
	n, err := c.Int(2)
	if err != nil {
		return err
	}
	at, ok := u.At(n, c.Now())
	if !ok {
		return command.ErrExpire(name)
	}
	o, err := parseCondition(c.Args[3:])
	if err != nil {
		return err
	}
	e, err := c.Get(c.Args[1])
	if err != nil {
		return err
	}
	if e.Absent() || !o.allows(e.Expires, at) {
		c.Out.Int(0)
		return nil
	}
	e.Expires = max(at, 1)
	if err := c.Put(c.Args[1], e); err != nil {
		return err
	}
	c.Out.Int(1)
	return nil
}

func persist(c *command.Call) error {
	e, err := c.Get(c.Args[1])
	if err != nil {
		return err
	}
	if e.Absent() || e.Expires == 0 {
		c.Out.Int(0)
		return nil
	}
	e.Expires = 0
	if err := c.Set(c.Args[1], e); err != nil {
		return err
	}
	c.Out.Int(1)
	return nil
}

// What the replies are to when a key ends that is not there, or has no end.
const (
	noKey = -2
	noEnd = -1
)

// end replies when a key ends, as f has it.
func end(c *command.Call, f func(at int64) int64) error {
	e, err := c.Get(c.Args[1])
	switch {
	case err != nil:
		return err
	case e.Absent():
		c.Out.Int(noKey)
	case e.Expires == 0:
		c.Out.Int(noEnd)
	default:
		c.Out.Int(f(e.Expires))
	}
	return nil
}

func ttl(c *command.Call) error {
	return end(c, func(at int64) int64 { return (at - c.Now() + 500) / 1000 })
}

func pttl(c *command.Call) error {
	return end(c, func(at int64) int64 { return at - c.Now() })
}

func expiretime(c *command.Call) error {
	return end(c, func(at int64) int64 { return (at + 500) / 1000 })
}

func pexpiretime(c *command.Call) error {
	return end(c, func(at int64) int64 { return at })
}

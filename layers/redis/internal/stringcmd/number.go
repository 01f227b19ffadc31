package stringcmd

import (
	"math"
	"strconv"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

func incr(c *command.Call) error { return add(c, 1) }

func decr(c *command.Call) error { return add(c, -1) }

func incrby(c *command.Call) error {
	n, err := c.Int(2)
	if err != nil {
		return err
	}
	return add(c, n)
}

func decrby(c *command.Call) error {
	n, err := c.Int(2)
	if err != nil {
		return err
	}
	if n == math.MinInt64 {
		return resp.Error("ERR decrement would overflow")
	}
	return add(c, -n)
}

// add changes the number that a key has, or 0.
func add(c *command.Call, by int64) error {
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	n := int64(0)
	if !e.Absent() {
		var ok bool
		if n, ok = resp.ParseInt(e.Body); !ok {
			return command.ErrNotInt
		}
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return command.ErrOverflow
	}
	n += by
	e.Kind, e.Body = keys.String, strconv.AppendInt(nil, n, 10)
	if err := c.Set(c.Args[1], e); err != nil {
		return err
	}
	c.Out.Int(n)
	return nil
}

func incrbyfloat(c *command.Call) error {
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	if e.Absent() {
		e.Kind, e.Body = keys.String, []byte("0")
	}
	if e.Body, err = command.AddFloat(e.Body, c.Args[2]); err != nil {
		return err
	}
	if err := c.Set(c.Args[1], e); err != nil {
		return err
	}
	c.Out.Bulk(e.Body)
	return nil
}

package stringcmd

import (
	"strconv"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

func incr(c *command.Call) error { return add(c, 1) }

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
	sum := n + by
	if (by > 0) != (sum > n) && by != 0 {
		return command.ErrOverflow
	}
	e.Kind, e.Body = keys.String, strconv.AppendInt(nil, sum, 10)
	if err := c.Set(c.Args[1], e); err != nil {
		return err
	}
	c.Out.Int(sum)
	return nil
}

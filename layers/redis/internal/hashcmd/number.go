package hashcmd

import (
	"math"
	"strconv"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/fields"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

const (
	errNotInt    = resp.Error("ERR hash value is not an integer")
	errNotFloat  = resp.Error("ERR hash value is not a float")
	errIncrement = resp.Error("ERR value is NaN or Infinity")
)

func hincrby(c *command.Call) error {
	by, err := c.Int(3)
	if err != nil {
		return err
	}
	h, err := open(c)
	if err != nil {
		return err
	}
	v, err := h.Value(c.Args[2])
	if err != nil {
		return err
	}
	n := int64(0)
	if v != nil {
		var ok bool
		if n, ok = resp.ParseInt(v); !ok {
			return errNotInt
		}
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return command.ErrOverflow
	}
	sum := strconv.AppendInt(nil, n+by, 10)
	if _, err := h.Put(fields.Pair{Name: c.Args[2], Value: sum}); err != nil {
		return err
	}
	c.Out.Int(n + by)
	return nil
}

func hincrbyfloat(c *command.Call) error {
	by, err := c.Float(3)
	if err != nil {
		return err
	}
	if math.IsInf(by, 0) {
		return errIncrement
	}
	h, err := open(c)
	if err != nil {
		return err
	}
	v, err := h.Value(c.Args[2])
	if err != nil {
		return err
	}
	if v == nil {
		v = []byte("0")
	} else if _, ok := command.ParseFloat(v); !ok {
		return errNotFloat
	}
	sum, err := command.AddFloat(v, c.Args[3])
	if err != nil {
		return err
	}
	if _, err := h.Put(fields.Pair{Name: c.Args[2], Value: sum}); err != nil {
		return err
	}
	c.Out.Bulk(sum)
	return nil
}

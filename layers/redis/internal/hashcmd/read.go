package hashcmd

import (
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/fields"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// open is the hash of the call's key.
func open(c *command.Call) (*fields.Fields, error) {
	return fields.Open(c.Tx, c.Args[1], keys.Hash)
}

// value is that of the field which the call names.
func value(c *command.Call) ([]byte, error) {
	h, err := open(c)
	if err != nil {
		return nil, err
	}
	return h.Value(c.Args[2])
}

// reply writes a value, or that there is none.
func reply(c *command.Call, value []byte) {
	if value == nil {
		c.Out.Null()
		return
	}
	c.Out.Bulk(value)
}

func hget(c *command.Call) error {
	v, err := value(c)
	if err != nil {
		return err
	}
	reply(c, v)
	return nil
}

func hmget(c *command.Call) error {
	h, err := open(c)
	if err != nil {
		return err
	}
	values, err := h.Get(c.Args[2:]...)
	if err != nil {
		return err
	}
	size := 0
	for _, v := range values {
		if size += len(v); size > keys.CopiedMax { // the same long ones many times
			return keys.ErrTooMuch
		}
	}
	c.Out.Array(len(values))
	for _, v := range values {
		reply(c, v)
	}
	return nil
}

func hlen(c *command.Call) error {
	h, err := open(c)
	if err != nil {
		return err
	}
	c.Out.Int(int64(h.Len()))
	return nil
}

func hstrlen(c *command.Call) error {
	v, err := value(c)
	if err != nil {
		return err
	}
	c.Out.Int(int64(len(v)))
	return nil
}

func hexists(c *command.Call) error {
	v, err := value(c)
	if err != nil {
		return err
	}
	if v == nil {
		c.Out.Int(0)
	} else {
		c.Out.Int(1)
	}
	return nil
}

func hgetall(c *command.Call) error {
	h, err := open(c)
	if err != nil {
		return err
	}
	pairs, err := h.All()
	if err != nil {
		return err
	}
	c.Out.Map(len(pairs))
	for _, p := range pairs {
		c.Out.Bulk(p.Name)
		c.Out.Bulk(p.Value)
	}
	return nil
}

func hkeys(c *command.Call) error {
	h, err := open(c)
	if err != nil {
		return err
	}
	names, err := h.Names()
	if err != nil {
		return err
	}
	c.Out.Array(len(names))
	for _, name := range names {
		c.Out.Bulk(name)
	}
	return nil
}

func hvals(c *command.Call) error {
	h, err := open(c)
	if err != nil {
		return err
	}
	pairs, err := h.All()
	if err != nil {
		return err
	}
	c.Out.Array(len(pairs))
	for _, p := range pairs {
		c.Out.Bulk(p.Value)
	}
	return nil
}

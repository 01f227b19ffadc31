package hashcmd

import (
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/fields"
)

func hset(c *command.Call) error {
	added, err := put(c, "hset")
	if err != nil {
		return err
	}
	c.Out.Int(int64(added))
	return nil
}

func hmset(c *command.Call) error {
	if _, err := put(c, "hmset"); err != nil {
		return err
	}
	c.Out.Status("OK")
	return nil
}

// put sets the fields that stand behind the key, and returns how many are new.
func put(c *command.Call, name string) (int, error) {
	if len(c.Args)%2 != 0 {
		return 0, command.WrongNumber(name)
	}
	h, err := open(c)
	if err != nil {
		return 0, err
	}
	pairs := make([]fields.Pair, 0, len(c.Args)/2-1)
	for i := 2; i < len(c.Args); i += 2 {
		pairs = append(pairs, fields.Pair{Name: c.Args[i], Value: c.Args[i+1]})
	}
	return h.Put(pairs...)
}

func hsetnx(c *command.Call) error {
	h, err := open(c)
	if err != nil {
		return err
	}
	v, err := h.Value(c.Args[2])
	if err != nil {
		return err
	}
	if v != nil {
		c.Out.Int(0)
		return nil
	}
	if _, err := h.Put(fields.Pair{Name: c.Args[2], Value: c.Args[3]}); err != nil {
		return err
	}
	c.Out.Int(1)
	return nil
}

func hdel(c *command.Call) error {
	h, err := open(c)
	if err != nil {
		return err
	}
	n, err := h.Delete(c.Args[2:]...)
	if err != nil {
		return err
	}
	c.Out.Int(int64(n))
	return nil
}

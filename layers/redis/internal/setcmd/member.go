package setcmd

import (
	"bytes"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/fields"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// open is the set of the call's key.
func open(c *command.Call) (*fields.Fields, error) {
	return fields.Open(c.Tx, c.Args[1], keys.Set)
}

// pairs are members as fields has them.
func pairs(members [][]byte) []fields.Pair {
	pairs := make([]fields.Pair, len(members))
	for i, m := range members {
		pairs[i].Name = m
	}
	return pairs
}

func sadd(c *command.Call) error {
	s, err := open(c)
	if err != nil {
		return err
	}
	added, err := s.Put(pairs(c.Args[2:])...)
	if err != nil {
		return err
	}
	c.Out.Int(int64(added))
	return nil
}

func srem(c *command.Call) error {
	s, err := open(c)
	if err != nil {
		return err
	}
	n, err := s.Delete(c.Args[2:]...)
	if err != nil {
		return err
	}
	c.Out.Int(int64(n))
	return nil
}

func scard(c *command.Call) error {
	s, err := open(c)
	if err != nil {
		return err
	}
	c.Out.Int(int64(s.Len()))
	return nil
}

func sismember(c *command.Call) error {
	s, err := open(c)
	if err != nil {
		return err
	}
	v, err := s.Value(c.Args[2])
	if err != nil {
		return err
	}
	c.Out.Int(one(v != nil))
	return nil
}

// one is 1 for true, else 0.
func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func smismember(c *command.Call) error {
	s, err := open(c)
	if err != nil {
		return err
	}
	values, err := s.Get(c.Args[2:]...)
	if err != nil {
		return err
	}
	c.Out.Array(len(values))
	for _, v := range values {
		c.Out.Int(one(v != nil))
	}
	return nil
}

func smembers(c *command.Call) error {
	s, err := open(c)
	if err != nil {
		return err
	}
	members, err := s.Names()
	if err != nil {
		return err
	}
	c.Out.Set(len(members))
	list(c, members)
	return nil
}

// list writes members.
func list(c *command.Call, members [][]byte) {
	for _, m := range members {
		c.Out.Bulk(m)
	}
}

func smove(c *command.Call) error {
	from, err := open(c)
	if err != nil {
		return err
	}
	if from.Absent() {
		c.Out.Int(0)
		return nil
	}
	to, err := fields.Open(c.Tx, c.Args[2], keys.Set)
	if err != nil {
		return err
	}
	member := c.Args[3]
	there, err := from.Value(member)
	if err != nil {
		return err
	}
	if there != nil && !bytes.Equal(c.Args[1], c.Args[2]) {
		if _, err := to.Put(fields.Pair{Name: member}); err != nil {
			return err
		}
		if err := from.Remove([][]byte{member}); err != nil {
			return err
		}
	}
	c.Out.Int(one(there != nil))
	return nil
}

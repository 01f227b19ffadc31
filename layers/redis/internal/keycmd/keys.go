package keycmd

import "github.com/strictkv/strictkv/layers/redis/internal/command"

func del(c *command.Call) error {
	n := int64(0)
	for _, name := range c.Args[1:] {
		had, err := c.Delete(name)
		if err != nil {
			return err
		}
		if had {
			n++
		}
	}
	c.Out.Int(n)
	return nil
}

func exists(c *command.Call) error {
	n := int64(0)
	for _, name := range c.Args[1:] {
		e, err := c.Get(name)
		if err != nil {
			return err
		}
		if !e.Absent() {
			n++
		}
	}
	c.Out.Int(n)
	return nil
}

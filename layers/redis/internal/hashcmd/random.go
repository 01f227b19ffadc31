package hashcmd

import (
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/fields"
)

func hrandfield(c *command.Call) error {
	if len(c.Args) == 2 {
		return randomField(c)
	}
	n, again, err := fields.ParseCount(c.Args[2])
	if err != nil {
		return err
	}
	if len(c.Args) > 4 || len(c.Args) == 4 && !command.Is(c.Args[3], "WITHVALUES") {
		return command.ErrSyntax
	}
	h, err := open(c)
	if err != nil {
		return err
	}
	names, err := h.Random(n, again)
	if err != nil {
		return err
	}
	if len(c.Args) == 3 {
		c.Out.Array(len(names))
		for _, name := range names {
			c.Out.Bulk(name)
		}
		return nil
	}
	values, err := h.Get(names...)
	if err != nil {
		return err
	}
	if again {
		if err := fields.Repeatable(values); err != nil {
			return err
		}
	}
	// Version 3 has an array of pairs.
	if c.Out.Version < 3 {
		c.Out.Array(2 * len(names))
	} else {
		c.Out.Array(len(names))
	}
	for i, name := range names {
		if c.Out.Version >= 3 {
			c.Out.Array(2)
		}
		c.Out.Bulk(name)
		c.Out.Bulk(values[i])
	}
	return nil
}

func randomField(c *command.Call) error {
	h, err := open(c)
	if err != nil {
		return err
	}
	names, err := h.Random(1, false)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		c.Out.Null()
		return nil
	}
	c.Out.Bulk(names[0])
	return nil
}

package setcmd

import (
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/fields"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

const errNegative = resp.Error("ERR value is out of range, must be positive")

func spop(c *command.Call) error {
	n := 1
	switch {
	case len(c.Args) > 3:
		return command.ErrSyntax
	case len(c.Args) == 3:
		var again bool
		var err error
		if n, again, err = fields.ParseCount(c.Args[2]); err != nil || again {
			return errNegative
		}
	}
	s, err := open(c)
	if err != nil {
		return err
	}
	members, err := s.Random(n, false)
	if err != nil {
		return err
	}
	if err := s.Remove(members); err != nil {
		return err
	}
	if len(c.Args) == 3 {
		c.Out.Set(len(members))
		list(c, members)
		return nil
	}
	replyOne(c, members)
	return nil
}

// replyOne writes the first member, or that there is none.
func replyOne(c *command.Call, members [][]byte) {
	if len(members) == 0 {
		c.Out.Null()
		return
	}
	c.Out.Bulk(members[0])
}

func srandmember(c *command.Call) error {
	n, again := 1, false
	var err error
	switch {
	case len(c.Args) > 3:
		return command.ErrSyntax
	case len(c.Args) == 3:
		if n, again, err = fields.ParseCount(c.Args[2]); err != nil {
			return err
		}
	}
	s, err := open(c)
	if err != nil {
		return err
	}
	members, err := s.Random(n, again)
	if err != nil {
		return err
	}
	if len(c.Args) == 2 {
		replyOne(c, members)
		return nil
	}
	c.Out.Array(len(members))
	list(c, members)
	return nil
}

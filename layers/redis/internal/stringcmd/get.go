package stringcmd

import (
	"bytes"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// reply writes a string, or that there is none.
func reply(c *command.Call, e *keys.Entry) {
	if e.Absent() {
		c.Out.Null()
		return
	}
	c.Out.Bulk(e.Body)
}

func get(c *command.Call) error {
	e, err := c.Look(c.Args[1])
	if err == nil && e.Kind != keys.String && !e.Absent() {
		err = keys.ErrWrongType
	}
	if err != nil {
		return err
	}
	reply(c, &e)
	return nil
}

func mget(c *command.Call) error {
	c.Out.Array(len(c.Args) - 1)
	for _, name := range c.Args[1:] {
		e, err := c.Look(name)
		if err != nil {
			return err
		}
		if e.Kind != keys.String {
			e = keys.Entry{}
		}
		reply(c, &e)
	}
	return nil
}

func getdel(c *command.Call) error {
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	if !e.Absent() {
		if _, err := c.Delete(c.Args[1]); err != nil {
			return err
		}
	}
	reply(c, &e)
	return nil
}

func getex(c *command.Call) error {
	var at int64
	persist := len(c.Args) == 3 && command.Is(c.Args[2], "PERSIST")
	if len(c.Args) > 2 && !persist {
		unit, ok := command.ParseUnit(c.Args[2])
		if !ok || len(c.Args) != 4 {
			return command.ErrSyntax
		}
		var err error
		if at, err = c.Expiry("getex", 3, unit); err != nil {
			return err
		}
	}
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	if !e.Absent() && (at != 0 || persist && e.Expires != 0) {
		e.Expires = at
		if err := c.Put(c.Args[1], e); err != nil {
			return err
		}
	}
	reply(c, &e)
	return nil
}

func strlen(c *command.Call) error {
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	c.Out.Int(int64(len(e.Body)))
	return nil
}

func appendTo(c *command.Call) error {
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	if len(e.Body)+len(c.Args[2]) > keys.StringMax {
		return keys.ErrTooLong
	}
	e.Kind, e.Body = keys.String, append(e.Body, c.Args[2]...)
	if err := c.Set(c.Args[1], e); err != nil {
		return err
	}
	c.Out.Int(int64(len(e.Body)))
	return nil
}

func getrange(c *command.Call) error {
	start, err := c.Int(2)
	if err != nil {
		return err
	}
	end, err := c.Int(3)
	if err != nil {
		return err
	}
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	if start < 0 && end < 0 && start > end {
		c.Out.String("")
		return nil
	}
	from, to := command.Between(start, max(end, -int64(len(e.Body))), len(e.Body))
	c.Out.Bulk(e.Body[from:to])
	return nil
}

func setrange(c *command.Call) error {
	offset, err := c.Int(2)
	if err != nil {
		return err
	}
	if offset < 0 {
		return resp.Error("ERR offset is out of range")
	}
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	part := c.Args[3]
	if len(part) == 0 {
		c.Out.Int(int64(len(e.Body)))
		return nil
	}
	if offset > keys.StringMax-int64(len(part)) {
		return keys.ErrTooLong
	}
	e.Kind, e.Body = keys.String, grown(e.Body, int(offset)+len(part))
	copy(e.Body[offset:], part)
	if err := c.Set(c.Args[1], e); err != nil {
		return err
	}
	c.Out.Int(int64(len(e.Body)))
	return nil
}

// grown is a string with zeros behind it, so that it is at least n bytes long.
func grown(s []byte, n int) []byte {
	if n <= len(s) {
		return s
	}
	return append(s, bytes.Repeat([]byte{0}, n-len(s))...)
}

package stringcmd

import (
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
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
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	reply(c, &e)
	return nil
}

func set(c *command.Call) error {
	o, err := parseSet(c)
	if err != nil {
		return err
	}
	old, err := c.Get(c.Args[1])
	if err != nil {
		return err
	}
	if o.get && !old.Absent() && old.Kind != keys.String {
		return keys.ErrWrongType
	}
	refused := o.nx && !old.Absent() || o.xx && old.Absent()
	if !refused {
		e := keys.Entry{Kind: keys.String, Body: c.Args[2], Expires: o.expires}
		if o.keep {
			e.Expires = old.Expires
		}
		if err := write(c, c.Args[1], e); err != nil {
			return err
		}
	}
	switch {
	case o.get:
		reply(c, &old)
	case refused:
		c.Out.Null()
	default:
		c.Out.Status("OK")
	}
	return nil
}

// write sets a value, or deletes the key if that is due already.
func write(c *command.Call, key []byte, e keys.Entry) error {
	if e.Expires != 0 && e.Expires <= c.Now() {
		_, err := c.Delete(key)
		return err
	}
	return c.Set(key, e)
}

// setOptions are those of SET.
type setOptions struct {
	nx, xx, get, keep bool
	expires           int64
}

func parseSet(c *command.Call) (o setOptions, err error) {
	timed := false
	for i := 3; i < len(c.Args); i++ {
		arg := c.Args[i]
		switch {
		case command.Is(arg, "NX") && !o.xx:
			o.nx = true
		case command.Is(arg, "XX") && !o.nx:
			o.xx = true
		case command.Is(arg, "GET"):
			o.get = true
		case command.Is(arg, "KEEPTTL") && !timed:
			o.keep = true
		default:
			unit, ok := command.ParseUnit(arg)
			if !ok || timed || o.keep || i+1 >= len(c.Args) {
				return o, command.ErrSyntax
			}
			i++
			timed = true
			if o.expires, err = c.Expiry("set", i, unit); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

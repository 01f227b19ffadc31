package stringcmd

import (
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

func set(c *command.Call) error {
	o, err := parseSet(c)
	if err != nil {
		return err
	}
	old, err := c.Look(c.Args[1])
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
		if err := c.Put(c.Args[1], e); err != nil {
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

func setnx(c *command.Call) error {
	old, err := c.Look(c.Args[1])
	if err != nil {
		return err
	}
	if !old.Absent() {
		c.Out.Int(0)
		return nil
	}
	if err := c.Set(c.Args[1], keys.Entry{Kind: keys.String, Body: c.Args[2]}); err != nil {
		return err
	}
	c.Out.Int(1)
	return nil
}

func setex(c *command.Call) error { return setUntil(c, "setex", command.Seconds) }

func psetex(c *command.Call) error { return setUntil(c, "psetex", command.Milliseconds) }

func setUntil(c *command.Call, name string, u command.Unit) error {
	at, err := c.Expiry(name, 2, u)
	if err != nil {
		return err
	}
	e := keys.Entry{Kind: keys.String, Body: c.Args[3], Expires: at}
	if err := c.Put(c.Args[1], e); err != nil {
		return err
	}
	c.Out.Status("OK")
	return nil
}

func getset(c *command.Call) error {
	old, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	if err := c.Set(c.Args[1], keys.Entry{Kind: keys.String, Body: c.Args[2]}); err != nil {
		return err
	}
	reply(c, &old)
	return nil
}

func mset(c *command.Call) error {
	if len(c.Args)%2 == 0 {
		return command.WrongNumber("mset")
	}
	for i := 1; i < len(c.Args); i += 2 {
		if err := fits(c.Args[i], c.Args[i+1]); err != nil {
			return err
		}
	}
	for i := 1; i < len(c.Args); i += 2 {
		e := keys.Entry{Kind: keys.String, Body: c.Args[i+1]}
		if err := c.Set(c.Args[i], e); err != nil {
			return err
		}
	}
	c.Out.Status("OK")
	return nil
}

// fits tells what is wrong with a key and a value before any of several is written.
func fits(name, value []byte) error {
	switch {
	case len(name) > keys.NameMax:
		return keys.ErrNameTooLong
	case len(value) > keys.StringMax:
		return keys.ErrTooLong
	}
	return nil
}

func msetnx(c *command.Call) error {
	if len(c.Args)%2 == 0 {
		return command.WrongNumber("msetnx")
	}
	for i := 1; i < len(c.Args); i += 2 {
		if err := fits(c.Args[i], c.Args[i+1]); err != nil {
			return err
		}
		e, err := c.Get(c.Args[i])
		if err != nil {
			return err
		}
		if !e.Absent() {
			c.Out.Int(0)
			return nil
		}
	}
	for i := 1; i < len(c.Args); i += 2 {
		e := keys.Entry{Kind: keys.String, Body: c.Args[i+1]}
		if err := c.Set(c.Args[i], e); err != nil {
			return err
		}
	}
	c.Out.Int(1)
	return nil
}

package keycmd

import (
	"bytes"
	"errors"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

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

func typeOf(c *command.Call) error {
	e, err := c.Get(c.Args[1])
	if err != nil {
		return err
	}
	c.Out.Status(e.Kind.String())
	return nil
}

func rename(c *command.Call) error {
	if _, err := moved(c, c.Number(), c.Args[2], true); err != nil {
		return err
	}
	c.Out.Status("OK")
	return nil
}

func renamenx(c *command.Call) error {
	done, err := moved(c, c.Number(), c.Args[2], false)
	if err != nil {
		return err
	}
	c.Out.Int(truth(done))
	return nil
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// moved gives the value of the first key to another, and reports whether it has: not if that has
// one which is not to be replaced, or is the same key.
func moved(c *command.Call, n int, to []byte, replace bool) (bool, error) {
	e, err := c.Get(c.Args[1])
	if err != nil {
		return false, err
	}
	if e.Absent() {
		return false, command.ErrNoKey
	}
	if n == c.Number() && bytes.Equal(c.Args[1], to) {
		return false, nil
	}
	there, err := c.In(n).Get(to)
	if err != nil || !there.Absent() && !replace {
		return false, err
	}
	return true, c.Move(c.Args[1], n, to)
}

// database is the argument that names a database.
func database(arg []byte) (int, error) {
	n, ok := resp.ParseInt(arg)
	if !ok {
		return 0, command.ErrNotInt
	}
	if n < 0 || n >= keys.Databases {
		return 0, resp.Error("ERR DB index is out of range")
	}
	return int(n), nil
}

const errSame = resp.Error("ERR source and destination objects are the same")

func move(c *command.Call) error {
	n, err := database(c.Args[2])
	if err != nil {
		return err
	}
	if n == c.Number() {
		return errSame
	}
	done, err := moved(c, n, c.Args[1], false)
	if err != nil && !errors.Is(err, command.ErrNoKey) {
		return err
	}
	c.Out.Int(truth(done))
	return nil
}

func copyTo(c *command.Call) error {
	n, replace := c.Number(), false
	for i := 3; i < len(c.Args); i++ {
		switch {
		case command.Is(c.Args[i], "REPLACE"):
			replace = true
		case command.Is(c.Args[i], "DB") && i+1 < len(c.Args):
			i++
			var err error
			if n, err = database(c.Args[i]); err != nil {
				return err
			}
		default:
			return command.ErrSyntax
		}
	}
	if n == c.Number() && bytes.Equal(c.Args[1], c.Args[2]) {
		return errSame
	}
	e, err := c.Get(c.Args[1])
	if err != nil {
		return err
	}
	there, err := c.In(n).Get(c.Args[2])
	if err != nil {
		return err
	}
	if e.Absent() || !there.Absent() && !replace {
		c.Out.Int(0)
		return nil
	}
	if err := c.Copy(c.Args[1], n, c.Args[2]); err != nil {
		return err
	}
	c.Out.Int(1)
	return nil
}

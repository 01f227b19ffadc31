package command

import (
	"math"

	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// Unit is how a time to expire at is given.
type Unit struct {
	seconds  bool // else milliseconds
	absolute bool // else from now on
}

// The units.
var (
	Seconds        = Unit{seconds: true}
	Milliseconds   = Unit{}
	AtSeconds      = Unit{seconds: true, absolute: true}
	AtMilliseconds = Unit{absolute: true}
)

// ParseUnit is what EX, PX, EXAT or PXAT stands for.
func ParseUnit(arg []byte) (Unit, bool) {
	switch {
	case Is(arg, "EX"):
		return Seconds, true
	case Is(arg, "PX"):
		return Milliseconds, true
	case Is(arg, "EXAT"):
		return AtSeconds, true
	case Is(arg, "PXAT"):
		return AtMilliseconds, true
	}
	return Unit{}, false
}

// At is the time that n units stand for, in milliseconds since 1970, and whether that is one.
func (u Unit) At(n, now int64) (int64, bool) {
	if u.seconds {
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return 0, false
		}
		n *= 1000
	}
	if u.absolute {
		return n, true
	}
	if n > math.MaxInt64-now {
		return 0, false
	}
	return n + now, true
}

// Expiry is the argument of a command that gives a value an end: a time to come, or one that has
// passed, in milliseconds since 1970. What is not above 0 is refused.
func (c *Call) Expiry(name string, i int, u Unit) (int64, error) {
	n, err := c.Int(i)
	if err != nil {
		return 0, err
	}
	at, ok := u.At(n, c.Now())
	if n <= 0 || !ok {
		return 0, ErrExpire(name)
	}
	return at, nil
}

// ErrExpire is the reply to an end that can't be.
func ErrExpire(name string) resp.Error {
	return resp.Error("ERR invalid expire time in '" + name + "' command")
}

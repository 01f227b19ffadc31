package stringcmd

import (
	"math"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// field is an integer among the bits of a string.
type field struct {
	signed bool
	width  int64 // bits
	at     int64
}

// overflow says what becomes of a number that does not fit.
type overflow uint8

const (
	wrap overflow = iota
	saturate
	fail
)

// fieldOp is one step of BITFIELD.
type fieldOp struct {
	field
	kind  byte // g, s or i
	value int64
	over  overflow
}

const errFieldType = resp.Error("ERR Invalid bitfield type. Use something like i16 u8. " +
	"Note that u64 is not supported but i64 is.")

// parseField reads a type, such as u8, and an offset, such as 16 or #2.
func parseField(kind, at []byte) (f field, err error) {
	if len(kind) < 2 || kind[0] != 'i' && kind[0] != 'u' {
		return f, errFieldType
	}
	f.signed = kind[0] == 'i'
	widest := int64(63)
	if f.signed {
		widest = 64
	}
	var ok bool
	if f.width, ok = resp.ParseInt(kind[1:]); !ok || f.width < 1 || f.width > widest {
		return f, errFieldType
	}
	times := int64(1)
	if len(at) > 0 && at[0] == '#' {
		times, at = f.width, at[1:]
	}
	if f.at, err = offset(at); err != nil {
		return f, err
	}
	f.at *= times
	if f.at+f.width > keys.StringMax*8 {
		return f, errBitOffset
	}
	return f, nil
}

// parseFields reads the steps of BITFIELD.
func parseFields(args [][]byte, readOnly bool) (ops []fieldOp, err error) {
	over := wrap
	for i := 0; i < len(args); {
		op := fieldOp{over: over}
		rest := len(args) - i - 1
		switch {
		case command.Is(args[i], "GET") && rest >= 2:
			op.kind = 'g'
		case readOnly && rest >= 2:
			return nil, resp.Error("ERR BITFIELD_RO only supports the GET subcommand")
		case command.Is(args[i], "SET") && rest >= 3:
			op.kind = 's'
		case command.Is(args[i], "INCRBY") && rest >= 3:
			op.kind = 'i'
		case command.Is(args[i], "OVERFLOW") && rest >= 1:
			if over, err = parseOverflow(args[i+1]); err != nil {
				return nil, err
			}
			i += 2
			continue
		default:
			return nil, command.ErrSyntax
		}
		if op.field, err = parseField(args[i+1], args[i+2]); err != nil {
			return nil, err
		}
		i += 3
		if op.kind != 'g' {
			var ok bool
			if op.value, ok = resp.ParseInt(args[i]); !ok {
				return nil, command.ErrNotInt
			}
			i++
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func parseOverflow(arg []byte) (overflow, error) {
	switch {
	case command.Is(arg, "WRAP"):
		return wrap, nil
	case command.Is(arg, "SAT"):
		return saturate, nil
	case command.Is(arg, "FAIL"):
		return fail, nil
	}
	return 0, resp.Error("ERR Invalid OVERFLOW type specified")
}

// read is the field's number.
func (f field) read(s []byte) int64 {
	var v uint64
	for i := range f.width {
		v = v<<1 | uint64(bit(s, f.at+i))
	}
	return f.extended(v)
}

// extended is the number that the lowest bits stand for.
func (f field) extended(v uint64) int64 {
	if f.signed {
		return int64(v<<(64-f.width)) >> (64 - f.width)
	}
	return int64(v & (1<<f.width - 1))
}

// write sets the field's bits, which s is long enough for.
func (f field) write(s []byte, v int64) {
	for i := range f.width {
		at := f.at + i
		mask := byte(1) << (7 - at%8)
		if v>>(f.width-1-i)&1 == 1 {
			s[at/8] |= mask
		} else {
			s[at/8] &^= mask
		}
	}
}

// bounds are the least and the greatest number of the field.
func (f field) bounds() (low, high int64) {
	if f.signed {
		high = int64(1)<<(f.width-1) - 1
		return -high - 1, high
	}
	return 0, int64(1)<<f.width - 1
}

// sum is what the field holds after an addition; false if nothing may change.
func (f field) sum(v, by int64, over overflow) (int64, bool) {
	low, high := f.bounds()
	above := by > 0 && v > high-by || v > high
	below := by < 0 && (v < math.MinInt64-by || v+by < low) || v < low
	switch {
	case !above && !below:
		return v + by, true
	case over == fail:
		return 0, false
	case over == wrap:
		return f.extended(uint64(v) + uint64(by)), true
	case above:
		return high, true
	}
	return low, true
}

func bitfield(c *command.Call) error { return runFields(c, false) }

func bitfieldRO(c *command.Call) error { return runFields(c, true) }

func runFields(c *command.Call, readOnly bool) error {
	ops, err := parseFields(c.Args[2:], readOnly)
	if err != nil {
		return err
	}
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	changed := false
	c.Out.Array(len(ops))
	for _, op := range ops {
		old := op.read(e.Body)
		if op.kind == 'g' {
			c.Out.Int(old)
			continue
		}
		reply, next, ok := old, int64(0), false
		if op.kind == 's' {
			next, ok = op.sum(op.value, 0, op.over)
		} else {
			next, ok = op.sum(old, op.value, op.over)
			reply = next
		}
		if !ok {
			c.Out.Null()
			continue
		}
		e.Kind, changed = keys.String, true
		e.Body = grown(e.Body, int(op.at+op.width+7)/8)
		op.write(e.Body, next)
		c.Out.Int(reply)
	}
	if !changed {
		return nil
	}
	return c.Set(c.Args[1], e)
}

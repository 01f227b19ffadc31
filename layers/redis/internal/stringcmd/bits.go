package stringcmd

import (
	"math/bits"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

const (
	errBitOffset = resp.Error("ERR bit offset is not an integer or out of range")
	errBit       = resp.Error("ERR bit is not an integer or out of range")
)

// offset is the argument that names a bit.
func offset(arg []byte) (int64, error) {
	n, ok := resp.ParseInt(arg)
	if !ok || n < 0 || n >= keys.StringMax*8 {
		return 0, errBitOffset
	}
	return n, nil
}

// bit is the one at a place, the highest of a byte first; 0 behind the end.
func bit(s []byte, at int64) int64 {
	if at/8 >= int64(len(s)) {
		return 0
	}
	return int64(s[at/8] >> (7 - at%8) & 1)
}

func setbit(c *command.Call) error {
	at, err := offset(c.Args[2])
	if err != nil {
		return err
	}
	if v := string(c.Args[3]); v != "0" && v != "1" {
		return errBit
	}
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	old := bit(e.Body, at)
	e.Kind, e.Body = keys.String, grown(e.Body, int(at/8)+1)
	mask := byte(1) << (7 - at%8)
	if c.Args[3][0] == '1' {
		e.Body[at/8] |= mask
	} else {
		e.Body[at/8] &^= mask
	}
	if err := c.Set(c.Args[1], e); err != nil {
		return err
	}
	c.Out.Int(old)
	return nil
}

func getbit(c *command.Call) error {
	at, err := offset(c.Args[2])
	if err != nil {
		return err
	}
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	c.Out.Int(bit(e.Body, at))
	return nil
}

// bitRange is a range of bits, from one to before another.
type bitRange struct{ from, to int64 }

// bitsOf reads the arguments from i on: nothing, or a start, an end, and of what these count.
func bitsOf(c *command.Call, i int, size int) (r bitRange, err error) {
	if len(c.Args) <= i {
		return bitRange{0, int64(size) * 8}, nil
	}
	start, err := c.Int(i)
	if err != nil {
		return r, err
	}
	end := int64(-1)
	if len(c.Args) > i+1 {
		if end, err = c.Int(i + 1); err != nil {
			return r, err
		}
	}
	unit := 8
	switch {
	case len(c.Args) > i+3:
		return r, command.ErrSyntax
	case len(c.Args) == i+3 && command.Is(c.Args[i+2], "BIT"):
		unit = 1
	case len(c.Args) == i+3 && !command.Is(c.Args[i+2], "BYTE"):
		return r, command.ErrSyntax
	}
	from, to := command.Between(start, end, size*8/unit)
	return bitRange{int64(from * unit), int64(to * unit)}, nil
}

func bitcount(c *command.Call) error {
	if len(c.Args) == 3 {
		return command.ErrSyntax
	}
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	r, err := bitsOf(c, 2, len(e.Body))
	if err != nil {
		return err
	}
	n := 0
	for at := r.from; at < r.to; {
		if at%8 == 0 && at+8 <= r.to {
			n += bits.OnesCount8(e.Body[at/8])
			at += 8
			continue
		}
		n += int(bit(e.Body, at))
		at++
	}
	c.Out.Int(int64(n))
	return nil
}

func bitpos(c *command.Call) error {
	want, ok := resp.ParseInt(c.Args[2])
	if !ok {
		return command.ErrNotInt
	}
	if want != 0 && want != 1 {
		return resp.Error("ERR The bit argument must be 1 or 0.")
	}
	e, err := c.Value(c.Args[1], keys.String)
	if err != nil {
		return err
	}
	r, err := bitsOf(c, 3, len(e.Body))
	if err != nil {
		return err
	}
	if e.Absent() {
		c.Out.Int(-want)
		return nil
	}
	c.Out.Int(find(e.Body, r, want, len(c.Args) > 4))
	return nil
}

// find is the first bit of a range that is as wanted; -1 if none is. Behind a string whose end was
// not given, zeros go on.
func find(s []byte, r bitRange, want int64, ended bool) int64 {
	skip := byte(0xff)
	if want == 1 {
		skip = 0
	}
	for at := r.from; at < r.to; {
		if at%8 == 0 && at+8 <= r.to && s[at/8] == skip {
			at += 8
			continue
		}
		if bit(s, at) == want {
			return at
		}
		at++
	}
	if want == 0 && !ended && (r.from < r.to || len(s) == 0) {
		return r.to
	}
	return -1
}

func bitop(c *command.Call) error {
	op := c.Args[1]
	not := command.Is(op, "NOT")
	if !not && !command.Is(op, "AND") && !command.Is(op, "OR") && !command.Is(op, "XOR") {
		return command.ErrSyntax
	}
	if not && len(c.Args) != 4 {
		return resp.Error("ERR BITOP NOT must be called with a single source key.")
	}
	var sources [][]byte
	size := 0
	for _, name := range c.Args[3:] {
		e, err := c.Value(name, keys.String)
		if err != nil {
			return err
		}
		sources = append(sources, e.Body)
		size = max(size, len(e.Body))
	}
	if size == 0 {
		if _, err := c.Delete(c.Args[2]); err != nil {
			return err
		}
		c.Out.Int(0)
		return nil
	}
	out := grown(sources[0], size)
	if not {
		for i := range out {
			out[i] = ^out[i]
		}
	}
	for _, s := range sources[1:] {
		combine(op[0]|0x20, out, s)
	}
	if err := c.Set(c.Args[2], keys.Entry{Kind: keys.String, Body: out}); err != nil {
		return err
	}
	c.Out.Int(int64(size))
	return nil
}

// combine changes out by the operator that begins with a letter. Behind its end s has zeros.
func combine(op byte, out, s []byte) {
	for i := range out {
		b := byte(0)
		if i < len(s) {
			b = s[i]
		}
		switch op {
		case 'a':
			out[i] &= b
		case 'o':
			out[i] |= b
		default:
			out[i] ^= b
		}
	}
}

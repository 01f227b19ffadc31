package command

import (
	"strconv"

	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

const (
	// countDefault is how many elements SCAN and its like go through in one call, countMax at most.
	countDefault = 10
	countMax     = 10_000
)

// ErrCursor is the reply to a cursor that is no number.
const ErrCursor = resp.Error("ERR invalid cursor")

// ErrCursorGone is the reply to a cursor that is unknown.
const ErrCursorGone = resp.Error(
	"ERR unknown cursor: it is another server's, or was used too long ago: begin again with 0")

// Scan is what SCAN, HSCAN, SSCAN and ZSCAN are asked for.
type Scan struct {
	Cursor   uint64
	Pattern  []byte // nil is any
	Count    int
	Type     []byte // nil is any
	NoValues bool
}

// ParseScan reads the arguments from the cursor on. Only SCAN has a type, only HSCAN no values.
func ParseScan(args [][]byte) (o Scan, err error) {
	o.Count = countDefault
	if o.Cursor, err = strconv.ParseUint(string(args[0]), 10, 64); err != nil {
		return o, ErrCursor
	}
	for i := 1; i < len(args); i++ {
		switch {
		case Is(args[i], "NOVALUES"):
			o.NoValues = true
			continue
		case i+1 >= len(args):
			return o, ErrSyntax
		case Is(args[i], "MATCH"):
			o.Pattern = args[i+1]
		case Is(args[i], "TYPE"):
			o.Type = args[i+1]
		case Is(args[i], "COUNT"):
			n, ok := resp.ParseInt(args[i+1])
			if !ok {
				return o, ErrNotInt
			}
			if n < 1 {
				return o, ErrSyntax
			}
			o.Count = int(min(n, countMax))
		default:
			return o, ErrSyntax
		}
		i++
	}
	return o, nil
}

// Wants reports whether a name is what the pattern stands for.
func (o *Scan) Wants(name []byte) bool { return o.Pattern == nil || Match(o.Pattern, name) }

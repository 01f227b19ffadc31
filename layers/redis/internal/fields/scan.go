package fields

import (
	"errors"
	"strconv"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// Scan is HSCAN or SSCAN. As in Redis, what is wrong with the options is told only if there is
// something to scan.
func Scan(c *command.Call, k keys.Kind) error {
	o, wrong := command.ParseScan(c.Args[2:])
	if errors.Is(wrong, command.ErrCursor) {
		return wrong
	}
	f, err := Open(c.Tx, c.Args[1], k)
	if err != nil {
		return err
	}
	var found []Pair
	next := uint64(0)
	if !f.Absent() {
		if wrong != nil {
			return wrong
		}
		if o.Type != nil || o.NoValues && k != keys.Hash {
			return command.ErrSyntax
		}
		page, at, err := f.Page(o.Cursor, o.Count, k == keys.Hash && !o.NoValues)
		if err != nil {
			return err
		}
		next = at
		for _, p := range page {
			if o.Wants(p.Name) {
				found = append(found, p)
			}
		}
	}
	c.Out.Array(2)
	c.Out.String(strconv.FormatUint(next, 10))
	if k != keys.Hash || o.NoValues {
		c.Out.Array(len(found))
		for _, p := range found {
			c.Out.Bulk(p.Name)
		}
		return nil
	}
	c.Out.Array(2 * len(found))
	for _, p := range found {
		c.Out.Bulk(p.Name)
		c.Out.Bulk(p.Value)
	}
	return nil
}

package listcmd

import (
	"bytes"
	"slices"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

func lset(c *command.Call) error {
	l, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	if l.absent() {
		return command.ErrNoKey
	}
	index, ok, err := l.index(c, 2)
	if err != nil {
		return err
	}
	if !ok {
		return resp.Error("ERR index out of range")
	}
	if err := l.set(index, c.Args[3]); err != nil {
		return err
	}
	if !l.entry.Large {
		if err := l.save(); err != nil {
			return err
		}
	}
	c.Out.Status("OK")
	return nil
}

func ltrim(c *command.Call) error {
	from, to, l, err := bounded(c)
	if err != nil {
		return err
	}
	if from > 0 || to < l.len() {
		if err := l.trim(from, to); err != nil {
			return err
		}
		if err := l.save(); err != nil {
			return err
		}
	}
	c.Out.Status("OK")
	return nil
}

func linsert(c *command.Call) error {
	after := command.Is(c.Args[2], "AFTER")
	if !after && !command.Is(c.Args[2], "BEFORE") {
		return command.ErrSyntax
	}
	l, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	if l.absent() {
		c.Out.Int(0)
		return nil
	}
	at := -1
	err = l.each(false, func(index int, item []byte) bool {
		if bytes.Equal(item, c.Args[3]) {
			at = index
		}
		return at < 0
	})
	if err != nil {
		return err
	}
	if at < 0 {
		c.Out.Int(-1)
		return nil
	}
	if after {
		at++
	}
	if err := l.insert(at, c.Args[4]); err != nil {
		return err
	}
	if err := l.save(); err != nil {
		return err
	}
	c.Out.Int(int64(l.len()))
	return nil
}

// insert puts an item before the element with an index, or behind the last.
func (l *list) insert(at int, item []byte) error {
	n := l.len()
	left := at < n-at
	from, to := at, n
	if left {
		from, to = 0, at
	}
	if l.entry.Large && to-from >= keys.WritesMax {
		return keys.ErrTooMany
	}
	side, err := l.slice(from, to)
	if err != nil {
		return err
	}
	if left {
		return l.replaceFirst(at, append(side, item))
	}
	return l.replaceLast(n-at, slices.Insert(side, 0, item))
}

func lrem(c *command.Call) error {
	count, err := c.Int(2)
	if err != nil {
		return err
	}
	l, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	var found []int
	most := max(count, -count)
	err = l.each(count < 0, func(index int, item []byte) bool {
		if bytes.Equal(item, c.Args[3]) {
			found = append(found, index)
		}
		return count == 0 || int64(len(found)) != most
	})
	if err != nil {
		return err
	}
	if len(found) > 0 {
		slices.Sort(found)
		if err := l.remove(found); err != nil {
			return err
		}
		if err := l.save(); err != nil {
			return err
		}
	}
	c.Out.Int(int64(len(found)))
	return nil
}

// remove takes out the elements with indexes, which are in order.
func (l *list) remove(indexes []int) error {
	n := l.len()
	from, to := indexes[0], n
	left := indexes[len(indexes)-1]+1 < n-from
	if left {
		from, to = 0, indexes[len(indexes)-1]+1
	}
	rewrites := l.entry.Large && to-from > keys.WritesMax
	if rewrites {
		from, to = 0, n
		if n-len(indexes) > keys.WritesMax {
			return keys.ErrTooMany
		}
	}
	side, err := l.slice(from, to)
	if err != nil {
		return err
	}
	kept := side[:0]
	for i, item := range side {
		if _, gone := slices.BinarySearch(indexes, from+i); !gone {
			kept = append(kept, item)
		}
	}
	switch {
	case rewrites:
		l.shrink(kept)
		return nil
	case left:
		return l.replaceFirst(to, kept)
	}
	return l.replaceLast(n-from, kept)
}

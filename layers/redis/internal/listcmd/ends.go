package listcmd

import (
	"slices"
	"strings"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

func lpush(c *command.Call) error  { return push(c, true, false) }
func rpush(c *command.Call) error  { return push(c, false, false) }
func lpushx(c *command.Call) error { return push(c, true, true) }
func rpushx(c *command.Call) error { return push(c, false, true) }

// push adds the arguments at an end, one after the other; only to a list that is there, if that is
// asked for.
func push(c *command.Call, left, there bool) error {
	l, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	if l.absent() && there {
		c.Out.Int(0)
		return nil
	}
	if err := l.push(left, c.Args[2:]...); err != nil {
		return err
	}
	if err := l.save(); err != nil {
		return err
	}
	c.Out.Int(int64(l.len()))
	return nil
}

// push adds items at an end, one after the other.
func (l *list) push(left bool, items ...[]byte) error {
	if !left {
		return l.replaceLast(0, items)
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	return l.replaceFirst(0, items)
}

// pop takes the n outermost elements off an end, the outermost first. The list must have them.
func (l *list) pop(left bool, n int) ([][]byte, error) {
	if left {
		items, err := l.slice(0, n)
		if err != nil {
			return nil, err
		}
		return items, l.trim(n, l.len())
	}
	items, err := l.slice(l.len()-n, l.len())
	if err != nil {
		return nil, err
	}
	slices.Reverse(items)
	return items, l.trim(0, l.len()-n)
}

// trim keeps the elements from one index to below another. If these are few, and those that go are
// not, it writes anew what is kept.
func (l *list) trim(from, to int) error {
	n := l.len()
	if gone := n - (to - from); l.entry.Large && gone > keys.WritesMax {
		if to-from > keys.WritesMax {
			return keys.ErrTooMany
		}
		kept, err := l.slice(from, to)
		if err == nil {
			l.shrink(kept)
		}
		return err
	}
	if err := l.replaceLast(n-to, nil); err != nil {
		return err
	}
	return l.replaceFirst(from, nil)
}

const errPositive = resp.Error("ERR value is out of range, must be positive")

func lpop(c *command.Call) error { return popped(c, true) }
func rpop(c *command.Call) error { return popped(c, false) }

// popped is LPOP and RPOP: of one element, or of several as an array.
func popped(c *command.Call, left bool) error {
	several := len(c.Args) > 2
	count := int64(1)
	if several {
		var ok bool
		if len(c.Args) > 3 {
			return command.WrongNumber(strings.ToLower(string(c.Args[0])))
		}
		if count, ok = resp.ParseInt(c.Args[2]); !ok || count < 0 {
			return errPositive
		}
	}
	l, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	switch {
	case l.absent() && several:
		c.Out.NullArray()
		return nil
	case l.absent():
		c.Out.Null()
		return nil
	case count == 0:
		c.Out.Array(0)
		return nil
	}
	items, err := take(l, left, count)
	if err != nil {
		return err
	}
	if several {
		c.Out.Array(len(items))
	}
	for _, item := range items {
		c.Out.Bulk(item)
	}
	return nil
}

// take is pop of as many as there are, and saves the list.
func take(l *list, left bool, count int64) ([][]byte, error) {
	items, err := l.pop(left, int(min(count, int64(l.len()))))
	if err != nil {
		return nil, err
	}
	return items, l.save()
}

// end is what LEFT or RIGHT stands for.
func end(arg []byte) (left bool, err error) {
	switch {
	case command.Is(arg, "LEFT"):
		return true, nil
	case command.Is(arg, "RIGHT"):
		return false, nil
	}
	return false, command.ErrSyntax
}

func lmpop(c *command.Call) error {
	n, ok := resp.ParseInt(c.Args[1])
	if !ok || n <= 0 {
		return resp.Error("ERR numkeys should be greater than 0")
	}
	if n > int64(len(c.Args)-3) {
		return command.ErrSyntax
	}
	at := int(n) + 2
	left, err := end(c.Args[at])
	if err != nil {
		return err
	}
	count := int64(1)
	switch rest := c.Args[at+1:]; {
	case len(rest) == 0:
	case len(rest) == 2 && command.Is(rest[0], "COUNT"):
		if count, ok = resp.ParseInt(rest[1]); !ok || count <= 0 {
			return resp.Error("ERR count should be greater than 0")
		}
	default:
		return command.ErrSyntax
	}
	for _, key := range c.Args[2:at] {
		l, err := open(c, key)
		if err != nil {
			return err
		}
		if l.absent() {
			continue
		}
		items, err := take(l, left, count)
		if err != nil {
			return err
		}
		c.Out.Array(2)
		c.Out.Bulk(key)
		all(c, items)
		return nil
	}
	c.Out.NullArray()
	return nil
}

func all(c *command.Call, items [][]byte) {
	c.Out.Array(len(items))
	for _, item := range items {
		c.Out.Bulk(item)
	}
}

func lmove(c *command.Call) error {
	from, err := end(c.Args[3])
	if err != nil {
		return err
	}
	to, err := end(c.Args[4])
	if err != nil {
		return err
	}
	return move(c, from, to)
}

func rpoplpush(c *command.Call) error { return move(c, false, true) }

// move takes an element off an end of a list, and adds it at an end of another, or the same.
func move(c *command.Call, from, to bool) error {
	source, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	if source.absent() {
		c.Out.Null()
		return nil
	}
	at := source.len() - 1
	if from {
		at = 0
	}
	items, err := source.slice(at, at+1)
	if err != nil {
		return err
	}
	other := string(c.Args[1]) != string(c.Args[2])
	if other { // which may be too long for one more: that must be known before anything is written
		if err := pushTo(c, c.Args[2], to, items[0]); err != nil {
			return err
		}
	}
	if _, err := source.pop(from, 1); err != nil {
		return err
	}
	if !other {
		if err := source.push(to, items[0]); err != nil {
			return err
		}
	}
	if err := source.save(); err != nil {
		return err
	}
	c.Out.Bulk(items[0])
	return nil
}

// pushTo pushes an element to a list.
func pushTo(c *command.Call, key []byte, left bool, item []byte) error {
	l, err := open(c, key)
	if err != nil {
		return err
	}
	if err := l.push(left, item); err != nil {
		return err
	}
	return l.save()
}

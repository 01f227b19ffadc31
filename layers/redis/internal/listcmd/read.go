package listcmd

import (
	"bytes"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

func llen(c *command.Call) error {
	l, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	c.Out.Int(int64(l.len()))
	return nil
}

func lindex(c *command.Call) error {
	l, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	if l.absent() {
		c.Out.Null()
		return nil
	}
	index, ok, err := l.index(c, 2)
	if err != nil {
		return err
	}
	if !ok {
		c.Out.Null()
		return nil
	}
	items, err := l.slice(index, index+1)
	if err != nil {
		return err
	}
	c.Out.Bulk(items[0])
	return nil
}

// index is the one that an argument stands for, and whether there is such an element.
func (l *list) index(c *command.Call, arg int) (int, bool, error) {
	index, err := c.Int(arg)
	if err != nil {
		return 0, false, err
	}
	n := int64(l.len())
	if index < 0 {
		index += n
	}
	return int(index), 0 <= index && index < n, nil
}

func lrange(c *command.Call) error {
	from, to, l, err := bounded(c)
	if err != nil {
		return err
	}
	items, err := l.slice(from, to)
	if err != nil {
		return err
	}
	all(c, items)
	return nil
}

// bounded is the list of the first argument, and the indexes that the two behind it bound.
func bounded(c *command.Call) (from, to int, l *list, err error) {
	start, err := c.Int(2)
	if err != nil {
		return 0, 0, nil, err
	}
	stop, err := c.Int(3)
	if err != nil {
		return 0, 0, nil, err
	}
	if l, err = open(c, c.Args[1]); err != nil {
		return 0, 0, nil, err
	}
	from, to = command.Between(start, stop, l.len())
	return from, to, l, nil
}

// search is what LPOS looks for.
type search struct {
	item     []byte
	backward bool
	skip     int64 // matches
	several  bool
	count    int64 // matches, 0 is all
	most     int64 // elements compared, 0 is all
}

func parseSearch(c *command.Call) (o search, err error) {
	o.item, o.count = c.Args[2], 1
	for i := 3; i < len(c.Args); i += 2 {
		if i+1 >= len(c.Args) {
			return o, command.ErrSyntax
		}
		n, ok := resp.ParseInt(c.Args[i+1])
		switch {
		case command.Is(c.Args[i], "RANK"):
			switch {
			case !ok:
				return o, command.ErrNotInt
			case n == 0:
				return o, resp.Error("ERR RANK can't be zero: use 1 to start from " +
					"the first match, 2 from the second ... or use negative to start " +
					"from the end of the list")
			}
			if o.backward = n < 0; o.backward {
				n = -n
			}
			if n < 0 {
				return o, resp.Error("ERR value is out of range, " +
					"value must between -9223372036854775807 and 9223372036854775807")
			}
			o.skip = n - 1
		case command.Is(c.Args[i], "COUNT"):
			if !ok || n < 0 {
				return o, resp.Error("ERR COUNT can't be negative")
			}
			o.several, o.count = true, n
		case command.Is(c.Args[i], "MAXLEN"):
			if !ok || n < 0 {
				return o, resp.Error("ERR MAXLEN can't be negative")
			}
			o.most = n
		default:
			return o, command.ErrSyntax
		}
	}
	return o, nil
}

func lpos(c *command.Call) error {
	o, err := parseSearch(c)
	if err != nil {
		return err
	}
	l, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	var found []int
	compared := int64(0)
	err = l.each(o.backward, func(index int, item []byte) bool {
		if bytes.Equal(item, o.item) {
			if o.skip > 0 {
				o.skip--
			} else {
				found = append(found, index)
			}
		}
		compared++
		return compared != o.most && (o.count == 0 || int64(len(found)) < o.count)
	})
	if err != nil {
		return err
	}
	switch {
	case o.several:
		c.Out.Array(len(found))
	case len(found) == 0:
		c.Out.Null()
	}
	for _, index := range found {
		c.Out.Int(int64(index))
	}
	return nil
}

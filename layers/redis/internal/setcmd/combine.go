package setcmd

import (
	"cmp"
	"slices"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/fields"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// operation makes a set's members of sets.
type operation func([]*fields.Fields) ([][]byte, error)

// all are the sets of keys.
func all(c *command.Call, names [][]byte) ([]*fields.Fields, error) {
	sets := make([]*fields.Fields, len(names))
	for i, name := range names {
		var err error
		if sets[i], err = fields.Open(c.Tx, name, keys.Set); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// reply is the command that replies what an operation makes.
func reply(o operation) func(*command.Call) error {
	return func(c *command.Call) error {
		sets, err := all(c, c.Args[1:])
		if err != nil {
			return err
		}
		members, err := o(sets)
		if err != nil {
			return err
		}
		c.Out.Set(len(members))
		list(c, members)
		return nil
	}
}

// keep is the command that stores what an operation makes.
func keep(o operation) func(*command.Call) error {
	return func(c *command.Call) error {
		sets, err := all(c, c.Args[2:])
		if err != nil {
			return err
		}
		members, err := o(sets)
		if err != nil {
			return err
		}
		if err := fields.Replace(c.Tx, c.Args[1], keys.Set, pairs(members)); err != nil {
			return err
		}
		c.Out.Int(int64(len(members)))
		return nil
	}
}

// intersection begins with the smallest set.
func intersection(sets []*fields.Fields) ([][]byte, error) {
	sets = slices.Clone(sets)
	slices.SortStableFunc(sets, func(a, b *fields.Fields) int {
		return cmp.Compare(a.Len(), b.Len())
	})
	if sets[0].Absent() {
		return nil, nil
	}
	members, err := sets[0].Names()
	for _, s := range sets[1:] {
		if err != nil || len(members) == 0 {
			return nil, err
		}
		members, err = s.Among(members, true)
	}
	return members, err
}

func union(sets []*fields.Fields) ([][]byte, error) {
	var members [][]byte
	known := map[string]struct{}{}
	for _, s := range sets {
		names, err := s.Names()
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if _, twice := known[string(name)]; !twice {
				known[string(name)] = struct{}{}
				members = append(members, name)
			}
		}
	}
	return members, nil
}

// difference are the members of the first set that no other has.
func difference(sets []*fields.Fields) ([][]byte, error) {
	members, err := sets[0].Names()
	for _, s := range sets[1:] {
		if err != nil || len(members) == 0 {
			return nil, err
		}
		members, err = s.Among(members, false)
	}
	return members, err
}

const (
	errNumber = resp.Error("ERR numkeys should be greater than 0")
	errKeys   = resp.Error("ERR Number of keys can't be greater than number of args")
	errLimit  = resp.Error("ERR LIMIT can't be negative")
)

func sintercard(c *command.Call) error {
	n, ok := resp.ParseInt(c.Args[1])
	if !ok || n <= 0 {
		return errNumber
	}
	if n > int64(len(c.Args)-2) {
		return errKeys
	}
	limit := int64(0)
	options := c.Args[2+n:]
	for ; len(options) > 0; options = options[2:] {
		if len(options) < 2 || !command.Is(options[0], "LIMIT") {
			return command.ErrSyntax
		}
		if limit, ok = resp.ParseInt(options[1]); !ok || limit < 0 {
			return errLimit
		}
	}
	sets, err := all(c, c.Args[2:2+n])
	if err != nil {
		return err
	}
	members, err := intersection(sets)
	if err != nil {
		return err
	}
	count := int64(len(members))
	if limit > 0 {
		count = min(count, limit)
	}
	c.Out.Int(count)
	return nil
}

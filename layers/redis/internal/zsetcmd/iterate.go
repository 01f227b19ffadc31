package zsetcmd

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strconv"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/fields"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// lower is a command's name as replies tell it.
func lower(name []byte) string { return string(bytes.ToLower(name)) }

// randomMax is how many members may be asked for at random, if they may recur.
const randomMax = resp.ArgsMax

func zrandmember(c *command.Call) error {
	if len(c.Args) == 2 {
		return randomOne(c)
	}
	count, err := c.Int(2)
	if err != nil {
		return err
	}
	scores := len(c.Args) == 4
	if len(c.Args) > 4 || scores && !command.Is(c.Args[3], "WITHSCORES") {
		return command.ErrSyntax
	}
	if count < -randomMax {
		return resp.Error("ERR value is out of range: more than 1048576 members")
	}
	z, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	if z.absent() || count == 0 {
		c.Out.Array(0)
		return nil
	}
	all, err := z.entries()
	if err != nil {
		return err
	}
	var chosen []entry
	if count < 0 {
		for range -count {
			chosen = append(chosen, all[rand.IntN(len(all))])
		}
		if err := fields.Repeatable(members(chosen)); err != nil {
			return err
		}
	} else {
		for _, i := range rand.Perm(len(all))[:min(count, int64(len(all)))] {
			chosen = append(chosen, all[i])
		}
	}
	reply(c, chosen, scores)
	return nil
}

func randomOne(c *command.Call) error {
	z, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	if z.absent() {
		c.Out.Null()
		return nil
	}
	at := rand.IntN(z.n)
	entries, err := z.slice(at, at+1, false)
	if err != nil {
		return err
	}
	c.Out.Bulk(entries[0].member)
	return nil
}

// zscan tells what is wrong with its options only if there is a set, as Redis does.
func zscan(c *command.Call) error {
	o, wrong := command.ParseScan(c.Args[2:])
	if errors.Is(wrong, command.ErrCursor) {
		return wrong
	}
	z, err := open(c, c.Args[1])
	switch {
	case err != nil:
		return err
	case z.absent():
	case wrong != nil:
		return wrong
	case o.Type != nil || o.NoValues:
		return command.ErrSyntax
	}
	page, next := z.small, uint64(0)
	if z.entry.Large {
		if page, next, err = z.page(o); err != nil {
			return err
		}
	}
	var wanted []entry
	for _, e := range page {
		if o.Wants(e.member) {
			wanted = append(wanted, e)
		}
	}
	c.Out.Array(2)
	c.Out.String(strconv.FormatUint(next, 10))
	c.Out.Array(2 * len(wanted))
	for _, e := range wanted {
		c.Out.Bulk(e.member)
		c.Out.String(resp.FormatDouble(e.score))
	}
	return nil
}

// page is what an iteration through a large set comes to next, and the cursor to go on with, 0 at
// the end.
func (z *zset) page(o command.Scan) (page []entry, next uint64, err error) {
	elements := z.elements().All()
	if o.Cursor != 0 {
		place, ok := z.c.Cursors().Place(o.Cursor)
		if !ok {
			return nil, 0, command.ErrCursorGone
		}
		elements = z.elements().After([]byte(place))
	}
	for element, err := range elements {
		if err != nil {
			return nil, 0, err
		}
		if len(page) == o.Count {
			return page, z.c.Cursors().Keep(string(page[len(page)-1].member)), nil
		}
		score, err := cutScore(element.Value)
		if err != nil {
			return nil, 0, err
		}
		page = append(page, entry{element.Name, score})
	}
	return page, 0, nil
}

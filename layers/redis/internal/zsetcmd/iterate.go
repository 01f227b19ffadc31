package zsetcmd

import (
	"bytes"
	"math/rand/v2"
	"strconv"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
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

// zscan replies all members of a set in one go.
func zscan(c *command.Call) error {
	o, err := command.ParseScan(c.Args[2:])
	if err != nil {
		return err
	}
	if o.Type != nil || o.NoValues {
		return command.ErrSyntax
	}
	z, err := open(c, c.Args[1])
	if err != nil {
		return err
	}
	all, err := z.entries()
	if err != nil {
		return err
	}
	var wanted []entry
	for _, e := range all {
		if o.Wants(e.member) {
			wanted = append(wanted, e)
		}
	}
	c.Out.Array(2)
	c.Out.String(strconv.Itoa(0))
	c.Out.Array(2 * len(wanted))
	for _, e := range wanted {
		c.Out.Bulk(e.member)
		c.Out.String(resp.FormatDouble(e.score))
	}
	return nil
}

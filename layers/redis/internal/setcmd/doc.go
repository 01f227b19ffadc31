// Package setcmd has the commands of sets.
package setcmd

import (
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/fields"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// Commands are the rows of the family.
func Commands() []command.Command {
	const (
		slow  = command.ReadOnly
		read  = command.ReadOnly | command.Fast
		take  = command.Write | command.Fast
		store = command.Write | command.DenyOOM
	)
	row := func(name string, arity int, flags command.Flags, last int,
		run func(*command.Call) error,
	) command.Command {
		return command.Command{
			Name: name, Arity: arity, Flags: flags, First: 1, Last: last, Step: 1, Run: run,
		}
	}
	return []command.Command{
		row("sadd", -3, store|command.Fast, 1, sadd),
		row("srem", -3, take, 1, srem),
		row("spop", -2, take, 1, spop),
		row("smove", 4, take, 2, smove),
		row("scard", 2, read, 1, scard),
		row("sismember", 3, read, 1, sismember),
		row("smismember", -3, read, 1, smismember),
		row("smembers", 2, slow, 1, smembers),
		row("srandmember", -2, slow, 1, srandmember),
		row("sscan", -3, slow, 1, sscan),
		row("sinter", -2, slow, -1, reply(intersection)),
		row("sunion", -2, slow, -1, reply(union)),
		row("sdiff", -2, slow, -1, reply(difference)),
		row("sinterstore", -3, store, -1, keep(intersection)),
		row("sunionstore", -3, store, -1, keep(union)),
		row("sdiffstore", -3, store, -1, keep(difference)),
		{
			Name: "sintercard", Arity: -3, Flags: slow | command.MovableKeys, Run: sintercard,
		},
	}
}

func sscan(c *command.Call) error { return fields.Scan(c, keys.Set) }

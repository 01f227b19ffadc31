// Package hashcmd has the commands of hashes.
package hashcmd

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
		write = command.Write | command.DenyOOM | command.Fast
	)
	one := func(name string, arity int, flags command.Flags,
		run func(*command.Call) error,
	) command.Command {
		return command.Command{
			Name: name, Arity: arity, Flags: flags, First: 1, Last: 1, Step: 1, Run: run,
		}
	}
	return []command.Command{
		one("hset", -4, write, hset),
		one("hmset", -4, write, hmset),
		one("hsetnx", 4, write, hsetnx),
		one("hdel", -3, command.Write|command.Fast, hdel),
		one("hincrby", 4, write, hincrby),
		one("hincrbyfloat", 4, write, hincrbyfloat),
		one("hget", 3, read, hget),
		one("hmget", -3, read, hmget),
		one("hlen", 2, read, hlen),
		one("hstrlen", 3, read, hstrlen),
		one("hexists", 3, read, hexists),
		one("hgetall", 2, slow, hgetall),
		one("hkeys", 2, slow, hkeys),
		one("hvals", 2, slow, hvals),
		one("hrandfield", -2, slow, hrandfield),
		one("hscan", -3, slow, hscan),
	}
}

func hscan(c *command.Call) error { return fields.Scan(c, keys.Hash) }

// Package stringcmd has the commands of strings, numbers and bits.
package stringcmd

import "github.com/strictkv/strictkv/layers/redis/internal/command"

// Commands are the rows of the family.
func Commands() []command.Command {
	const (
		slow  = command.ReadOnly | command.Single | command.Plain
		read  = slow | command.Fast
		write = command.Write | command.DenyOOM | command.Plain
		fast  = write | command.Fast
	)
	one := func(name string, arity int, flags command.Flags,
		run func(*command.Call) error,
	) command.Command {
		return command.Command{
			Name: name, Arity: arity, Flags: flags, First: 1, Last: 1, Step: 1, Run: run,
		}
	}
	return []command.Command{
		one("get", 2, read, get),
		one("set", -3, write, set),
		one("setnx", 3, fast, setnx),
		one("setex", 4, write, setex),
		one("psetex", 4, write, psetex),
		one("getset", 3, fast, getset),
		one("getdel", 2, fast&^command.DenyOOM, getdel),
		one("getex", -2, fast&^command.DenyOOM, getex),
		{
			Name: "mget", Arity: -2, Flags: read &^ command.Single, First: 1, Last: -1, Step: 1,
			Run: mget,
		},
		{Name: "mset", Arity: -3, Flags: write, First: 1, Last: -1, Step: 2, Run: mset},
		{Name: "msetnx", Arity: -3, Flags: write, First: 1, Last: -1, Step: 2, Run: msetnx},
		one("append", 3, fast, appendTo),
		one("strlen", 2, read, strlen),
		one("getrange", 4, slow, getrange),
		one("substr", 4, slow, getrange),
		one("setrange", 4, write, setrange),
		one("incr", 2, fast, incr),
		one("decr", 2, fast, decr),
		one("incrby", 3, fast, incrby),
		one("decrby", 3, fast, decrby),
		one("incrbyfloat", 3, fast, incrbyfloat),
		one("setbit", 4, write, setbit),
		one("getbit", 3, read, getbit),
		one("bitcount", -2, slow, bitcount),
		one("bitpos", -3, slow, bitpos),
		{Name: "bitop", Arity: -4, Flags: write, First: 2, Last: -1, Step: 1, Run: bitop},
		one("bitfield", -2, write, bitfield),
		one("bitfield_ro", -2, read, bitfieldRO),
	}
}

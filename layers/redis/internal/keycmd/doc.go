// Package keycmd has the commands that work on keys of any kind.
package keycmd

import "github.com/strictkv/strictkv/layers/redis/internal/command"

// Commands are the rows of the family.
func Commands() []command.Command {
	const (
		slow  = command.ReadOnly
		read  = command.ReadOnly | command.Fast
		write = command.Write
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
		{Name: "del", Arity: -2, Flags: write, First: 1, Last: -1, Step: 1, Run: del},
		{Name: "unlink", Arity: -2, Flags: fast, First: 1, Last: -1, Step: 1, Run: del},
		{Name: "exists", Arity: -2, Flags: read, First: 1, Last: -1, Step: 1, Run: exists},
		{Name: "touch", Arity: -2, Flags: read, First: 1, Last: -1, Step: 1, Run: exists},
		one("type", 2, read, typeOf),
		{Name: "rename", Arity: 3, Flags: write, First: 1, Last: 2, Step: 1, Run: rename},
		{Name: "renamenx", Arity: 3, Flags: fast, First: 1, Last: 2, Step: 1, Run: renamenx},
		{Name: "copy", Arity: -3, Flags: write | command.DenyOOM, First: 1, Last: 2, Step: 1,
			Run: copyTo},
		one("move", 3, fast, move),
		one("expire", -3, fast, expire),
		one("pexpire", -3, fast, pexpire),
		one("expireat", -3, fast, expireat),
		one("pexpireat", -3, fast, pexpireat),
		one("ttl", 2, read, ttl),
		one("pttl", 2, read, pttl),
		one("expiretime", 2, read, expiretime),
		one("pexpiretime", 2, read, pexpiretime),
		one("persist", 2, fast, persist),
		{Name: "object", Arity: -2, Flags: slow, First: 2, Last: 2, Step: 1, Run: object},
	}
}

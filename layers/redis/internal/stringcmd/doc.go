// Package stringcmd has the commands of strings, numbers and bits.
package stringcmd

import "github.com/strictkv/strictkv/layers/redis/internal/command"

// Commands are the rows of the family.
func Commands() []command.Command {
	const (
		read  = command.ReadOnly | command.Fast
		write = command.Write | command.DenyOOM
		fast  = write | command.Fast
	)
	return []command.Command{
		{Name: "get", Arity: 2, Flags: read, First: 1, Last: 1, Step: 1, Run: get},
		{Name: "set", Arity: -3, Flags: write, First: 1, Last: 1, Step: 1, Run: set},
		{Name: "incr", Arity: 2, Flags: fast, First: 1, Last: 1, Step: 1, Run: incr},
	}
}

// Package keycmd has the commands that work on keys of any kind.
package keycmd

import "github.com/strictkv/strictkv/layers/redis/internal/command"

// Commands are the rows of the family.
func Commands() []command.Command {
	const (
		read  = command.ReadOnly | command.Fast
		write = command.Write
		fast  = write | command.Fast
	)
	return []command.Command{
		{Name: "del", Arity: -2, Flags: write, First: 1, Last: -1, Step: 1, Run: del},
		{Name: "unlink", Arity: -2, Flags: fast, First: 1, Last: -1, Step: 1, Run: del},
		{Name: "exists", Arity: -2, Flags: read, First: 1, Last: -1, Step: 1, Run: exists},
	}
}

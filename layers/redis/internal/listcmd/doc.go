// Package listcmd has the commands of lists.
//
// A small list is a value with all elements, as encode tells. In a large one each element has a
// name of its own, which is its place: 8 bytes, big-endian. The header tells the place of the first
// and how many there are, so that both ends grow and shrink by a write of an element and one of the
// header, and an element is read by its index. What goes into the middle, or out of it, moves the
// elements on the shorter side.
package listcmd

import "github.com/strictkv/strictkv/layers/redis/internal/command"

// Commands are the rows of the family.
func Commands() []command.Command {
	const (
		read  = command.ReadOnly
		write = command.Write | command.DenyOOM
		grow  = write | command.Fast
		less  = command.Write | command.Fast
		moves = command.Write | command.MovableKeys
	)
	return []command.Command{
		{Name: "lpush", Arity: -3, Flags: grow, First: 1, Last: 1, Step: 1, Run: lpush},
		{Name: "rpush", Arity: -3, Flags: grow, First: 1, Last: 1, Step: 1, Run: rpush},
		{Name: "lpushx", Arity: -3, Flags: grow, First: 1, Last: 1, Step: 1, Run: lpushx},
		{Name: "rpushx", Arity: -3, Flags: grow, First: 1, Last: 1, Step: 1, Run: rpushx},
		{Name: "lpop", Arity: -2, Flags: less, First: 1, Last: 1, Step: 1, Run: lpop},
		{Name: "rpop", Arity: -2, Flags: less, First: 1, Last: 1, Step: 1, Run: rpop},
		{Name: "lmpop", Arity: -4, Flags: moves, Run: lmpop},
		{Name: "lmove", Arity: 5, Flags: write, First: 1, Last: 2, Step: 1, Run: lmove},
		{Name: "rpoplpush", Arity: 3, Flags: write, First: 1, Last: 2, Step: 1, Run: rpoplpush},
		{Name: "llen", Arity: 2, Flags: read | command.Fast, First: 1, Last: 1, Step: 1, Run: llen},
		{Name: "lindex", Arity: 3, Flags: read, First: 1, Last: 1, Step: 1, Run: lindex},
		{Name: "lrange", Arity: 4, Flags: read, First: 1, Last: 1, Step: 1, Run: lrange},
		{Name: "lpos", Arity: -3, Flags: read, First: 1, Last: 1, Step: 1, Run: lpos},
		{Name: "lset", Arity: 4, Flags: write, First: 1, Last: 1, Step: 1, Run: lset},
		{Name: "linsert", Arity: 5, Flags: write, First: 1, Last: 1, Step: 1, Run: linsert},
		{Name: "lrem", Arity: 4, Flags: command.Write, First: 1, Last: 1, Step: 1, Run: lrem},
		{Name: "ltrim", Arity: 4, Flags: command.Write, First: 1, Last: 1, Step: 1, Run: ltrim},
	}
}

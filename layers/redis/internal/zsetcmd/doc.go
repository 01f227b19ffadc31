// Package zsetcmd has the commands of sorted sets.
//
// A small set is a value with all members in order, as encode tells. In a large one each member is
// an element with its score, and beside the elements is a tree of all entries in order. Its nodes
// count what is below them: so ranks, counts and the places of ranges are found on the way down,
// and what a change costs does not depend on how many members there are: a write of the element,
// and of the nodes on the way to where it was, and to where it is, of some 2 KiB each. A node above
// is written only if a count in it changes, and the header, which tells the root and how many
// members there are, if one of these does.
package zsetcmd

import "github.com/strictkv/strictkv/layers/redis/internal/command"

// Commands are the rows of the family.
func Commands() []command.Command {
	const (
		read  = command.ReadOnly
		fast  = read | command.Fast
		write = command.Write | command.DenyOOM
		less  = command.Write
		moves = command.MovableKeys
	)
	rows := []command.Command{
		{Name: "zunion", Arity: -3, Flags: read | moves, Run: zunion},
		{Name: "zinter", Arity: -3, Flags: read | moves, Run: zinter},
		{Name: "zdiff", Arity: -3, Flags: read | moves, Run: zdiff},
		{Name: "zintercard", Arity: -3, Flags: read | moves, Run: zintercard},
		{Name: "zmpop", Arity: -4, Flags: less | moves, Run: zmpop},
		{Name: "zrangestore", Arity: -5, Flags: write, First: 1, Last: 2, Step: 1,
			Run: zrangestore},
	}
	for _, row := range []command.Command{ // of one key
		{Name: "zadd", Arity: -4, Flags: write | command.Fast, Run: zadd},
		{Name: "zincrby", Arity: 4, Flags: write | command.Fast, Run: zincrby},
		{Name: "zscore", Arity: 3, Flags: fast, Run: zscore},
		{Name: "zmscore", Arity: -3, Flags: fast, Run: zmscore},
		{Name: "zcard", Arity: 2, Flags: fast, Run: zcard},
		{Name: "zcount", Arity: 4, Flags: fast, Run: zcount},
		{Name: "zlexcount", Arity: 4, Flags: fast, Run: zlexcount},
		{Name: "zrank", Arity: -3, Flags: fast, Run: zrank},
		{Name: "zrevrank", Arity: -3, Flags: fast, Run: zrevrank},
		{Name: "zrange", Arity: -4, Flags: read, Run: zrange},
		{Name: "zrevrange", Arity: -4, Flags: read, Run: zrevrange},
		{Name: "zrangebyscore", Arity: -4, Flags: read, Run: zrangebyscore},
		{Name: "zrevrangebyscore", Arity: -4, Flags: read, Run: zrevrangebyscore},
		{Name: "zrangebylex", Arity: -4, Flags: read, Run: zrangebylex},
		{Name: "zrevrangebylex", Arity: -4, Flags: read, Run: zrevrangebylex},
		{Name: "zrandmember", Arity: -2, Flags: read, Run: zrandmember},
		{Name: "zscan", Arity: -3, Flags: read, Run: zscan},
		{Name: "zrem", Arity: -3, Flags: less | command.Fast, Run: zrem},
		{Name: "zremrangebyrank", Arity: 4, Flags: less, Run: zremrangebyrank},
		{Name: "zremrangebyscore", Arity: 4, Flags: less, Run: zremrangebyscore},
		{Name: "zremrangebylex", Arity: 4, Flags: less, Run: zremrangebylex},
		{Name: "zpopmin", Arity: -2, Flags: less | command.Fast, Run: zpopmin},
		{Name: "zpopmax", Arity: -2, Flags: less | command.Fast, Run: zpopmax},
		{Name: "zunionstore", Arity: -4, Flags: write | moves, Run: zunionstore},
		{Name: "zinterstore", Arity: -4, Flags: write | moves, Run: zinterstore},
		{Name: "zdiffstore", Arity: -4, Flags: write | moves, Run: zdiffstore},
	} {
		row.First, row.Last, row.Step = 1, 1, 1
		rows = append(rows, row)
	}
	return rows
}

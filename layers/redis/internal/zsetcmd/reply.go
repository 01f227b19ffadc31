package zsetcmd

import "github.com/strictkv/strictkv/layers/redis/internal/command"

// reply writes entries, with their scores if they are wanted: in version 3 of the protocol each is
// an array then.
func reply(c *command.Call, entries []entry, scores bool) {
	switch {
	case !scores:
		c.Out.Array(len(entries))
	case c.Out.Version < 3:
		c.Out.Array(2 * len(entries))
	default:
		replyPairs(c, entries)
		return
	}
	for _, e := range entries {
		c.Out.Bulk(e.member)
		if scores {
			c.Out.Double(e.score)
		}
	}
}

// replyPairs writes entries as arrays of a member and its score.
func replyPairs(c *command.Call, entries []entry) {
	c.Out.Array(len(entries))
	for _, e := range entries {
		c.Out.Array(2)
		c.Out.Bulk(e.member)
		c.Out.Double(e.score)
	}
}

package keycmd

import (
	"strings"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// encodings are what OBJECT ENCODING tells of values: those of Redis that are nearest.
var encodings = map[keys.Kind][2]string{ // small, large
	keys.String:    {"raw", "raw"},
	keys.Hash:      {"listpack", "hashtable"},
	keys.List:      {"listpack", "quicklist"},
	keys.Set:       {"listpack", "hashtable"},
	keys.SortedSet: {"listpack", "skiplist"},
}

// errNoFrequency is what Redis replies, too, but under a policy that counts.
const errNoFrequency = resp.Error("ERR An LFU maxmemory policy is not selected, access frequency " +
	"not tracked. Please note that when switching between policies at runtime LRU and LFU data " +
	"will take some time to adjust.")

func object(c *command.Call) error {
	sub := strings.ToLower(string(c.Args[1]))
	switch sub {
	case "encoding", "refcount", "idletime", "freq":
	default:
		return resp.Error("ERR unknown subcommand '" + string(c.Args[1]) + "'. Try OBJECT HELP.")
	}
	if len(c.Args) != 3 {
		return command.WrongNumber("object|" + sub)
	}
	e, err := c.Get(c.Args[2])
	if err != nil {
		return err
	}
	switch {
	case e.Absent():
		c.Out.Null()
	case sub == "encoding":
		c.Out.String(encoding(&e))
	case sub == "refcount":
		c.Out.Int(1)
	case sub == "freq":
		return errNoFrequency
	default: // nobody remembers when a key was last read
		c.Out.Int(0)
	}
	return nil
}

// embeddedMax is how long a string may be that Redis keeps with its header, in bytes.
const embeddedMax = 44

func encoding(e *keys.Entry) string {
	if e.Kind == keys.String {
		if _, ok := resp.ParseInt(e.Body); ok {
			return "int"
		}
		if len(e.Body) <= embeddedMax {
			return "embstr"
		}
	}
	if e.Large {
		return encodings[e.Kind][1]
	}
	return encodings[e.Kind][0]
}

package fields_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/hashcmd"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
	"github.com/strictkv/strictkv/layers/redis/internal/setcmd"
)

// cost is what a command costs until it replies: round trips, and requests.
type cost struct{ rounds, gets, writes, lists int64 }

// do runs a command as a transaction.
func do(t *testing.T, s *keys.Space, line string) {
	t.Helper()
	args := strings.Fields(line)
	table := command.NewTable(hashcmd.Commands(), setcmd.Commands())
	found := table.Find([]byte(args[0]))
	words := make([][]byte, len(args))
	for i, arg := range args {
		words[i] = []byte(arg)
	}
	f := func(tx *strictkv.Tx) error {
		return found.Run(&command.Call{Tx: s.NewTx(tx, 0), Args: words, Out: &resp.Writer{}})
	}
	if found.Flags&command.Write != 0 {
		require.NoError(t, s.DB().Tx(t.Context(), f))
	} else {
		require.NoError(t, s.DB().View(t.Context(), f))
	}
}

// TestCosts is of a large hash and set of 1001 names: at first by a server that has not seen them,
// then again by the same one. What is written is as little as one name. The costs are bounds, not
// what is seen mostly: which of two cells is written first is chosen at random, as are members.
func TestCosts(t *testing.T) {
	// The header is read, not written, and so validated: for that the element is written twice.
	change := [2]cost{{7, 4, 4, 0}, {5, 2, 4, 0}}
	// The header counts the names. Both cells are settled behind the reply.
	create := [2]cost{{4, 3, 5, 0}, {5, 3, 4, 0}}
	read := [2]cost{{3, 3, 0, 0}, {1, 2, 0, 0}}
	names := [2]cost{{5, 3, 0, 4}, {4, 2, 0, 4}}
	for line, most := range map[string][2]cost{
		"HSET h f7 new": change, "HINCRBY h f7 1": change,
		"HSET h other v": create, "SADD s other": create, "HDEL h f7": create, "SREM s f7": create,
		"HGET h f7": read, "SISMEMBER s f7": read, "SADD s f7": read, "HEXISTS h f7": read,
		"HLEN h":        {{1, 1, 0, 0}, {1, 1, 0, 0}},
		"SRANDMEMBER s": names,
		"SPOP s":        {{9, 3, 6, 4}, {8, 2, 6, 4}},
		"HKEYS h":       names, "SMEMBERS s": names,
		"HGETALL h": {{10, 1004, 0, 4}, {4, 2, 0, 4}},
	} {
		t.Run(line, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memory.New()
				db := slow(t, b)
				fill := keys.NewSpace(db.Collection([]byte("redis")))
				for from := 0; from < 1000; from += 25 {
					do(t, fill, "HSET h"+numbers(from, from+25, " f# #"))
					do(t, fill, "SADD s"+numbers(from, from+25, " f#"))
				}
				do(t, fill, "HSET h more 0")
				do(t, fill, "SADD s more")
				require.NoError(t, db.Close(t.Context()))
				db = slow(t, b)
				s := keys.NewSpace(db.Collection([]byte("redis")))
				var got [2]cost
				for i := range got {
					before, began := db.Stats(), time.Now()
					do(t, s, line)
					took := time.Since(began) / time.Second
					time.Sleep(time.Minute) // what goes on behind it counts
					n := db.Stats().Sub(before)
					got[i] = cost{int64(took), n.Gets, n.Puts + n.Deletes, n.Lists}
					assert.Less(t, n.BytesWritten, int64(2000), "of a value of 10 kB")
				}
				for i, most := range most {
					assert.LessOrEqual(t, got[i].rounds, most.rounds, "%+v", got)
					assert.LessOrEqual(t, got[i].gets, most.gets, "%+v", got)
					assert.LessOrEqual(t, got[i].writes, most.writes, "%+v", got)
					assert.LessOrEqual(t, got[i].lists, most.lists, "%+v", got)
				}
				require.NoError(t, db.Close(t.Context()))
			})
		})
	}
}

// slow opens a database each of whose requests takes a second.
func slow(t *testing.T, b *memory.Backend) *strictkv.DB {
	t.Helper()
	sim := simulated.New(b, nil, simulated.Constant(time.Second))
	db, err := strictkv.Open(t.Context(), "test", sim, strictkv.WithProbe(strictkv.ProbeNever))
	require.NoError(t, err)
	return db
}

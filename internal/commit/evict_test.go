package commit

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// A cell is full of marks, but the handle knows that they can go, so there is no need to
// make room. Until the writes are made the handle's other transactions make it forget
// that: what the write folds has been decided by then, and stays.
func TestForgottenFatesDoNotOverfillACell(t *testing.T) {
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{
		Backend: memory.New(), Runtime: seam.Real(), Cache: cache.New(1 << 20), Prefix: "db/",
		Concurrency: 8,
	})
	require.NoError(t, err)
	rs := resolve.New(resolve.Options{Store: st})
	attempts := uint64(0)
	commits := func() (tx txid.ID, m cell.Members) {
		attempts++
		binary.BigEndian.PutUint64(tx[:], attempts)
		m.List = []cell.Member{{Name: "=k", Expected: "1"}, {Name: "=o", Expected: "1"}}
		rs.Committed(tx, m)
		return tx, m
	}
	c := &cell.Cell{}
	for range cell.MarksMax {
		tx, m := commits()
		rs.Clear(tx, "=o")
		c.Marks = append(c.Marks, cell.Mark{Tx: tx, Members: m})
	}
	tx, m := commits()
	c.Intent = &cell.Intent{Tx: tx, Mode: cell.Staged, Action: cell.Delete, Members: m}

	committer := New(Options{Store: st, Resolver: rs, Counts: new(Counts)})
	base := rs.Known(store.Snapshot{Name: "=k", Cell: c, Version: "5"})
	k := &Member{Name: "=k", Action: cell.Delete, Base: base}
	p := Plan{Members: []*Member{k}}
	made, err := committer.MakeRoom(ctx, &p)
	require.NoError(t, err)
	require.False(t, made, "no request is needed")
	for range 10000 { // more than a handle remembers
		commits()
	}
	require.Equal(t, cell.Undecided, rs.Known(base.Snapshot).Outcome, "it is forgotten")
	next := committer.newAttempt(ctx, &p).members[0].write.Next
	assert.Len(t, next.Marks, 1, "that of the folded intent")
	assert.Equal(t, tx, next.Marks[0].Tx)
}

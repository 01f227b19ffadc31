package outcome

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

func attempt(n int) (tx txid.ID) {
	binary.BigEndian.PutUint64(tx[:], uint64(n)+1)
	return tx
}

// membersOf are n members at version "old", the primary not the first in name order.
func membersOf(n int) (m cell.Members) {
	for i := range n {
		m.List = append(m.List, cell.Member{Name: fmt.Sprintf("=%04d", i), Expected: "old"})
	}
	if n > 1 {
		m.List[0].Name = "=zzzz"
	}
	m.Long = n > cell.ListMax
	return m
}

func nothing(string) (store.Snapshot, bool) { return store.Snapshot{}, false }

// seenOff is a cache in which every cell has been written since, with the attempt's mark
// or without.
func seenOff(tx txid.ID, m cell.Members, marked bool) Peek {
	return func(name string) (store.Snapshot, bool) {
		c := &cell.Cell{}
		if marked {
			c.Marks = []cell.Mark{{Tx: tx, Members: m}}
		}
		v := backend.Version("new")
		return store.Snapshot{Name: name, Cell: c, Version: v, Proved: 100}, true
	}
}

// holding is how many members the lists hold in truth.
func (k *Memory) holding() (n int) {
	for _, x := range k.byTx {
		n += len(x.list)
	}
	return n
}

// The members of an attempt matter as long as one may hold its intent.
func TestListIsDroppedOnceCleared(t *testing.T) {
	tx, m := attempt(1), membersOf(1000)
	for name, clear := range map[string]func(f *Memory){
		"member by member": func(f *Memory) {
			for i, x := range m.List {
				require.Len(t, f.byTx[tx].list, 1000, "%d are cleared", i)
				f.Clear(tx, x.Name)
			}
		},
		"all at once": func(f *Memory) { f.ClearAll(tx) },
		"seen off with the mark": func(f *Memory) {
			require.True(t, f.Cleared(tx, m, "", seenOff(tx, m, true)))
		},
		"seen off without the mark": func(f *Memory) {
			require.True(t, f.Cleared(tx, m, "", seenOff(tx, m, false)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := New(&still{})
			f.Record(tx, cell.Committed, m, 1)
			require.False(t, f.Cleared(tx, m, "", nothing))
			clear(f)
			for range 2 {
				assert.Zero(t, f.holding())
				assert.Zero(t, f.listed)
				assert.Nil(t, f.byTx[tx].clear)
				assert.True(t, f.Cleared(tx, m, "", nothing))
				assert.Equal(t, cell.Committed, f.Of(tx), "it is still known to be final")
				f.Record(tx, cell.Committed, m, 2) // the list comes by again
				f.Clear(tx, m.List[0].Name)
				f.ClearAll(tx)
			}
		})
	}
}

// A member counts once, and a name that is no member's does not count.
func TestEachMemberIsClearedByItself(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 9, 100} {
		f, tx, m := New(&still{}), attempt(1), membersOf(n)
		f.Record(tx, cell.Committed, m, 1)
		for i, x := range m.List {
			for _, name := range []string{"=", "=0001x", "=zzzzz"} {
				f.Clear(tx, name)
			}
			assert.Equal(t, i == n-1, f.Cleared(tx, m, x.Name, nothing), "%d of %d", i, n)
			assert.False(t, f.byTx[tx].cleared)
			f.Clear(tx, x.Name)
			f.Clear(tx, x.Name)
		}
		assert.True(t, f.byTx[tx].cleared)
	}
}

func TestMemoryOfListsIsBounded(t *testing.T) {
	f, m := New(&still{}), membersOf(1000)
	for i := range 200 {
		f.Record(attempt(i), cell.Committed, m, uint64(i))
		require.LessOrEqual(t, f.holding(), listedMax)
		require.Equal(t, f.holding(), f.listed)
	}
	kept := listedMax / 1000
	assert.Len(t, f.byTx, kept)
	assert.Equal(t, cell.Undecided, f.Of(attempt(0)), "the oldest is forgotten")
	assert.False(t, f.Cleared(attempt(0), m, "", seenOff(attempt(0), m, true)))
	assert.Equal(t, cell.Committed, f.Of(attempt(200-kept)))
	f.Clear(attempt(0), m.List[0].Name)
	f.ClearAll(attempt(0))
	f.Record(attempt(0), cell.Committed, m, 300)
	assert.Equal(t, cell.Committed, f.Of(attempt(0)), "and learned again")
	assert.Equal(t, f.holding(), f.listed)
}

func TestMemoryOfAttemptsIsBounded(t *testing.T) {
	f := New(&still{})
	for i := range 2*attemptsMax + 10 {
		if i%2 == 0 {
			f.Record(attempt(i), cell.Committed, membersOf(2), uint64(i))
			f.ClearAll(attempt(i))
		} else {
			f.Record(attempt(i), cell.Dead, cell.Members{}, uint64(i))
		}
	}
	assert.Len(t, f.byTx, attemptsMax)
	assert.Len(t, f.order, attemptsMax)
	assert.Zero(t, f.holding())
	assert.Zero(t, f.listed)
	assert.Equal(t, cell.Undecided, f.Of(attempt(attemptsMax+9)))
	assert.Equal(t, cell.Committed, f.Of(attempt(attemptsMax+10)))
	assert.Equal(t, cell.Dead, f.Of(attempt(2*attemptsMax+9)))
}

// The list of the oldest attempt is learned only now, and there is no room for it.
func TestOldestLearnsItsListTooLate(t *testing.T) {
	f, m := New(&still{}), membersOf(1000)
	part := cell.Members{List: m.List[:1], Long: true}
	f.Record(attempt(0), cell.Committed, part, 1)
	for i := range listedMax / 1000 {
		f.Record(attempt(1+i), cell.Committed, m, 1)
	}
	f.Cleared(attempt(0), m, "", seenOff(attempt(0), m, true))
	assert.LessOrEqual(t, f.holding(), listedMax)
	assert.Equal(t, f.holding(), f.listed)
}

// still is a clock that stands still, but where a test moves it.
type still struct{ age time.Duration }

func (s *still) Moment() store.Moment { return store.Moment{} }

func (s *still) Age(store.Moment) time.Duration { return s.age }

// That an attempt is dead is not believed for ever: what it expects to be absent may be so
// again when a very late write of it arrives.
func TestDeathIsNotBelievedForEver(t *testing.T) {
	c := &still{}
	f, tx, m := New(c), attempt(1), membersOf(2)
	f.Record(tx, cell.Dead, m, 1)
	c.age = store.AttemptMax
	assert.Equal(t, cell.Dead, f.Of(tx))
	assert.Panics(t, func() { f.Record(tx, cell.Committed, m, 2) })
	c.age++
	assert.Equal(t, cell.Undecided, f.Of(tx))
	_, known := f.Since(tx)
	assert.False(t, known)
	f.Record(tx, cell.Committed, m, 3)
	assert.Equal(t, cell.Committed, f.Of(tx), "a commit is, for ever")
	assert.Panics(t, func() { f.Record(tx, cell.Dead, m, 4) })
}

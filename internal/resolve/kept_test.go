package resolve

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Of waiting that has ended without news nothing is kept: a handle may wait for any number of keys
// in its life.
func TestNothingIsKeptOfWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := awaited{rt: seam.Real(), byName: map[string]*news{}}
		left, leave := context.WithTimeout(context.Background(), time.Second)
		defer leave()
		_, err := a.wait(left, store.Snapshot{Name: "=a"}, time.Minute)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		seen, err := a.wait(context.Background(), store.Snapshot{Name: "=b"}, time.Minute)
		require.NoError(t, err)
		assert.Nil(t, seen.Cell)
		assert.Empty(t, a.byName)
	})
}

// Of attempts that were met undecided a handle keeps the time of so many: of a new one it forgets
// the oldest. One whose owner is alive is no other, and what has ended is forgotten.
func TestOnlySoManyAttemptsAreKeptInMind(t *testing.T) {
	m, now := newFirstSeen(), time.Unix(1000, 0)
	tx := func(n int) txid.ID { return txid.ID{0: byte(n >> 8), 1: byte(n)} }
	at := func(n int) time.Time { return now.Add(time.Duration(n) * time.Second) }
	for n := range seenMax {
		require.Equal(t, at(n), m.first(tx(n), "1", at(n)))
	}
	assert.Equal(t, at(seenMax), m.first(tx(1), "2", at(seenMax)), "its owner is alive")
	for n := seenMax; n < seenMax+2; n++ {
		m.first(tx(n), "1", at(n))
	}
	assert.Equal(t, at(2), m.first(tx(2), "1", at(9999)))
	assert.Equal(t, at(9999), m.first(tx(0), "1", at(9999)), "it was forgotten")
	assert.Len(t, m.byTx, seenMax)
	m.forget(tx(9))
	assert.NotContains(t, m.order, tx(9))
	assert.Len(t, m.order, seenMax-1)
	for n := range seenMax + 2 {
		m.forget(tx(n))
		m.forget(tx(n))
	}
	assert.Empty(t, m.byTx)
	assert.Empty(t, m.order)
}

package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

// TestHeadStopsAtAJob: a job that has come since the listing is not passed.
func TestHeadStopsAtAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := strictkv.Open(t.Context(), "db", memory.New())
		require.NoError(t, err)
		q, err := New(db, db.Collection([]byte("queue")), Options{})
		require.NoError(t, err)
		_, err = q.Enqueue(t.Context(), []byte("job"))
		require.NoError(t, err)
		before := time.Now()
		time.Sleep(time.Minute)
		move := func(to time.Time) stamp {
			require.NoError(t, q.advance(t.Context(), keyOf(stampOf(to), "")))
			h, err := q.weakHead(t.Context())
			require.NoError(t, err)
			return h.next() - 1
		}
		assert.Equal(t, stampOf(before), move(time.Now()))
		j, err := q.Claim(t.Context())
		require.NoError(t, err)
		assert.Equal(t, stampOf(before), move(time.Now()), "somebody has it")
		require.NoError(t, j.Complete(t.Context()))
		assert.Equal(t, stampOf(time.Now()), move(time.Now()))
		assert.Equal(t, stampOf(time.Now()), move(before), "it never goes back")
		require.NoError(t, db.Close(t.Context()))
	})
}

// TestCandidates: what one listing has found is shared, and nobody is told that there is nothing
// while it has not found all.
func TestCandidates(t *testing.T) {
	c, at := newCandidates(token{}), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	assert.Nil(t, c.take(at))
	c.found(at, [][]byte{[]byte("a")}, true)
	assert.False(t, c.since(at.Add(-1)), "there may be more")
	assert.Equal(t, "a", string(c.take(at)))
	c.found(at, [][]byte{[]byte("a")}, false)
	assert.Nil(t, c.take(at), "somebody is trying it")
	assert.True(t, c.since(at.Add(-1)))
	assert.False(t, c.since(at))
	c.tried([]byte("a"), false, at.Add(time.Second))
	c.found(at.Add(time.Second-1), [][]byte{[]byte("a")}, false)
	assert.Nil(t, c.take(at), "somebody else has it")
	four := [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte("d")}
	c.found(at.Add(time.Second), four, false)
	for range missesMax {
		c.tried(c.take(at), false, time.Time{})
	}
	assert.Nil(t, c.take(at), "it is time for another listing")
	c.found(at, [][]byte{[]byte("a")}, false)
	assert.Nil(t, c.take(at.Add(candidatesMax+1)))
}

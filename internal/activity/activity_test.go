package activity_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/activity"
)

// request is one for a key that has been answered at a time.
func request(key string, at time.Time, took time.Duration) strictkv.RequestEnd {
	return strictkv.RequestEnd{
		RequestBegin: strictkv.RequestBegin{
			Database: "db", Object: "db/+c/=" + key, Kind: strictkv.ObjectCell,
			Start: at.Add(-took),
		},
		Duration: took,
	}
}

// TestSeconds: each second has what ended in it, and is forgotten in time.
func TestSeconds(t *testing.T) {
	var m activity.Monitor
	o, now := m.Observer(), time.Unix(1_000_000, 0)
	for i := range 100 {
		took := time.Millisecond
		if i == 99 {
			took = time.Second
		}
		o.RequestEnd(t.Context(), request("k", now, took))
	}
	failed := request("k", now.Add(time.Second), time.Nanosecond)
	failed.Result = strictkv.ResultThrottled
	o.RequestEnd(t.Context(), failed)
	o.TxEnd(t.Context(), strictkv.TxEnd{
		TxBegin: strictkv.TxBegin{Start: now}, Duration: time.Second,
		Outcome: strictkv.OutcomeCommitted,
	})
	seconds, _ := m.Charts(now.Add(time.Second))
	require.Len(t, seconds, activity.Window)
	first, second := seconds[activity.Window-2], seconds[activity.Window-1]
	assert.Equal(t, 100, first.Requests)
	assert.InEpsilon(t, 1, first.P50, 0.1)
	assert.InEpsilon(t, 1, first.P99, 0.1, "99 of 100 were that fast")
	assert.Equal(t, 1, second.Requests)
	assert.Equal(t, 1, second.Failed)
	assert.Equal(t, 1, second.Commits)
	o.RequestEnd(t.Context(), request("k", now, time.Second))
	o.RequestEnd(t.Context(), request("k", now, time.Second))
	seconds, _ = m.Charts(now)
	assert.InEpsilon(t, 1000, seconds[activity.Window-1].P99, 0.1)
	o.RequestEnd(t.Context(), request("k", now.Add(activity.Window*time.Second), 0))
	seconds, _ = m.Charts(now.Add(activity.Window * time.Second))
	assert.Equal(t, 1, seconds[activity.Window-1].Requests, "a slot is used again")
	seconds, _ = m.Charts(now.Add(time.Hour))
	for _, s := range seconds {
		assert.Zero(t, s)
	}
}

// TestHottest: among thousands of keys, those are found of which most is asked, and forgotten when
// nobody asks any more.
func TestHottest(t *testing.T) {
	var m activity.Monitor
	o, now := m.Observer(), time.Unix(1_000_000, 0)
	for i := range 20_000 {
		o.RequestEnd(t.Context(), request(fmt.Sprint("cold", i%5000), now, 0))
		if i%10 == 0 {
			hot := request("hot", now, 0)
			hot.Result = strictkv.ResultRefused
			o.RequestEnd(t.Context(), hot)
		}
	}
	_, keys := m.Charts(now)
	require.Len(t, keys, activity.Hottest)
	hot := activity.Key{Collection: "c", Key: "hot", Requests: 2000, Refused: 2000}
	assert.Equal(t, hot, keys[0])
	o.RequestEnd(t.Context(), request("new", now.Add(30*24*time.Hour), 0))
	_, keys = m.Charts(now)
	assert.Equal(t, []activity.Key{{Collection: "c", Key: "new", Requests: 1}}, keys)
}

// TestHotLate: a key that gets hot when all that are counted have been asked for before, is found.
func TestHotLate(t *testing.T) {
	var m activity.Monitor
	o, now := m.Observer(), time.Unix(1_000_000, 0)
	for i := range 1024 {
		o.RequestEnd(t.Context(), request(fmt.Sprint("warm", i/4), now, 0))
	}
	for i := range 1000 {
		o.RequestEnd(t.Context(), request(fmt.Sprint("new", i), now, 0))
		o.RequestEnd(t.Context(), request("hot", now, 0))
	}
	_, keys := m.Charts(now)
	assert.Equal(t, "hot", keys[0].Key)
	assert.Greater(t, keys[0].Requests, 900)
}

// TestContended: what was counted of transactions in conflict is what the handle's Stats count.
func TestContended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m activity.Monitor
		db, err := strictkv.Open(t.Context(), "db", memory.New(),
			strictkv.WithObserver(m.Observer()))
		require.NoError(t, err)
		c, before := db.Collection([]byte("c")), db.Stats()
		opened, _ := m.Charts(time.Now())
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for range 5 {
					assert.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
						v, err := tx.Read(c, []byte("hot"))
						if err != nil && !assert.ErrorIs(t, err, strictkv.ErrNotFound) {
							return err
						}
						if err := tx.Write(c, fmt.Append(nil, i), v); err != nil {
							return err
						}
						return tx.Write(c, []byte("hot"), append(v, 'x'))
					}))
				}
			})
		}
		all.Wait()
		require.NoError(t, db.Close(context.WithoutCancel(t.Context())))
		got, sum := db.Stats().Sub(before), activity.Second{}
		seconds, keys := m.Charts(time.Now())
		for _, s := range seconds {
			sum.Requests, sum.Commits = sum.Requests+s.Requests, sum.Commits+s.Commits
		}
		for _, s := range opened {
			sum.Requests -= s.Requests
		}
		assert.EqualValues(t, got.Gets+got.Puts+got.Deletes+got.Lists, sum.Requests)
		assert.Equal(t, 40, sum.Commits)
		assert.Equal(t, "hot", keys[0].Key)
	})
}

package queue_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/queue"
)

// TestDamagedJobs: jobs that can't be read stop no others, however many they are, and are told
// of when nothing else is due.
func TestDamagedJobs(t *testing.T) {
	for name, c := range map[string]struct {
		value []byte
		want  error
	}{
		"damaged":      {[]byte{1, 2}, strictkv.ErrCorrupt},
		"later format": {[]byte{2}, strictkv.ErrFormat},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memory.New()
				q, db := open(t, mem, queue.Options{})
				jobs := db.Collection([]byte("queue")).Collection([]byte("jobs"))
				for i := range 40 {
					key := append(make([]byte, 8), fmt.Sprintf("bad%02d", i)...)
					require.NoError(t, jobs.Write(t.Context(), key, c.value))
				}
				enqueue(t, q, "a")
				enqueue(t, q, "b")
				var done []string
				work := func(_ context.Context, j *queue.Job) error {
					done = append(done, string(j.Payload))
					return nil
				}
				err := q.Work(t.Context(), work)
				require.ErrorIs(t, err, c.want)
				require.ErrorContains(t, err, "bad")
				assert.ElementsMatch(t, []string{"a", "b"}, done)
				empty(t, q)
				enqueue(t, q, "c")
				require.NoError(t, claim(t, q, "c").Complete(t.Context()))
				time.Sleep(queue.LeaseMax)
				require.ErrorIs(t, q.Work(t.Context(), work), c.want, "it is looked at again")
			})
		})
	}
}

// TestUnread: an operator sees which jobs can't be read, and puts them aside with all their bytes.
func TestUnread(t *testing.T) {
	q, db := open(t, memory.New(), queue.Options{})
	jobs := db.Collection([]byte("queue")).Collection([]byte("jobs"))
	enqueue(t, q, "a")
	later := append([]byte{2}, "what a later version writes"...)
	require.NoError(t, jobs.Write(t.Context(), append(make([]byte, 8), "later"...), later))
	require.NoError(t, jobs.Write(t.Context(), append(make([]byte, 8), "torn"...), []byte{1, 2}))
	healthy := claim(t, q, "a")
	for item, err := range jobs.Items(t.Context(), strictkv.Range{}) { // a good job, a bad key
		require.NoError(t, err)
		if bytes.HasSuffix(item.Key, []byte(healthy.ID)) {
			require.NoError(t, jobs.Write(t.Context(), []byte("short"), item.Value))
		}
	}

	unread := map[string]queue.Letter{}
	for l, err := range q.Unread(t.Context()) {
		require.NoError(t, err)
		unread[l.ID] = l
	}
	require.Len(t, unread, 3)
	require.ErrorIs(t, unread["later"].Damage, strictkv.ErrFormat)
	require.ErrorIs(t, unread["torn"].Damage, strictkv.ErrCorrupt)
	require.ErrorIs(t, unread["short"].Damage, strictkv.ErrCorrupt)
	assert.Equal(t, later, unread["later"].Payload)
	for _, err := range q.Unread(t.Context()) {
		require.NoError(t, err)
		break
	}

	for id := range unread {
		require.NoError(t, q.BuryUnread(t.Context(), id), id)
		require.ErrorIs(t, q.BuryUnread(t.Context(), id), strictkv.ErrNotFound, "it is gone")
	}
	require.ErrorIs(t, q.BuryUnread(t.Context(), healthy.ID), strictkv.ErrNotFound, "it is well")
	require.NoError(t, healthy.Complete(t.Context()))
	_, err := q.Claim(t.Context())
	require.Error(t, err, "of what was met before")
	empty(t, q)

	dead := map[string]queue.Letter{}
	for l, err := range q.Dead(t.Context()) {
		require.NoError(t, err)
		dead[l.ID] = l
	}
	assert.Equal(t, "a", string(dead["short"].Payload), "it can be read, and revived")
	delete(dead, "short")
	delete(unread, "short")
	assert.Equal(t, unread, dead)
	require.ErrorIs(t, q.Revive(t.Context(), "later"), strictkv.ErrFormat)
	require.NoError(t, q.Discard(t.Context(), "torn"))
	require.ErrorIs(t, q.Revive(t.Context(), "torn"), strictkv.ErrNotFound)
}

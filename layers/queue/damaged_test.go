package queue_test

import (
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

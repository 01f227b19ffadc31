package queue_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/queue"
)

// hole is a network that swallows requests while it is open.
type hole struct{ open atomic.Bool }

func (h *hole) over(b backend.Backend) backend.Backend {
	return faulty.New(b, faulty.Options{Before: func(ctx context.Context, _ faulty.Op) error {
		if !h.open.Load() {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}})
}

// TestWorkEndsWithItsLease: a consumer that can't reach the store stops when its lease ends,
// since another may then begin; be its requests refused, or never answered.
func TestWorkEndsWithItsLease(t *testing.T) {
	for name, swallowed := range map[string]bool{"refused": false, "swallowed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memory.New()
				var dark hole
				net := faulty.New(dark.over(mem), faulty.Options{})
				cut := func(off bool) {
					if swallowed {
						dark.open.Store(off)
					} else {
						net.SetOutage(off)
					}
				}
				q, _ := open(t, net, queue.Options{})
				other, _ := open(t, mem, queue.Options{})
				enqueue(t, q, "a")
				ctx, stop := context.WithCancel(t.Context())
				var ended time.Duration
				end := make(chan error, 1)
				go func() {
					end <- q.Work(ctx, func(ctx context.Context, j *queue.Job) error {
						time.Sleep(queue.DefaultLease) // it is extended meanwhile
						cut(true)
						at := time.Now()
						select {
						case <-ctx.Done():
						case <-time.After(time.Hour):
						}
						ended = time.Since(at)
						assert.ErrorIs(t, context.Cause(ctx), queue.ErrLost)
						assert.False(t, time.Now().Before(j.Deadline()), "the lease has ended")
						cut(false)
						stop()
						return ctx.Err()
					})
				}()
				time.Sleep(2*queue.DefaultLease + time.Second)
				require.NoError(t, claim(t, other, "a").Complete(t.Context()))
				require.ErrorIs(t, <-end, context.Canceled)
				assert.LessOrEqual(t, ended, queue.DefaultLease)
			})
		})
	}
}

// TestWorkOutlivesAnOutage: while its context lives, it goes on when the store answers again.
func TestWorkOutlivesAnOutage(t *testing.T) {
	for _, lease := range []time.Duration{time.Second, queue.DefaultLease} {
		t.Run(lease.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dark hole
				q, _ := open(t, dark.over(memory.New()), queue.Options{Lease: lease})
				enqueue(t, q, "a")
				ctx, stop := context.WithCancel(t.Context())
				end := make(chan error, 1)
				go func() {
					end <- q.Work(ctx, func(_ context.Context, j *queue.Job) error {
						if j.Attempt == 1 {
							dark.open.Store(true) // it can't be completed
						} else {
							stop()
						}
						return nil
					})
				}()
				time.Sleep(2 * time.Minute)
				dark.open.Store(false)
				require.ErrorIs(t, <-end, context.Canceled)
				empty(t, q)
			})
		})
	}
}

package txn_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
)

// The answer to a write is lost. The cell is read before that lands, so it is sent again; but the
// process stands still, without its clocks' knowing, between the look at its age and the request.
// Meanwhile the first copy lands, others delete what it has written, and sweep. So the second one
// finds nothing, as it expects.
func TestStandingStillBeforeAWriteIsSentAgain(t *testing.T) {
	for name, keys := range map[string][]string{"direct": {"=a"}, "staged": {"=a", "=b"}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.handle() // makes the database
				h := w.handleOnce()
				h.LoseAnswer("=a", 0, nil)
				h.After(faulty.Get, "=a", 0, func(a *faulty.Answer) { // served before it landed
					a.Object, a.Err = backend.Object{Time: a.Object.Time}, backend.ErrNotFound
				})
				h.Before(faulty.Put, "=a", 1, func(context.Context) error {
					pass(time.Millisecond)
					other := w.handleOnce()
					for _, key := range keys {
						v, _ := other.read(key)
						assert.Equal(t, "inserted", v, "it has committed")
					}
					for _, key := range keys {
						w.gone(key)
					}
					return nil
				})
				_, _ = h.tx(background, insert(keys...))
				h.drain()
				assert.Zero(t, h.Planned(), "all that was to happen has happened")
				for _, key := range keys {
					v, _ := w.handle().read(key)
					assert.Empty(t, v, "%s was written, and deleted, and is not written again", key)
				}
			})
		})
	}
}

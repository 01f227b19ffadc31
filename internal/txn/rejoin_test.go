package txn_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/txn"
)

// One of three leaves during an attempt that comes to nothing, and one during the next: the
// third is still there, and the group commits for it.
func TestTheLastOfAGroupIsNotLeftBehind(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.busy("=a")
		nth := h.sentBefore(faulty.Put, "=a")
		h.Before(faulty.Put, "=a", nth, func(context.Context) error {
			pass(4 * time.Second) // the first leaves; the group stands back, no longer
			w.overwrite("=a", 9)
			return nil
		})
		h.LoseAnswer("=a", nth+1, func() { pass(6 * time.Second) }) // the second leaves
		errs := make(chan error)
		for _, d := range []time.Duration{3 * time.Second, 9 * time.Second} {
			ctx, cancel := context.WithTimeout(background, d)
			defer cancel()
			go func() { errs <- h.engine.Run(ctx, txn.Options{}, increment("=a")) }()
			synctest.Wait()
		}
		third := make(chan error)
		go func() { third <- h.engine.Run(background, txn.Options{}, increment("=a")) }()
		for range 2 {
			require.ErrorIs(t, <-errs, context.DeadlineExceeded)
		}
		require.NoError(t, <-third)
		got, _ := h.read("=a")
		assert.Equal(t, "2", got, "of the second and the third")
	})
}

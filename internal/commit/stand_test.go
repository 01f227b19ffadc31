package commit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/commit"
)

// What follows is about a process that stands still for days, without its clocks' knowing, while
// others delete what it has written, and sweep: what is absent then proves nothing.
const days = 100 * time.Hour

// An attempt was killed by a tombstone, which is gone, and its late write lands. That another
// member held the intent days ago does not make it a commit.
func TestWhatWasSeenDaysAgoDoesNotCommit(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=r")
		h := w.handleOnce()
		h.must(func(tx *commit.Tx) error { return look(tx, "=r") }) // tells the time
		h.Before(faulty.Put, "=a", 0, func(context.Context) error {
			return backend.ErrOutcomeUnknown
		})
		h.Before(faulty.Put, "=a", 1, func(context.Context) error {
			pass(time.Millisecond)
			w.Leap(days)
			c, _ := w.Cell("=b")
			w.Put("=b", cell.Resolve(c, cell.Fold{Outcome: cell.Dead}))
			return nil
		})
		h.After(faulty.Put, "=a", 0, func(*faulty.Answer) {
			v, _ := h.read("=a")
			assert.Empty(t, v, "not committed")
		})
		_, err := h.tx(background, insert("=a", "=b"))
		require.NoError(t, err)
		h.drain()
		for _, key := range []string{"=a", "=b"} {
			v, _ := w.handle().read(key)
			assert.Equal(t, "inserted", v, key)
		}
	})
}

package txn_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txn"
)

// Under locks, too, a value is linked only before it may be garbage.
func TestLockedValueIsNotLinkedLate(t *testing.T) {
	for _, at := range []string{"=a", "=b"} { // the primary, and another
		t.Run(at, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				h := w.handle()
				h.tear()
				h.meanwhile("=b", 3, func() { pass(10 * time.Minute) })
				var mu sync.Mutex               // guards begun
				begun := map[string]time.Time{} // of uploads
				h.Every(func(_ context.Context, op faulty.Op, a *faulty.Answer) {
					mu.Lock()
					defer mu.Unlock()
					if _, ok := begun[op.Name]; !ok && a == nil && op.Kind == faulty.Put {
						begun[op.Name] = time.Now()
					}
				})
				big := strings.Repeat("x", txn.InlineMax+1)
				runs := 0
				_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
					if runs++; runs == 4 {
						pass(7 * time.Minute)
					}
					if err := update("new", "=a", "=b")(tx); err != nil {
						return err
					}
					return tx.Write(at, []byte(big), 0)
				})
				require.NoError(t, err)
				h.drain()
				c, _ := w.Cell(at)
				require.Equal(t, cell.External, c.Value.Kind)
				linked := false
				for name, since := range begun {
					if strings.HasSuffix(name, store.RefID(c.Value.Ref)) {
						linked = true
						assert.Less(t, time.Since(since), 15*time.Minute)
					}
				}
				assert.True(t, linked)
			})
		})
	}
}

// Who fails under locks does not wait for a heartbeat that gets no answer.
func TestHeartbeatDoesNotHoldUpAFailure(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		h.tear()
		h.meanwhile("=b", 3, func() { w.overwrite("=b", 5) })
		h.Before(faulty.Put, "=a", 4, func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		runs := 0
		var failed time.Time
		assert.PanicsWithValue(t, "user", func() {
			_, _ = h.tx(context.Background(), func(tx *txn.Tx) error {
				if runs++; runs == 5 {
					pass(3 * patience / 4)
					failed = time.Now()
					panic("user")
				}
				return update("new", "=a", "=b")(tx)
			})
		})
		assert.Less(t, time.Since(failed), time.Second)
		h.drain()
		for _, name := range []string{"=a", "=b"} {
			c, _ := w.Cell(name)
			assert.Nil(t, c.Intent, name)
		}
	})
}

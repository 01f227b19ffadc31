package txn_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/txn"
)

// hang makes all writes take until their context ends, from the nth of a cell on (""
// stands for every cell), and returns how to end that.
func (h *handle) hang(name string, nth int) (mend func()) {
	var mu sync.Mutex // guards n
	n := 0
	h.Every(func(ctx context.Context, op faulty.Op, a *faulty.Answer) {
		if a != nil || op.Kind != faulty.Put || name != "" && op.Name != prefix+name {
			return
		}
		mu.Lock()
		n++
		hangs := n > nth
		mu.Unlock()
		if hangs {
			<-ctx.Done()
		}
	})
	return func() { h.Every(nil) }
}

// Writes hang until the library's own timeouts end them. The caller's context has not
// ended, and the error does not say so; nor does one in doubt say that nothing was
// written.
func TestTimeoutsAreNotTheCallers(t *testing.T) {
	// A store of this test has 64 requests under way at once: one more is never sent.
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprintf("=%03d", i)
	}
	for _, x := range []struct {
		name  string
		fn    func(tx *txn.Tx) error
		hang  string
		from  int
		doubt bool
	}{
		{"direct", write("new", "=a"), "=a", 0, true},
		{"staged", write("new", "=a", "=b"), "=b", 0, true},
		{"staged, one is never sent: dead", write("new", many...), "", 0, false},
		{"pending: dead, as its commit write was not sent", copyOf("=r", "=a", "=b"), "=b", 0,
			false},
		{"commit write", copyOf("=r", "=a", "=b"), "=a", 1, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=r")
				h := w.handle()
				mend := h.hang(x.hang, x.from)
				_, err := h.tx(context.Background(), x.fn)
				mend()
				h.drain()
				require.Error(t, err)
				assert.NotErrorIs(t, err, context.DeadlineExceeded)
				assert.NotErrorIs(t, err, context.Canceled)
				if x.doubt {
					assert.ErrorIs(t, err, txn.ErrInDoubt)
					assert.NotErrorIs(t, err, backend.ErrUnavailable)
				} else {
					assert.NotErrorIs(t, err, txn.ErrInDoubt)
					assert.ErrorIs(t, err, backend.ErrUnavailable)
				}
				w.clean("=a", "=b")
				w.writable("=a", "=b")
			})
		})
	}
}

// The same with a deadline of the caller's: that is what the error tells of.
func TestDeadlineOfTheCaller(t *testing.T) {
	for name, fn := range map[string]func(tx *txn.Tx) error{
		"direct": write("new", "=a"), "staged": write("new", "=a", "=b"),
	} {
		for _, deadline := range []time.Duration{
			10 * time.Second, 45 * time.Second, 5 * time.Minute,
		} {
			t.Run(fmt.Sprint(name, " ", deadline), func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.Value(1, "=a", "=b")
					h := w.handle()
					mend := h.hang("=a", 0)
					ctx, cancel := context.WithTimeout(context.Background(), deadline)
					defer cancel()
					began := time.Now()
					_, err := h.tx(ctx, fn)
					mend()
					assert.Equal(t, deadline, time.Since(began))
					assert.ErrorIs(t, err, txn.ErrInDoubt)
					assert.ErrorIs(t, err, context.DeadlineExceeded)
					assert.NotErrorIs(t, err, backend.ErrUnavailable)
					h.drain()
					w.clean("=a", "=b")
				})
			})
		}
	}
}

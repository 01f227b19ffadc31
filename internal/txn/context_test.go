package txn_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/txn"
)

// counting is a context that counts those that are derived from it, and have not ended.
type counting struct {
	context.Context

	n *atomic.Int64
}

func (c counting) AfterFunc(func()) (stop func() bool) {
	c.n.Add(1)
	return func() bool {
		c.n.Add(-1)
		return true
	}
}

func (c counting) Done() <-chan struct{} { return make(chan struct{}) }

// A caller's context may live as long as its process: a transaction leaves nothing in it.
func TestNothingIsLeftInAContext(t *testing.T) {
	own := errors.New("own")
	for name, x := range map[string]struct {
		tear bool
		fn   func(tx *txn.Tx) error
	}{
		"direct":    {false, update("new", "=a")},
		"parallel":  {false, update("new", "=a", "=b")},
		"validated": {false, copyOf("=r", "=a", "=b")},
		"locked":    {true, update("new", "=a", "=b")},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=r")
				h := w.handle()
				if x.tear {
					h.tear()
				}
				ctx := counting{context.Background(), new(atomic.Int64)}
				_, err := h.tx(ctx, x.fn)
				require.NoError(t, err)
				assert.Zero(t, h.Planned())
				assert.Zero(t, ctx.n.Load())
				_, err = h.tx(ctx, func(tx *txn.Tx) error { return errors.Join(x.fn(tx), own) })
				require.ErrorIs(t, err, own)
				assert.Zero(t, ctx.n.Load())
			})
		})
	}
}

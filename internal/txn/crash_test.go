package txn_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/txn"
)

// crashPoint is one call of the store, before or after its effect.
type crashPoint struct {
	call  int
	after bool
}

// crashAt makes the handle's process die there: nothing that it sends later arrives,
// and no answer reaches it any more.
func (h *handle) crashAt(p crashPoint) (died func() bool) {
	var mu sync.Mutex // guards both below
	calls, dead := 0, false
	h.Every(func(_ context.Context, _ faulty.Op, a *faulty.Answer) {
		mu.Lock()
		defer mu.Unlock()
		n := calls
		if (a != nil) != p.after {
			return
		}
		if calls++; n == p.call {
			dead = true
			h.Crash()
		}
	})
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		return dead
	}
}

// A client dies at any call of a commit, background included. Another one sees all or
// nothing of it, nothing that was acknowledged is lost, and no key stays locked for
// much longer than its patience.
func TestCrashAtEveryCall(t *testing.T) {
	for name, x := range map[string]struct {
		fn   func(tx *txn.Tx) error
		keys []string
		tear bool
	}{
		"direct":          {update("new", "=a"), []string{"=a"}, false},
		"parallel":        {update("new", "=a", "=b", "=c"), []string{"=a", "=b", "=c"}, false},
		"validated":       {copyOf("=r", "=a", "=b", "=c"), []string{"=a", "=b", "=c"}, false},
		"long":            {write("new", names(10)...), names(10), false},
		"long, validated": {copyOf("=r", names(10)...), names(10), false},
		"escalated":       {update("new", "=a", "=b", "=c"), []string{"=a", "=b", "=c"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			points := 0
			for more := true; more; points++ {
				more = false
				for _, after := range []bool{false, true} {
					for _, first := range []bool{false, true} {
						inWorld(t, func(w *world) {
							p := crashPoint{points, after}
							w.Value(1, append([]string{"=r"}, x.keys...)...)
							h := w.handle()
							if x.tear {
								h.tear()
							}
							more = h.crashAndLook(p, x.fn, x.keys, first) || more
						})
					}
				}
			}
			assert.Greater(t, points, 2*len(x.keys), "crash points")
		})
	}
}

// crashAndLook commits, dies at the point, and looks what another handle makes of it:
// first by reading, or first by writing. It reports whether the point was reached.
func (h *handle) crashAndLook(
	p crashPoint, fn func(tx *txn.Tx) error, keys []string, writeFirst bool,
) bool {
	w := h.w
	died := h.crashAt(p)
	// After the crash the client's own retries need not be waited for.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := h.tx(ctx, fn)
	acked := err == nil
	h.stop()
	h.drain()
	where := fmt.Sprintf("died at %+v: %v, acknowledged %v", p, died(), acked)

	other := w.handle()
	start := time.Now()
	if writeFirst {
		_, err := other.tx(context.Background(), func(tx *txn.Tx) error {
			return tx.Write(keys[len(keys)-1], []byte("over"), 0)
		})
		require.NoError(w.T, err, where)
	}
	seen := map[string]int{}
	for i, name := range keys {
		v, _ := other.read(name)
		if writeFirst && i == len(keys)-1 {
			assert.Equal(w.T, "over", v, where)
			continue
		}
		seen[v]++
	}
	assert.LessOrEqual(w.T, len(seen), 1, "all or nothing: %v; %s", seen, where)
	if acked {
		assert.Zero(w.T, seen["v"], "an acknowledged write is lost; %s", where)
	}
	runs, err := other.tx(context.Background(), update("last", keys...))
	require.NoError(w.T, err, where)
	assert.LessOrEqual(w.T, runs, 2, where)
	assert.Less(w.T, time.Since(start), patience+patience/4, "held up; %s", where)
	other.drain()
	for _, name := range keys {
		got, _ := w.Cell(name)
		assert.Nil(w.T, got.Intent, where)
		assert.Equal(w.T, inline("last"), got.Value, where)
	}
	return died()
}

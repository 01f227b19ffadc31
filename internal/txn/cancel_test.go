package txn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txn"
)

// moment is a request during which the caller leaves.
type moment struct {
	kind faulty.Kind
	name string
	nth  int
	// lands reports whether the request has its effect.
	lands bool
}

// leave makes the caller leave in that moment.
func (h *handle) leave(m moment, cancel context.CancelFunc) {
	if m.lands {
		h.After(m.kind, m.name, m.nth, func(a *faulty.Answer) {
			pass(time.Millisecond) // the others of the wave land
			cancel()
			a.Err = context.Canceled
		})
		return
	}
	h.Before(m.kind, m.name, m.nth, func(ctx context.Context) error {
		pass(time.Millisecond)
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
}

// A caller leaves. Whatever has become of the transaction, its error tells of the
// context and of the doubt, and the background settles it: another handle can use
// every key without waiting.
func TestCallerLeaves(t *testing.T) {
	direct, staged := write("new", "=a"), write("new", "=a", "=b")
	pending := copyOf("=r", "=a", "=b")
	const put, get, clarifying = faulty.Put, faulty.Get, "clarifying an unknown write"
	for _, x := range []struct {
		name  string
		fn    func(tx *txn.Tx) error
		when  moment
		doubt bool
		a     string // what =a holds in the end; "" if it may be either
	}{
		{"direct, on its way, never lands", direct, moment{put, "=a", 0, false}, true, "v"},
		{"direct, landed", direct, moment{put, "=a", 0, true}, true, "new"},
		{"staged, one on its way, never lands", staged, moment{put, "=b", 0, false}, true, "v"},
		{"staged, one on its way, landed", staged, moment{put, "=b", 0, true}, true, "new"},
		{"staged, the primary", staged, moment{put, "=a", 0, false}, true, "v"},
		{"pending, an intent on its way", pending, moment{put, "=b", 0, false}, false, "v"},
		{"pending, an intent landed", pending, moment{put, "=a", 0, true}, false, "v"},
		{"pending, validating", pending, moment{get, "=r", 1, false}, false, "v"},
		{"pending, validated", pending, moment{get, "=r", 1, true}, false, "v"},
		{"commit write on its way", pending, moment{put, "=a", 1, false}, true, "v"},
		{"commit write landed", pending, moment{put, "=a", 1, true}, true, "copied"},
		{"reading", staged, moment{get, "=b", 0, false}, false, "v"},
		{clarifying, staged,
			moment{get, "=b", 1, false}, true, "new"}, // its answer is lost first
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=r")
				h := w.handle()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if x.name == clarifying {
					h.LoseAnswer("=b", 0, nil)
				}
				h.leave(x.when, cancel)
				_, err := h.tx(ctx, x.fn)
				require.ErrorIs(t, err, context.Canceled)
				assert.Equal(t, x.doubt, errors.Is(err, txn.ErrInDoubt), "in doubt: %v", err)
				assert.Zero(t, h.Planned())
				h.drain()
				for _, name := range []string{"=a", "=b"} {
					got, _ := w.Cell(name)
					assert.Nil(t, got.Intent, name)
				}
				v, took := w.handle().read("=a")
				assert.Equal(t, x.a, v)
				assert.Zero(t, took)
				w.writable("=a", "=b", "=r")
			})
		})
	}
}

func TestContextEndedBeforeAnythingWasSent(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		runs, err := h.tx(ctx, write("new", "=a"))
		assert.Equal(t, context.Canceled, err)
		assert.Zero(t, runs)
		for _, fn := range []func(tx *txn.Tx) error{
			write("new", "=a"), write("new", "=a", "=b"), copyOf("=b", "=a"),
		} {
			ctx, cancel := context.WithCancel(context.Background())
			_, err := h.tx(ctx, func(tx *txn.Tx) error {
				err := look(tx, "=a", "=b")
				cancel()
				return errors.Join(err, fn(tx))
			})
			assert.ErrorIs(t, err, context.Canceled)
			assert.NotErrorIs(t, err, txn.ErrInDoubt)
			assert.Zero(t, h.puts())
		}
		w.clean("=a", "=b")
	})
}

// The commit write was refused, which may be the duplicate of one that landed: whoever leaves
// then does not know, but leaves nothing behind.
func TestRefusedCommitWriteOfALeavingCallerIsInDoubt(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=r")
		h := w.handle()
		ctx, cancel := context.WithCancel(context.Background())
		h.Before(faulty.Put, "=a", 1, func(context.Context) error { w.drop("=a"); return nil })
		h.After(faulty.Put, "=a", 1, func(a *faulty.Answer) {
			require.ErrorIs(t, a.Err, backend.ErrPrecondition)
			cancel()
		})
		_, err := h.tx(ctx, copyOf("=r", "=a", "=b"))
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, err, txn.ErrInDoubt)
		h.drain()
		w.clean("=a", "=b")
	})
}

// Where a write is sent once at most, whoever leaves then knows: nothing was written.
func TestRefusedCommitWriteOfALeavingCallerOnceIsDead(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=r")
		h := w.handleOnce()
		ctx, cancel := context.WithCancel(context.Background())
		h.Before(faulty.Put, "=a", 1, func(context.Context) error { w.drop("=a"); return nil })
		h.After(faulty.Put, "=a", 1, func(a *faulty.Answer) {
			require.ErrorIs(t, a.Err, backend.ErrPrecondition)
			cancel()
		})
		_, err := h.tx(ctx, copyOf("=r", "=a", "=b"))
		assert.ErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, txn.ErrInDoubt)
		h.drain()
		w.clean("=a", "=b")
	})
}

// The caller has left with a write on its way that lands only after the background has
// fenced the attempt: it is refused.
func TestLateWriteOfAFencedAttemptIsRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		ctx, cancel := context.WithCancel(context.Background())
		h.leave(moment{faulty.Put, "=b", 0, false}, cancel)
		_, err := h.tx(ctx, write("new", "=a", "=b"))
		require.ErrorIs(t, err, txn.ErrInDoubt)
		h.drain()
		late := h.Sent(faulty.Put, "=b")[0]
		_, err = w.Mem.Put(context.Background(), late.Name, late.Data, late.Condition)
		assert.ErrorIs(t, err, backend.ErrPrecondition)
		w.clean("=a", "=b")
	})
}

// Both writes were on their way when the caller left, and land after the background has
// looked: they commit, and whoever meets them finds that out.
func TestLateWritesThatNobodyFenced(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		h := w.handle()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for _, name := range []string{"=a", "=b"} {
			h.leave(moment{faulty.Put, name, 0, false}, cancel)
		}
		_, err := h.tx(ctx, write("new", "=a", "=b"))
		require.ErrorIs(t, err, txn.ErrInDoubt)
		h.drain()
		other := w.handle()
		for i, name := range []string{"=a", "=b"} {
			late := h.Sent(faulty.Put, name)[0]
			_, err = w.Mem.Put(context.Background(), late.Name, late.Data, late.Condition)
			require.NoError(t, err)
			v, took := other.read("=a")
			assert.Equal(t, []string{"v", "new"}[i], v, "commits at the instant the last lands")
			assert.Zero(t, took)
		}
		got, _ := w.Cell("=b")
		require.True(t, got.Intent != nil && got.Intent.Mode == cell.Staged)
		w.writable("=a", "=b")
	})
}

package txn_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txid"
	"github.com/strictkv/strictkv/internal/txn"
)

// Who leaves a group of which nothing has been sent that may commit has done nothing, and
// knows it. The others go on without him.
func TestWhoLeavesAGroupThatHasSentNothing(t *testing.T) {
	// At the end of the first second the group begins; during the third one of it leaves.
	const stays, leaves = 10 * time.Second, 2 * time.Second
	for name, x := range map[string]struct {
		fn      func(names ...string) func(tx *txn.Tx) error
		arrange func(w *world, h *handle)
	}{
		"it waits for another's attempt": {
			func(names ...string) func(tx *txn.Tx) error { return write("new", names...) },
			func(w *world, h *handle) {
				h.meanwhileBusy(func() {
					w.rival(1, cell.Pending, "=a")
					_, err := h.rs.Fetch(background, "=a")
					require.NoError(w.T, err)
				})
			}},
		"its first attempt is dead": {
			func(names ...string) func(tx *txn.Tx) error { return write("new", names...) },
			func(w *world, h *handle) {
				h.meanwhileBusy(func() { w.rival(1, cell.Pending, "=a") })
			}},
		"it is being validated": {
			func(names ...string) func(tx *txn.Tx) error { return copyOf("=r", names...) },
			func(_ *world, h *handle) { h.slow("=r", 1500*time.Millisecond) }},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=r")
				h := w.handle()
				_, err := h.tx(background, func(tx *txn.Tx) error { return look(tx, "=r") })
				require.NoError(t, err)
				x.arrange(w, h)
				h.busy("=a")
				left := make(chan error)
				go func() {
					ctx, cancel := context.WithTimeout(background, leaves)
					defer cancel()
					left <- h.engine.Run(ctx, txn.Options{}, x.fn("=a", "=b"))
				}()
				began := time.Now()
				for _, err := range h.all(x.fn("=a"), x.fn("=a")) {
					require.NoError(t, err)
				}
				assert.Less(t, time.Since(began), stays)
				err = <-left
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.NotErrorIs(t, err, txn.ErrInDoubt)
				assert.Zero(t, h.engine.Stats().InDoubt.Load())
				h.drain()
				_, version := w.Cell("=b")
				if version != "" {
					got, _ := h.read("=b")
					assert.Empty(t, got, "he has written nothing")
				}
			})
		})
	}
}

// The same where there is nothing to write in the end: what the others have read must not be of
// one who was told that he has done nothing.
func TestWhoLeavesAGroupThatWritesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Write(1, cell.Delete, cell.Value{}, "=a")
		h := w.handle()
		remove := func(saw *string) func(tx *txn.Tx) error {
			return func(tx *txn.Tx) error {
				v, err := tx.Read("=a")
				if err == nil || errors.Is(err, backend.ErrNotFound) {
					*saw, err = string(v), tx.Delete("=a")
				}
				return err
			}
		}
		h.After(faulty.Put, "=a", 1, func(*faulty.Answer) { pass(time.Second) })
		h.must(write("old", "=a"))
		h.start(remove(new(string)))
		h.slow("=a", 3*time.Second)
		left := make(chan error)
		go func() {
			ctx, cancel := context.WithTimeout(background, 2*time.Second)
			defer cancel()
			left <- h.engine.Run(ctx, txn.Options{}, write("left", "=a"))
		}()
		synctest.Wait()
		var first, last string
		for _, err := range h.all(remove(&first), remove(&last)) {
			require.NoError(t, err)
		}
		err := <-left
		require.ErrorIs(t, err, context.DeadlineExceeded)
		if !errors.Is(err, txn.ErrInDoubt) {
			assert.Empty(t, first, "he has done nothing")
		}
		assert.Empty(t, last)
	})
}

// meanwhileBusy makes something happen once the transaction of busy has written =a.
func (h *handle) meanwhileBusy(do func()) {
	n := h.sentBefore(faulty.Put, "=a")
	go func() {
		for len(h.Sent(faulty.Put, "=a")) == n {
			pass(time.Millisecond)
		}
		pass(10 * time.Millisecond)
		do()
	}()
}

// When all have left, the group ends before it has waited for anything else.
func TestAGroupEndsWhenAllHaveLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		h := w.handle()
		h.meanwhileBusy(func() { w.rival(1, cell.Pending, "=a") })
		h.busy("=a")
		left := make(chan error)
		for range 2 {
			go func() {
				ctx, cancel := context.WithTimeout(background, 1500*time.Millisecond)
				defer cancel()
				left <- h.engine.Run(ctx, txn.Options{}, write("new", "=a"))
			}()
		}
		for range 2 {
			require.NotErrorIs(t, <-left, txn.ErrInDoubt)
		}
		h.drain()
		pass(patience)
		a, _ := w.Cell("=a")
		assert.Equal(t, id(1), a.Intent.Tx, "nobody has needed the key any more")
	})
}

// A group ranks as its eldest does, but is not the same: one that has left it and goes on by
// itself would wait for the group, and the group for him.
func TestAGroupHasARankOfItsOwn(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.busy("=a", "=b")
		n := h.sentBefore(faulty.Put, "=a")
		before, _ := w.Cell("=a")
		var mu sync.Mutex // guards ranks
		ranks := map[txid.Priority]bool{}
		h.Every(func(_ context.Context, op faulty.Op, a *faulty.Answer) {
			if a == nil || op.Kind != faulty.Put || op.Name != prefix+"=a" {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			c, _ := w.Cell("=a")
			if c.Intent != nil && c.Intent.Tx != before.Intent.Tx {
				ranks[c.Intent.Priority] = true
			}
		})
		h.meanwhile("=b", n, func() { w.overwrite("=b", 9) })
		runs := 0
		eldest := func(tx *txn.Tx) error {
			if runs++; runs == 3 { // the group's second try: it goes by itself
				return errors.Join(increment("=a", "=b")(tx), tx.Abort())
			}
			return increment("=a", "=b")(tx)
		}
		began := time.Now().UnixNano()
		for _, err := range h.all(eldest, increment("=a", "=b"), increment("=a", "=b")) {
			require.NoError(t, err)
		}
		assert.Len(t, ranks, 2, "the group's, and that of the one that goes by itself")
		for rank := range ranks {
			assert.Equal(t, began, rank.Time)
		}
	})
}

// A slow transaction that has taken locks does not wait in line for others of its handle, who
// may be waiting for these.
func TestLocksDoNotWaitInLine(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		h := w.handle()
		h.busy("=a", "=b", "=c")
		after := func(name string, nth int) { // of what the slow one sends
			h.meanwhile(name, h.sentBefore(faulty.Put, name)+nth, func() {
				w.overwrite(name, byte(10+nth))
			})
		}
		runs := 0
		var locked time.Time
		others := make(chan error, 1)
		slow := func(tx *txn.Tx) error {
			switch runs++; runs {
			case 2: // in a group
				pass(300 * time.Millisecond)
			case 3: // by itself
				after("=b", 0)
				after("=b", 1)
				after("=c", 1)
				after("=b", 2)
			case 6:
				locked = time.Now()
				go func() {
					others <- h.engine.Run(background, txn.Options{}, write("other", "=a"))
				}()
				pass(10 * time.Millisecond)
			}
			return increment("=a", "=b", "=c")(tx)
		}
		for _, err := range h.all(slow, increment("=a")) {
			require.NoError(t, err)
		}
		assert.EqualValues(t, 1, h.engine.Stats().Escalated.Load())
		assert.Equal(t, 6, runs)
		assert.Less(t, time.Since(locked), time.Second)
		require.NoError(t, <-others)
	})
}

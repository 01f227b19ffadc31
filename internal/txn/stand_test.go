package txn_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txn"
)

// What follows is about a process that stands still for days, without its clocks' knowing, while
// others delete what it has written, and sweep: what is absent then proves nothing.
const days = 100 * time.Hour

// gone is what has become of a key days after it was deleted.
func (w *world) gone(name string) {
	w.Leap(days)
	w.Remove(name)
}

// A write has landed, but its answer is lost, or is a duplicate's.
func TestStandingStillAfterAWriteThatLanded(t *testing.T) {
	for cause, x := range map[string]struct {
		err  error
		open func(*world) *handle
	}{
		"lost":            {backend.ErrOutcomeUnknown, (*world).handle},
		"lost, sent once": {backend.ErrOutcomeUnknown, (*world).handleOnce},
		"duplicate":       {backend.ErrPrecondition, (*world).handle},
	} {
		for name, keys := range map[string][]string{"direct": {"=a"}, "staged": {"=a", "=b"}} {
			t.Run(name+", "+cause, func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.handle() // makes the database
					h := x.open(w)
					h.After(faulty.Put, "=a", 0, func(a *faulty.Answer) {
						pass(time.Millisecond) // all have landed
						for _, key := range keys {
							w.gone(key)
						}
						a.Stamp, a.Err = backend.Stamp{}, x.err
					})
					_, err := h.tx(background, insert(keys...))
					require.ErrorIs(t, err, txn.ErrInDoubt)
					h.drain()
					c, _ := w.Cell("=a")
					assert.Zero(t, *c, "it was written, and deleted, and is not written again")
				})
			})
		}
	}
}

// Who has asked the store nothing for hours is in no doubt for that: the process's clocks tell how
// long it was.
func TestIdleForHours(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handleOnce()
		h.must(insert("=a"))
		for _, name := range []string{"=b", "=c"} {
			pass(10 * time.Hour)
			h.LoseRequest(name, 0, nil)
			h.must(insert(name))
		}
		pass(10 * time.Hour)
		h.LoseRequest("=d", 0, nil)
		h.must(insert("=d", "=e"))
		h.drain()
	})
}

// The commit write has landed, and its answer is lost.
func TestStandingStillAfterTheCommitWrite(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=r")
		h := w.handle()
		h.LoseAnswer("=a", 1, func() { w.gone("=a") })
		_, err := h.tx(background, copyOf("=r", "=a"))
		require.ErrorIs(t, err, txn.ErrInDoubt)
		h.drain()
		c, _ := w.Cell("=a")
		assert.Zero(t, *c, "it was written, and deleted, and is not written again")
	})
}

// An attempt was killed by a tombstone, which is gone, and its late write lands. That another
// member held the intent days ago does not make it a commit.
func TestWhatWasSeenDaysAgoDoesNotCommit(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=r")
		h := w.handleOnce()
		h.must(func(tx *txn.Tx) error { return look(tx, "=r") }) // tells the time
		h.Before(faulty.Put, "=a", 0, func(context.Context) error {
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

// Somebody writes two keys together. A reader has seen the one before that, the other after it,
// and looks again after the one has been deleted, and swept.
func TestReadsDaysApart(t *testing.T) {
	for name, wait := range map[string]func(w *world){
		"by all clocks":        func(*world) { pass(days) },
		"by the store's clock": func(w *world) { w.Leap(days) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=y")
				h := w.handleOnce()
				first := true
				var y string
				_, err := h.tx(background, func(tx *txn.Tx) error {
					require.NoError(t, look(tx, "=x"))
					if first {
						w.Write(2, cell.Put, inline("new"), "=x", "=y")
					}
					v, err := tx.Read("=y")
					require.NoError(t, err)
					if y = string(v); first {
						pass(time.Millisecond)
						wait(w)
						w.Remove("=x")
						w.Write(3, cell.Put, inline("newer"), "=y")
					}
					first = false
					return nil
				})
				require.NoError(t, err)
				assert.Equal(t, "newer", y, "x and y as they were at one instant")
			})
		})
	}
}

// A value is renewed before it is due, while a reader that has seen it stands still for less than
// its clocks would show.
func TestStandingStillPastAnEnd(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		v := inline("first")
		v.Expires = time.Now().Add(time.Second).UnixNano()
		w.Write(1, cell.Put, v, "=x")
		w.Value(1, "=y")
		runs, got := 0, ""
		err := h.engine.Run(background, txn.Options{ReadOnly: true}, func(tx *txn.Tx) error {
			runs++
			b, err := tx.Read("=x")
			if got = string(b); err != nil {
				got = err.Error()
			}
			if runs == 1 {
				w.Write(2, cell.Put, inline("renewed"), "=x")
				w.Leap(3 * time.Second)
				_, _, err := h.engine.Read(background, "=y", 0)
				require.NoError(t, err)
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, "renewed", got, "there was a value at each instant")
	})
}

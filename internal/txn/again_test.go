package txn_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txn"
)

// The answer to a write is lost. The cell is read before that lands, so it is sent again; but the
// process stands still, without its clocks' knowing, between the look at its age and the request.
// Meanwhile the first copy lands, others delete what it has written, and sweep. So the second one
// finds nothing, as it expects.
func TestStandingStillBeforeAWriteIsSentAgain(t *testing.T) {
	for name, x := range map[string]struct {
		creates bool // the database: no other answer has told it the time
		keys    []string
	}{
		"direct":             {false, []string{"=a"}},
		"staged":             {false, []string{"=a", "=b"}},
		"direct, by creator": {true, []string{"=a"}},
		"staged, by creator": {true, []string{"=a", "=b"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				if !x.creates {
					w.handle()
				}
				h := w.handleOnce()
				h.LoseAnswer("=a", 0, nil)
				h.After(faulty.Get, "=a", 0, func(a *faulty.Answer) { // served before it landed
					a.Object, a.Err = backend.Object{Time: a.Object.Time}, backend.ErrNotFound
				})
				h.Before(faulty.Put, "=a", 1, func(context.Context) error {
					pass(time.Millisecond)
					other := w.handleOnce()
					for _, key := range x.keys {
						v, _ := other.read(key)
						assert.Equal(t, "inserted", v, "it has committed")
					}
					for _, key := range x.keys {
						w.gone(key)
					}
					return nil
				})
				_, err := h.tx(background, insert(x.keys...))
				assert.ErrorIs(t, err, txn.ErrInDoubt)
				h.drain()
				assert.Zero(t, h.Planned(), "all that was to happen has happened")
				for _, key := range x.keys {
					v, _ := w.handle().read(key)
					assert.Empty(t, v, "%s was written, and deleted, and is not written again", key)
				}
			})
		})
	}
}

// What is fenced is written by another attempt, whatever becomes of the fence. That is no conflict.
func TestFencedIsTriedAgain(t *testing.T) {
	// The first Put of =a is lost, so the second is the fence, and the first that is answered.
	for name, arrange := range map[string]func(h *handle){
		"the fence lands":      func(*handle) {},
		"the fence is lost":    func(h *handle) { h.LoseRequest("=a", 1, nil) },
		"its answer is lost":   func(h *handle) { h.LoseAnswer("=a", 0, nil) },
		"so is that of others": func(h *handle) { h.LoseRequest("=b", 0, nil) },
		"its refusal is a duplicate": func(h *handle) {
			h.After(faulty.Put, "=a", 0, func(a *faulty.Answer) {
				a.Stamp, a.Err = backend.Stamp{}, backend.ErrPrecondition
			})
		},
	} {
		for kind, keys := range map[string][]string{"direct": {"=a"}, "staged": {"=a", "=b"}} {
			t.Run(kind+", "+name, func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.handle() // makes the database
					h := w.handle()
					h.LoseRequest("=a", 0, nil)
					arrange(h)
					require.NoError(t, h.engine.Run(background, txn.Options{MaxAttempts: 1},
						insert(keys...)))
					h.drain()
					for _, key := range keys {
						v, _ := w.handle().read(key)
						assert.Equal(t, "inserted", v)
						c, _ := w.Cell(key)
						assert.Nil(t, c.Intent)
					}
				})
			})
		}
	}
}

// An external value is swept while the process stands still before the write that links it, and the
// fence is gone as well. The link's answer is lost, and the cell is read before it lands.
func TestStandingStillBeforeALinkWhoseAnswerIsLost(t *testing.T) {
	inWorld(t, func(w *world) {
		w.handle() // makes the database
		h := w.handleOnce()
		big := make([]byte, txn.InlineMax+1)
		h.Before(faulty.Put, "=a", 1, func(context.Context) error { // after the tombstone
			w.Leap(days)
			w.Remove(strings.TrimPrefix(h.uploads("=a")[0], prefix))
			w.Remove("=a")
			return nil
		})
		h.After(faulty.Put, "=a", 1, func(a *faulty.Answer) {
			a.Stamp, a.Err = backend.Stamp{}, backend.ErrOutcomeUnknown
		})
		h.After(faulty.Get, "=a", 0, func(a *faulty.Answer) { // served before it landed
			a.Object, a.Err = backend.Object{Time: a.Object.Time}, backend.ErrNotFound
		})
		_, _ = h.tx(background, func(tx *txn.Tx) error { return tx.Insert("=a", big, 0) })
		h.drain()
		_, err := w.handle().tx(background, func(tx *txn.Tx) error {
			v, err := tx.Read("=a")
			if err == nil {
				assert.Len(t, v, len(big))
			}
			return err
		})
		assert.NotErrorIs(t, err, backend.ErrCorrupt, "the value is there, or the key is not")
	})
}

// A link is based on an object, whatever becomes of the first tombstone that is written for it.
func TestValueIsLinkedOverAnObject(t *testing.T) {
	big := make([]byte, txn.InlineMax+1)
	insertBig := func(tx *txn.Tx) error { return tx.Insert("=a", big, 0) }
	for name, x := range map[string]struct {
		fault func(w *world, h *handle)
		puts  int // of the cell
	}{
		"it lands":           {func(*world, *handle) {}, 2},
		"it is lost":         {func(_ *world, h *handle) { h.LoseRequest("=a", 0, nil) }, 3},
		"its answer is lost": {func(_ *world, h *handle) { h.LoseAnswer("=a", 0, nil) }, 2},
		"it can't be sent": {func(_ *world, h *handle) {
			h.Before(faulty.Put, "=a", 0, func(context.Context) error { return backend.ErrInvalid })
		}, 3},
		"there is one": {func(w *world, _ *handle) { w.Put("=a", cell.Fence(&cell.Cell{})) }, 2},
		"two are lost": {func(_ *world, h *handle) {
			h.LoseRequest("=a", 0, nil)
			h.LoseRequest("=a", 1, nil)
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.handle() // makes the database
				h := w.handleOnce()
				x.fault(w, h)
				h.must(insertBig)
				h.drain()
				puts := h.Sent(faulty.Put, "=a")
				assert.Len(t, puts, x.puts)
				assert.NotEqual(t, backend.IfAbsent(), puts[len(puts)-1].Condition, "the link's")
				v, _ := w.handle().read("=a")
				assert.Len(t, v, len(big))
			})
		})
	}
}

// A store that takes no tombstone ends the transaction, in bounded time.
func TestValueThatCannotBeLinked(t *testing.T) {
	inWorld(t, func(w *world) {
		w.handle() // makes the database
		h := w.handleOnce()
		h.Refuse("=a")
		_, err := h.tx(background, func(tx *txn.Tx) error {
			return tx.Insert("=a", make([]byte, txn.InlineMax+1), 0)
		})
		assert.ErrorIs(t, err, backend.ErrUnavailable)
		h.drain()
		assert.Len(t, h.Sent(faulty.Delete, ""), 1, "the value is removed")
	})
}

// The tombstone is used whatever the cache keeps.
func TestValueIsLinkedWithoutACache(t *testing.T) {
	inWorld(t, func(w *world) {
		w.handle() // makes the database
		net := w.Net()
		net.Once = true
		h := w.connect(net, 0)
		h.must(func(tx *txn.Tx) error {
			return tx.Insert("=a", make([]byte, txn.InlineMax+1), 0)
		})
		h.drain()
		assert.Len(t, h.Sent(faulty.Put, "=a"), 2)
	})
}

// A blind write learns that there is no object while its value is uploaded, and makes one.
func TestTombstoneBesideTheUpload(t *testing.T) {
	inWorld(t, func(w *world) {
		w.handle() // makes the database
		h := w.handleOnce()
		const upload = time.Second
		h.Every(func(_ context.Context, op faulty.Op, a *faulty.Answer) {
			if a == nil && len(op.Data) > txn.InlineMax {
				pass(upload)
			}
		})
		var took time.Duration
		start := time.Now()
		h.Before(faulty.Put, "=a", 0, func(context.Context) error {
			took = time.Since(start)
			return nil
		})
		h.must(func(tx *txn.Tx) error { return tx.Write("=a", make([]byte, txn.InlineMax+1), 0) })
		h.drain()
		assert.Less(t, took, upload)
		assert.Len(t, h.Sent(faulty.Put, "=a"), 2)
	})
}

// Who stages a large value and does not link it leaves a tombstone at most. What is under way
// for it is given up, and waited for.
func TestValueThatIsNotLinked(t *testing.T) {
	inWorld(t, func(w *world) {
		w.handle() // makes the database
		h := w.handleOnce()
		ended := false
		h.Before(faulty.Put, "=a", 0, func(ctx context.Context) error {
			<-ctx.Done()
			pass(time.Second)
			ended = true
			return ctx.Err()
		})
		start := time.Now()
		_, err := h.tx(background, func(tx *txn.Tx) error {
			if err := tx.Insert("=a", make([]byte, txn.InlineMax+1), 0); err != nil {
				return err
			}
			pass(time.Millisecond)
			return tx.Abort()
		})
		assert.ErrorIs(t, err, txn.ErrAborted)
		h.drain()
		assert.True(t, ended, "the tombstone is waited for")
		assert.Less(t, time.Since(start), 5*time.Second, "and given up")
		assert.Zero(t, h.Planned())
	})
}

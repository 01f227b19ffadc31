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

// Within a sweep's horizon an attempt must be over: what it finds absent later may have
// been there, and its write must not be sent again.
func TestAttemptThatLastsTooLongIsInDoubt(t *testing.T) {
	for name, keys := range map[string][]string{"direct": {"=a"}, "staged": {"=a", "=b"}} {
		for wait, want := range map[time.Duration]error{
			14 * time.Minute: nil, 16 * time.Minute: txn.ErrInDoubt,
		} {
			t.Run(name+" "+wait.String(), func(t *testing.T) {
				inWorld(t, func(w *world) {
					h := w.handle()
					h.After(faulty.Put, "=a", 0, func(a *faulty.Answer) {
						w.Remove("=a") // as if it had never been there
						pass(wait)
						a.Err = backend.ErrOutcomeUnknown
					})
					_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
						for _, k := range keys {
							if err := tx.Insert(k, nil, 0); err != nil {
								return err
							}
						}
						return nil
					})
					assert.ErrorIs(t, err, want)
					h.drain()
				})
			})
		}
	}
}

// An attempt that waits so long before it is sent that its values may be garbage is given
// up, and made anew with new ones. How long that was may be known by the store's clock alone.
func TestValueOfAnAttemptThatWaitedTooLong(t *testing.T) {
	for name, wait := range map[string]func(w *world){
		"by all clocks":        func(*world) { pass(20 * time.Minute) },
		"by the store's clock": func(w *world) { w.Leap(20 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a")
				h := w.handle()
				big := make([]byte, txn.InlineMax+1)
				h.Before(faulty.Get, "=a", 0, func(context.Context) error {
					pass(time.Second) // the value is uploaded
					wait(w)
					return nil
				})
				h.must(func(tx *txn.Tx) error { return tx.Write("=a", big, 0) })
				h.drain()
				assert.Len(t, h.uploads("=a"), 2, "uploads")
			})
		})
	}
}

// uploads are the names of the objects written, but a cell's.
func (h *handle) uploads(cell string) (names []string) {
	for _, put := range h.Sent(faulty.Put, "") {
		if put.Name != prefix+cell {
			names = append(names, put.Name)
		}
	}
	return names
}

// An insert that links a value stands still on its way, for so long that a sweep has fenced
// it off, removed the value, and then the fence. No clock of the client has told.
func TestValueThatIsGoneWhenItsLinkLands(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handleOnce()
		big := make([]byte, txn.InlineMax+1)
		h.Before(faulty.Put, "=a", 1, func(context.Context) error { // after the tombstone
			w.Leap(100 * time.Hour)
			w.Remove(strings.TrimPrefix(h.uploads("=a")[0], prefix))
			w.Remove("=a")
			return nil
		})
		h.must(func(tx *txn.Tx) error { return tx.Insert("=a", big, 0) })
		h.drain()
		v, _ := w.handle().read("=a")
		assert.Len(t, v, len(big), "what was acknowledged is there")
	})
}

// Of two absent members one is written; the other write stands still, before it is sent, for so
// long that the tombstone which has killed the attempt is gone when it lands.
func TestWritesThatLandDaysApart(t *testing.T) {
	for name, fn := range map[string]func(tx *txn.Tx) error{
		"staged": insert("=a", "=b"), "pending": func(tx *txn.Tx) error {
			if err := look(tx, "=r"); err != nil {
				return err
			}
			return insert("=a", "=b")(tx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=r")
				h := w.handleOnce()
				h.must(func(tx *txn.Tx) error { return look(tx, "=r") }) // tells the time
				h.Before(faulty.Put, "=a", 0, func(context.Context) error {
					pass(time.Millisecond) // the other one lands
					w.Leap(100 * time.Hour)
					c, _ := w.Cell("=b")
					w.Put("=b", cell.Resolve(c, cell.Fold{Outcome: cell.Dead}))
					return nil
				})
				runs, err := h.tx(context.Background(), fn)
				require.NoError(t, err)
				assert.Equal(t, 1, runs)
				h.drain()
				for _, key := range []string{"=a", "=b"} {
					v, _ := w.handle().read(key)
					assert.Equal(t, "inserted", v, key)
				}
			})
		})
	}
}

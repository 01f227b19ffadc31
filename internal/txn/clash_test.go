package txn_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txn"
)

// What a transaction has seen may become due while it is validated: at that very time it is not
// there any more, and the commit write is not sent.
func TestDueWhileItIsValidated(t *testing.T) {
	for wait, want := range map[time.Duration]int{
		time.Minute - time.Nanosecond: 1, time.Minute: 2, time.Hour: 2,
	} {
		t.Run(wait.String(), func(t *testing.T) {
			inWorld(t, func(w *world) {
				began := time.Now()
				v := inline("v")
				v.Expires = began.Add(time.Minute).UnixNano()
				w.Write(1, cell.Put, v, "=r")
				w.Value(1, "=a", "=s")
				h := w.handle()
				h.After(faulty.Get, "=s", 1, func(a *faulty.Answer) {
					pass(wait - time.Since(began))
					a.Object.Time = time.Now()
				})
				var saw []bool
				_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
					_, err := tx.Read("=r")
					saw = append(saw, err == nil)
					require.NoError(t, look(tx, "=s"))
					return tx.Write("=a", []byte("new"), 0)
				})
				require.NoError(t, err)
				assert.Equal(t, []bool{true, false}[:want], saw)
				h.drain()
			})
		})
	}
}

// Two who have read what the other one writes meet while both are validated: the older goes first,
// at once, however patient they are.
func TestTheOlderIsValidatedFirst(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		done := make(chan error)
		began := time.Now()
		for i, mine := range []string{"=a", "=b"} {
			other := []string{"=b", "=a"}[i]
			h := w.handle()
			h.Every(func(context.Context, faulty.Op, *faulty.Answer) {
				pass(20 * time.Millisecond)
			})
			go func() {
				_, err := h.tx(context.Background(), copyOf(other, mine))
				h.drain()
				done <- err
			}()
		}
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		assert.Less(t, time.Since(began), patience)
	})
}

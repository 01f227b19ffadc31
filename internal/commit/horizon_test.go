package commit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/commit"
)

// Within a sweep's horizon an attempt must be over: what it finds absent later may have
// been there, and its write must not be sent again.
func TestAttemptThatLastsTooLongIsInDoubt(t *testing.T) {
	for name, keys := range map[string][]string{"direct": {"=a"}, "staged": {"=a", "=b"}} {
		for wait, want := range map[time.Duration]error{
			14 * time.Minute: nil, 16 * time.Minute: commit.ErrInDoubt,
		} {
			t.Run(name+" "+wait.String(), func(t *testing.T) {
				inWorld(t, func(w *world) {
					h := w.handle()
					h.After(faulty.Put, "=a", 0, func(a *faulty.Answer) {
						w.Remove("=a") // as if it had never been there
						pass(wait)
						a.Err = backend.ErrOutcomeUnknown
					})
					_, err := h.tx(context.Background(), func(tx *commit.Tx) error {
						for _, k := range keys {
							if err := tx.Insert(k, nil); err != nil {
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
// up, and made anew with new ones.
func TestValueOfAnAttemptThatWaitedTooLong(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		h := w.handle()
		big := make([]byte, commit.InlineMax+1)
		h.Before(faulty.Get, "=a", 0, func(context.Context) error {
			pass(20 * time.Minute)
			return nil
		})
		h.must(func(tx *commit.Tx) error { return tx.Write("=a", big) })
		h.drain()
		values := 0
		for _, put := range h.Sent(faulty.Put, "") {
			if put.Name != prefix+"=a" {
				values++
			}
		}
		assert.Equal(t, 2, values, "uploads")
	})
}

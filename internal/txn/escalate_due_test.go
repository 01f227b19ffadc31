package txn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txn"
)

// What was seen under locks may become due before the commit, which then must not take effect; and
// what only might have does not make it fail.
func TestDueUnderLocks(t *testing.T) {
	for name, x := range map[string]struct {
		passes bool          // until the value is due, and longer
		late   time.Duration // how much longer
		saw    []bool
	}{
		"in time":              {false, 0, []bool{true, true, true, true}},
		"at that very instant": {true, 0, []bool{true, true, true, true, false}},
		"too late":             {true, time.Second, []bool{true, true, true, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				v := inline("v")
				due := time.Now().Add(time.Minute)
				v.Expires = due.UnixNano()
				w.Write(1, cell.Put, v, "=a")
				w.Value(1, "=b")
				h := w.handle()
				h.meanwhile("=b", 0, func() { w.overwrite("=b", 2) }) // as tear does
				h.meanwhile("=a", 1, func() { w.Write(3, cell.Put, v, "=a") })
				h.meanwhile("=a", 2, func() { w.Write(4, cell.Put, v, "=a") })
				var saw []bool
				_, err := h.tx(context.Background(), func(tx *txn.Tx) error {
					_, err := tx.Read("=a")
					if saw = append(saw, err == nil); x.passes && len(saw) == len(x.saw)-1 {
						pass(time.Until(due) + x.late)
					}
					if len(saw) > len(x.saw) {
						return errors.New("it runs for ever")
					}
					return errors.Join(tx.Write("=a", []byte("new"), 0), update("new", "=b")(tx))
				})
				require.NoError(t, err)
				assert.Equal(t, x.saw, saw)
			})
		})
	}
}

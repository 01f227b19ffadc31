package txn_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/txn"
)

// scanOf scans the keys from =x on, and collects their values in order.
func scanOf(tx *txn.Tx) (values string, err error) {
	r := scan.Range{Interval: keyspace.Interval{From: "=x", To: "=z"}}
	err = tx.Scan(r, func(i txn.Item) bool {
		values += string(i.Value)
		return true
	})
	return values, err
}

// A key that was read is read again also where a range is listed again.
func TestAReadBesideAScanIsValidated(t *testing.T) {
	for name, to := range map[string][]string{
		"reads only": nil, "one is written": {"=a"}, "two are written": {"=a", "=b"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=r", "=x")
				h := w.handle()
				runs := 0
				got, err := h.tx(context.Background(), func(tx *txn.Tx) error {
					if err := look(tx, "=r"); err != nil {
						return err
					}
					if _, err := scanOf(tx); err != nil {
						return err
					}
					if runs++; runs == 1 {
						w.overwrite("=r", 2)
					}
					return write("new", to...)(tx)
				})
				require.NoError(t, err)
				assert.Equal(t, 2, got)
			})
		})
	}
}

// What a scan has seen is remembered for those that may see old values only if it proved to have
// been current.
func TestAnOutdatedScanIsNotRemembered(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=x", "=y")
		h := w.handle()
		seen := func(o txn.Options, then func(tx *txn.Tx) error) (all []string) {
			err := h.engine.Run(context.Background(), o, func(tx *txn.Tx) error {
				values, err := scanOf(tx)
				if all = append(all, values); err != nil || then == nil {
					return err
				}
				return then(tx)
			})
			require.NoError(t, err)
			return all
		}
		changed := false
		assert.Equal(t, []string{"vv", "1v"}, seen(txn.Options{}, func(tx *txn.Tx) error {
			if !changed {
				changed = true
				w.Write(2, cell.Put, inline("1"), "=x")
			}
			return write("new", "=a")(tx)
		}))
		pass(time.Second)
		old := txn.Options{ReadOnly: true, Staleness: time.Minute}
		assert.Equal(t, []string{"1v"}, seen(old, nil))
	})
}

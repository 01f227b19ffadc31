package pebble_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/pebble"
)

const (
	movers   = 4
	accounts = 6
	// filler makes the value of a transaction an external one: it is no batch then.
	filler = strictkv.DefaultInlineMax + 1
)

// account is a value.
type account struct {
	Sum int
	By  [movers]int // transactions of each mover that have changed it
}

// move lets movers move amounts between random accounts for ever, each transaction with a mark of
// its own. They print the marks of those that were acknowledged.
func move(b backend.Backend) error {
	ctx := context.Background()
	db, err := strictkv.Open(ctx, "db", b)
	if err != nil {
		return err
	}
	failed := make(chan error)
	var printing sync.Mutex
	for m := range movers {
		go func() {
			for {
				n, err := moveOnce(ctx, db, m)
				if err != nil {
					failed <- err
				}
				printing.Lock()
				fmt.Println("mover"+fmt.Sprint(m), n)
				printing.Unlock()
			}
		}()
	}
	return <-failed
}

// moveOnce moves an amount between two to four accounts, and counts it in all of them.
func moveOnce(ctx context.Context, db *strictkv.DB, m int) (n int, err error) {
	c, marks := db.Collection([]byte("accounts")), db.Collection([]byte("marks"))
	mark, some := fmt.Append(nil, m), rand.Perm(accounts)[:2+rand.IntN(3)]
	large := rand.IntN(4) == 0
	err = db.Tx(ctx, func(tx *strictkv.Tx) error {
		n = 0
		data, err := tx.Read(marks, mark)
		if err == nil {
			_, err = fmt.Sscan(string(data[:min(len(data), 20)]), &n)
		}
		if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
			return err
		}
		n++
		for i, k := range some {
			a, err := readAccount(tx.Read(c, fmt.Append(nil, k)))
			if err != nil {
				return err
			}
			a.By[m] = n
			if a.Sum++; i == 0 {
				a.Sum -= len(some)
			}
			text, err := json.Marshal(a)
			if err != nil {
				return err
			}
			if err := tx.Write(c, fmt.Append(nil, k), text); err != nil {
				return err
			}
		}
		value := fmt.Appendf(nil, "%d ", n)
		if large {
			value = append(value, make([]byte, filler)...)
		}
		return tx.Write(marks, mark, value)
	})
	return n, err
}

func readAccount(data []byte, err error) (a account, _ error) {
	switch {
	case err == nil:
		return a, json.Unmarshal(data, &a)
	case errors.Is(err, strictkv.ErrNotFound):
		return a, nil
	}
	return a, err
}

// TestKilledTransactions: whenever a process is killed, every transaction that it was acknowledged
// is there, and each that is there is whole.
func TestKilledTransactions(t *testing.T) {
	dir, acknowledged := t.TempDir(), map[string]int{}
	for range 15 {
		start(t, "transactions", dir, acknowledged).kill(1 + rand.IntN(60))
		b, err := pebble.Open(dir)
		require.NoError(t, err)
		db, err := strictkv.Open(t.Context(), "db", b)
		require.NoError(t, err)
		expectBalance(t, db, acknowledged)
		report, err := db.Check(t.Context(), strictkv.CheckOptions{})
		require.NoError(t, err)
		require.Empty(t, report.Problems)
		require.NoError(t, db.Close(t.Context()))
		require.NoError(t, b.Close())
	}
	require.Len(t, acknowledged, movers)
}

func expectBalance(t *testing.T, db *strictkv.DB, acknowledged map[string]int) {
	t.Helper()
	require.NoError(t, db.View(t.Context(), func(tx *strictkv.Tx) error {
		sum, last := 0, [movers]int{}
		for item, err := range tx.Scan(db.Collection([]byte("accounts")), strictkv.Range{}) {
			require.NoError(t, err)
			a, err := readAccount(item.Value, nil)
			require.NoError(t, err)
			sum += a.Sum
			for m, n := range a.By {
				last[m] = max(last[m], n)
			}
		}
		require.Zero(t, sum, "a transaction is there in part")
		for m, n := range last {
			var mark int
			data, err := tx.Read(db.Collection([]byte("marks")), fmt.Append(nil, m))
			if !errors.Is(err, strictkv.ErrNotFound) {
				require.NoError(t, err)
				_, err = fmt.Sscan(string(data[:min(len(data), 20)]), &mark)
				require.NoError(t, err)
			}
			require.Equal(t, mark, n, "the accounts, and the mark, of mover %d", m)
			require.GreaterOrEqual(t, mark, acknowledged[fmt.Sprint("mover", m)])
		}
		return nil
	}))
}

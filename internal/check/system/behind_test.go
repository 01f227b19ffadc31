package system_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl/bucketurltest"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
)

// TestFarBehindOnServers: a handle that is further behind than a cell remembers writers is told
// of no doubt, by no adapter, as nothing was lost on the way.
func TestFarBehindOnServers(t *testing.T) {
	const behind = 12
	for _, store := range bucketurltest.Stores {
		t.Run(store.Name, func(t *testing.T) {
			url := store.Bucket(t)
			open := func() *strictkv.Collection {
				db, err := strictkv.Open(t.Context(), "db", openBucket(t, url))
				require.NoError(t, err)
				t.Cleanup(func() { assert.NoError(t, db.Close(context.Background())) })
				return db.Collection([]byte("c"))
			}
			late, quick := open(), open()
			key, ctx := []byte("key"), t.Context()
			rush := func() {
				for i := range behind {
					require.NoError(t, quick.Write(ctx, key, strconv.AppendInt(nil, int64(i), 10)))
				}
			}
			rush()
			require.ErrorIs(t, late.Insert(ctx, key, []byte("x")), strictkv.ErrExists)
			for name, do := range map[string]func() error{
				"update": func() error {
					return late.Update(ctx, key, func(old []byte) ([]byte, error) {
						return append(old, '!'), nil
					})
				},
				"blind write": func() error { return late.Write(ctx, key, []byte("w")) },
				"delete":      func() error { return late.Delete(ctx, key) },
			} {
				_, err := late.Read(ctx, key) // so that it is in the cache
				require.NoError(t, err)
				rush()
				require.NoError(t, do(), name)
				rush()
			}
		})
	}
}

// repeatable is a store behind somebody who may send a write twice, and never does.
type repeatable struct{ backend.Backend }

func (r repeatable) Capabilities() backend.Capabilities {
	c := r.Backend.Capabilities()
	c.SendsOnce = false
	return c
}

// slow is a store whose latencies have a long tail: sigma is that of their logarithms.
func slow(sigma float64) simulated.Profile {
	l := func(mean time.Duration) simulated.Latency {
		deviation := float64(mean) * math.Sqrt(math.Expm1(sigma*sigma))
		return simulated.Latency{Mean: mean, Deviation: time.Duration(deviation)}
	}
	const ms = time.Millisecond
	return simulated.Profile{Get: l(57 * ms), Stat: l(31 * ms), Put: l(70 * ms), List: l(60 * ms)}
}

// TestNoDoubtInACrowd: processes that are overtaken all the time, since their requests or their
// functions take long, are told of no doubt where writes are sent once, and of little elsewhere.
func TestNoDoubtInACrowd(t *testing.T) {
	for _, x := range []struct {
		name  string
		sigma float64
		body  time.Duration // of the function of one process
		once  bool
	}{
		{"long tails", 1, 0, true},
		{"long tails, perhaps repeated", 1, 0, false},
		{"a slow function", 0.2, time.Second, true},
		{"a slow function, perhaps repeated", 0.2, time.Second, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var store backend.Backend = simulated.New(memory.New(), nil, slow(x.sigma))
				if !x.once {
					store = repeatable{store}
				}
				calls, doubts := crowdFor(t, time.Minute, store, x.body)
				t.Logf("%d of %d calls in doubt", doubts, calls)
				if x.once {
					assert.Zero(t, doubts)
				} else {
					assert.LessOrEqual(t, doubts, calls/10)
				}
			})
		})
	}
}

// crowdFor lets processes increment one key; the function of the first takes longer.
func crowdFor(
	t *testing.T, d time.Duration, store backend.Backend, body time.Duration,
) (calls, doubts int64) {
	const processes = 8
	ctx, stop := context.WithTimeout(context.Background(), 10*d)
	defer stop()
	var all, inDoubt atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(d)
	for p := range processes {
		db, err := strictkv.Open(ctx, "db", store, strictkv.WithProbe(strictkv.ProbeNever))
		require.NoError(t, err)
		defer func() { assert.NoError(t, db.Close(context.Background())) }()
		c := db.Collection([]byte("c"))
		wg.Go(func() {
			for time.Now().Before(end) {
				err := db.Tx(ctx, func(tx *strictkv.Tx) error {
					v, err := tx.Read(c, []byte("k"))
					if err != nil && !assert.ErrorIs(t, err, strictkv.ErrNotFound) {
						return err
					}
					if p == 0 {
						time.Sleep(body)
					}
					n, _ := strconv.Atoi(string(v))
					return tx.Write(c, []byte("k"), fmt.Append(nil, n+1))
				}, strictkv.MaxAttempts(20))
				all.Add(1)
				switch {
				case err == nil:
				case errors.Is(err, strictkv.ErrInDoubt):
					inDoubt.Add(1)
				default:
					assert.ErrorIs(t, err, strictkv.ErrConflict)
				}
			}
		})
	}
	wg.Wait()
	return all.Load(), inDoubt.Load()
}

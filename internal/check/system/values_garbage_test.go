package system_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/internal/cell"
)

// orphans are the external values in the bucket that no cell links, given that no cell
// holds an intent.
func orphans(t *testing.T, mem *memory.Backend) (left []string) {
	page, err := mem.List(context.Background(), backend.ListOptions{})
	require.NoError(t, err)
	require.False(t, page.More)
	linked := map[string]bool{}
	for _, o := range page.Objects {
		if !strings.HasPrefix(o.Name, "db/+c/=") {
			continue
		}
		got, err := mem.Get(context.Background(), o.Name, "")
		require.NoError(t, err)
		c, err := cell.Decode(got.Data)
		require.NoError(t, err)
		require.Nil(t, c.Intent, "an intent is left in %s", o.Name)
		if c.Value.Kind == cell.External {
			linked[c.Value.Ref[:32]] = true
		}
	}
	for _, o := range page.Objects {
		if _, id, ok := strings.Cut(o.Name, "*"); ok {
			id = id[strings.LastIndex(id, ".")+1:]
			if !linked[id] {
				left = append(left, o.Name)
			}
			delete(linked, id)
		}
	}
	require.Empty(t, linked, "values that are linked and gone")
	return left
}

// A context that ends while a staged attempt's intents are on their way leaves no value
// behind for a sweep.
func TestNoValueIsLeftByALeavingCaller(t *testing.T) {
	for name, x := range map[string]struct{ reads, writes int }{
		"direct": {1, 1}, "staged": {3, 3}, "validated": {4, 2},
	} {
		t.Run(name, func(t *testing.T) {
			left := 0
			for seed := range uint64(200) {
				synctest.Test(t, func(t *testing.T) {
					v := newVault(t)
					for i := range 4 {
						v.write(string(keyAt(i)), large(i))
					}
					v.open(simulated.New(v.mem, nil, simulated.GCS()))
					random := rand.New(rand.NewPCG(seed, 0))
					ctx, cancel := context.WithTimeout(v.ctx,
						time.Duration(random.IntN(500))*time.Millisecond)
					defer cancel()
					_ = v.db.Tx(ctx, func(tx *strictkv.Tx) error {
						for i := range x.reads {
							if _, err := tx.Read(v.coll, keyAt(i)); err != nil {
								return err
							}
						}
						for i := range x.writes {
							if err := tx.Write(v.coll, keyAt(i), large(100+i)); err != nil {
								return err
							}
						}
						return nil
					})
					time.Sleep(time.Minute)
					require.NoError(t, v.db.Close(v.ctx))
					o := orphans(t, v.mem)
					left += len(o)
				})
			}
			assert.Zero(t, left, "values left to a sweep by 200 callers")
		})
	}
}

// The same with lost answers.
func TestNoValueIsLeftByLostAnswers(t *testing.T) {
	left, committed := 0, 0
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			v := newVault(t)
			for i := range 4 {
				v.write(string(keyAt(i)), large(i))
			}
			v.open(faulty.New(v.mem, faulty.Options{Seed: seed, LoseAnswer: 0.2}))
			for n := range 3 {
				if v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
					for i := range 3 {
						if _, err := tx.Read(v.coll, keyAt(i)); err != nil {
							return err
						}
						if err := tx.Write(v.coll, keyAt(i), large(100+10*n+i)); err != nil {
							return err
						}
					}
					return nil
				}) == nil {
					committed++
				}
			}
			time.Sleep(time.Minute)
			require.NoError(t, v.db.Close(v.ctx))
			left += len(orphans(t, v.mem))
		})
	}
	assert.Zero(t, left, "values left to a sweep by %d commits", committed)
}

// Concurrent reads of one external value make one request for it.
func TestColdReadsOfALargeValueShareARequest(t *testing.T) {
	const readers = 20
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		v.write("k", large(1))
		var fetched atomic.Int64
		slow := &hooked{Backend: v.mem}
		slow.before = func(call, name string) {
			if call == "get" && strings.Contains(name, "*") {
				fetched.Add(1)
				time.Sleep(latency)
			}
		}
		v.open(slow)
		var wg sync.WaitGroup
		for range readers {
			wg.Go(func() {
				got, err := v.coll.ReadWeak(v.ctx, []byte("k"), time.Hour)
				assert.NoError(t, err)
				assert.Equal(t, large(1), got)
			})
		}
		wg.Wait()
		assert.EqualValues(t, 1, fetched.Load())
	})
}

// A key that is read three times by ReadMulti is fetched once, and so it is by a second
// Read, also if its value is not cached.
func TestLargeValueIsFetchedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		v.write("k", large(1))
		v.open(v.mem, strictkv.WithCacheSize(0))
		before := v.db.Stats()
		require.NoError(t, v.db.View(v.ctx, func(tx *strictkv.Tx) error {
			k := v.coll.Key([]byte("k"))
			for _, r := range tx.ReadMulti(k, k, k) {
				require.NoError(t, r.Err)
				assert.Equal(t, large(1), r.Value)
			}
			return nil
		}))
		assert.EqualValues(t, 2, v.db.Stats().Sub(before).Gets)
	})
}

// A goroutine of the function is still reading a value when that returns: run with -race.
func TestReadThatOutlivesItsFunction(t *testing.T) {
	for range 300 {
		v := newVault(t)
		v.write("k", large(1))
		v.open(v.hook)
		asked, over := make(chan struct{}), make(chan struct{})
		v.hook.before = func(call, name string) {
			if strings.Contains(name, "*k.") {
				close(asked)
				<-over
			}
		}
		v.hook.Backend = missing{v.mem}
		var wg sync.WaitGroup
		err := v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
			defer close(over)
			wg.Go(func() {
				_, err := tx.Read(v.coll, []byte("k"))
				assert.Error(t, err)
			})
			<-asked
			return nil
		})
		if err != nil { // the read was faster
			require.ErrorIs(t, err, backend.ErrDenied)
		}
		wg.Wait()
	}
}

// missing is a store that denies access to external values.
type missing struct{ backend.Backend }

func (b missing) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	if strings.Contains(name, "*") {
		return backend.Object{}, backend.ErrDenied
	}
	return b.Backend.Get(ctx, name, known)
}

// Uploads that take longer than an attempt may last end in an error, or a commit, but
// don't go on for ever.
func TestUploadsThatTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		v.open(simulated.New(v.mem, nil, simulated.Constant(25*time.Second)),
			strictkv.WithConcurrency(1))
		ctx, cancel := context.WithTimeout(v.ctx, 12*time.Hour)
		defer cancel()
		before := v.db.Stats()
		err := v.db.Tx(ctx, func(tx *strictkv.Tx) error {
			for i := range 40 { // 1000 s
				if err := tx.Insert(v.coll, keyAt(i), large(i)); err != nil {
					return err
				}
			}
			return nil
		})
		assert.NoError(t, ctx.Err(), "uploads go on for ever: %d puts, %v",
			v.db.Stats().Sub(before).Puts, err)
	})
}

// What a run of the function has staged and the next has not is not kept.
func TestStagedValuesOfEarlierRunsAreDropped(t *testing.T) {
	const size, runs = 4 << 20, 12 // of one key: with two it would take locks, and wait for itself
	v := newVault(t)
	v.write("big", nil)
	other, err := strictkv.Open(v.ctx, "db", v.mem, strictkv.WithCacheSize(0))
	require.NoError(t, err)
	v.open(v.mem, strictkv.WithCacheSize(0))
	base, n := live(), 0
	grown := uint64(0)
	require.NoError(t, v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
		n++
		if _, err := tx.Read(v.coll, []byte("big")); err != nil {
			return err
		}
		value := make([]byte, size)
		value[0] = byte(n)
		if err := tx.Write(v.coll, []byte("big"), value); err != nil {
			return err
		}
		if n < runs {
			theirs := other.Collection([]byte("c"))
			return theirs.Write(v.ctx, []byte("big"), fmt.Appendf(nil, "%d", n))
		}
		grown = live() - base
		runtime.KeepAlive(value)
		return nil
	}))
	// The function's own, our copy, that of the run before, and what the store has of each.
	assert.LessOrEqual(t, float64(grown)/size, 4.0, "values in memory after %d runs", n)
	require.NoError(t, other.Close(v.ctx))
}

// Removing values does not outrun the limit of goroutines.
func TestBacklogOfUnlinkingIsBounded(t *testing.T) {
	const workers = 300
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		const keys = 100
		for w := range workers {
			_ = v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
				for i := range keys {
					key := fmt.Appendf(nil, "%d-%d", w, i)
					if err := tx.Insert(v.coll, key, large(1)); err != nil {
						return err
					}
				}
				return nil
			})
		}
		sim := simulated.New(v.mem, nil, simulated.Constant(latency))
		v.open(sim)
		var done atomic.Int64
		for w := range workers {
			go func() {
				for i := range keys {
					assert.NoError(t, v.coll.Delete(v.ctx, fmt.Appendf(nil, "%d-%d", w, i)))
					done.Add(1)
				}
			}()
		}
		most := 0
		for done.Load() < workers*keys {
			time.Sleep(time.Second)
			most = max(most, runtime.NumGoroutine())
		}
		assert.LessOrEqual(t, most, 2*workers+4*strictkv.DefaultConcurrency, "goroutines")
		began := time.Now()
		require.NoError(t, v.db.Close(v.ctx))
		assert.LessOrEqual(t, time.Since(began), 2*time.Second, "time for Close")
	})
}

// The write of an attempt that another member proves dead may have landed, and unlinked
// what it folded: that value goes, too.
func TestNoValueIsLeftByALandedWriteOfADeadAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		v.write("a", large(0))
		v.write("b", large(0))
		rival := v.coll
		var lose, refuse atomic.Bool
		v.open(faulty.New(v.mem, faulty.Options{
			Before: func(_ context.Context, op faulty.Op) error {
				isB := op.Kind == faulty.Put && strings.HasSuffix(op.Name, "=b")
				if isB && refuse.CompareAndSwap(true, false) {
					return rival.Write(v.ctx, []byte("b"), nil)
				}
				return nil
			},
			After: func(_ context.Context, op faulty.Op, a *faulty.Answer) {
				isA := op.Kind == faulty.Put && strings.HasSuffix(op.Name, "=a")
				if isA && lose.CompareAndSwap(true, false) {
					*a = faulty.Answer{Err: backend.ErrOutcomeUnknown}
				}
			},
		}))
		both := func(n int) error {
			return v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
				for _, key := range []string{"a", "b"} {
					if err := tx.Write(v.coll, []byte(key), large(n)); err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, both(1))
		lose.Store(true)
		refuse.Store(true)
		require.NoError(t, both(2))
		time.Sleep(time.Minute)
		require.NoError(t, v.db.Close(v.ctx))
		assert.Empty(t, orphans(t, v.mem))
	})
}

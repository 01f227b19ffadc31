package system_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl/bucketurltest"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/memory"
)

var stressTime = flag.Duration("stress", time.Second,
	"how long each workload runs under load")

// Several handles, each with several goroutines: so many within the process, and so many
// over HTTP, where a request costs much more.
const (
	stressInside = 8
	stressOver   = 4
)

// stressStore is what the workloads run on.
type stressStore struct {
	name string
	// crew is the number of handles, and that of each one's goroutines.
	crew int
	// start returns what opens the backend of one more client of the same store.
	start func(t *testing.T) (open func() backend.Backend)
}

// stress makes one workload.
func (s stressStore) stress(t *testing.T, open func() backend.Backend) *stress {
	return &stress{t: t, crew: s.crew, open: open}
}

// stressStores are all kinds of stores.
func stressStores() []stressStore {
	all := []stressStore{
		{"memory", stressInside, func(*testing.T) func() backend.Backend {
			shared := memory.New()
			return func() backend.Backend { return shared }
		}},
		{"folder", stressInside, func(t *testing.T) func() backend.Backend {
			dir := t.TempDir()
			return func() backend.Backend { return folder.New(dir, folder.NoSync()) }
		}},
		{"faulty", stressInside, hostile},
	}
	for _, s := range bucketurltest.Stores {
		open := func(t *testing.T) func() backend.Backend {
			url := s.Bucket(t)
			return func() backend.Backend { return openBucket(t, url) }
		}
		all = append(all, stressStore{s.Name, stressOver, open})
	}
	return all
}

func hostile(*testing.T) func() backend.Backend {
	shared := memory.New()
	seed := atomic.Uint64{}
	return func() backend.Backend {
		return faulty.New(shared, faulty.Options{
			Seed: seed.Add(1), Delay: 0.2, FailBefore: 0.02, LoseRequest: 0.02,
			LoseAnswer: 0.02, Duplicate: 0.02, Late: 0.02, DelayMax: 2 * time.Millisecond,
		})
	}
}

// stress is one workload: many workers run step until the time is over.
type stress struct {
	t     *testing.T
	crew  int
	open  func() backend.Backend
	step  func(w *worker) error
	doubt atomic.Int64
	done  atomic.Int64
}

type worker struct {
	id     int
	db     *strictkv.DB
	c      *strictkv.Collection
	random *rand.Rand
}

func (f *stress) run() *worker {
	ctx, cancel := context.WithTimeout(f.t.Context(), *stressTime)
	defer cancel()
	var wg sync.WaitGroup
	for h := range f.crew {
		db := f.handle()
		for g := range f.crew {
			id := h*f.crew + g
			w := &worker{id: id, db: db, c: db.Collection([]byte("stress"))}
			w.random = rand.New(rand.NewPCG(uint64(id), 1))
			wg.Go(func() {
				for ctx.Err() == nil {
					switch err := f.step(w); {
					case errors.Is(err, strictkv.ErrInDoubt):
						f.doubt.Add(1)
					case errors.Is(err, strictkv.ErrUnavailable):
					case err != nil:
						assert.NoError(f.t, err)
						return
					default:
						f.done.Add(1)
					}
				}
			})
		}
		defer func() { require.NoError(f.t, db.Close(f.t.Context())) }()
	}
	wg.Wait()
	f.t.Logf("%d transactions, %d in doubt", f.done.Load(), f.doubt.Load())
	require.Positive(f.t, f.done.Load(), "nothing was committed")
	db := f.handle()
	f.t.Cleanup(func() { require.NoError(f.t, db.Close(context.Background())) })
	f.check(db)
	return &worker{db: db, c: db.Collection([]byte("stress"))}
}

// check expects a sound database. Requests may fail under load.
func (f *stress) check(db *strictkv.DB) {
	report, err := db.Check(f.t.Context(), strictkv.CheckOptions{})
	require.NoError(f.t, err)
	require.Empty(f.t, report.Problems)
}

func (f *stress) handle() *strictkv.DB {
	db, err := strictkv.Open(f.t.Context(), path.Base(f.t.Name()), f.open(),
		strictkv.WithPatience(200*time.Millisecond))
	require.NoError(f.t, err)
	return db
}

func number(b []byte) int64 {
	if len(b) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

func bytesOf(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func keyOf(n int) []byte { return fmt.Appendf(nil, "key-%d", n) }

func TestStress(t *testing.T) {
	for _, s := range stressStores() {
		t.Run(s.name, func(t *testing.T) {
			open := s.start(t)
			t.Run("counters", func(t *testing.T) { stressCounters(s.stress(t, open)) })
			t.Run("bank", func(t *testing.T) { stressBank(s.stress(t, open)) })
			t.Run("skew", func(t *testing.T) { stressSkew(s.stress(t, open)) })
			t.Run("mutex", func(t *testing.T) { stressMutex(s.stress(t, open)) })
		})
	}
}

// stressCounters: every acknowledged increment of one to three counters is there, and
// none that was not acknowledged, but for those in doubt.
func stressCounters(f *stress) {
	t := f.t
	var acked, doubt [3]atomic.Int64
	f.step = func(w *worker) error {
		n := 1 + w.random.IntN(len(acked))
		err := w.db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			for i := range n {
				v, err := tx.Read(w.c, keyOf(i))
				if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
					return err
				}
				if err := tx.Write(w.c, keyOf(i), bytesOf(number(v)+1)); err != nil {
					return err
				}
			}
			return nil
		})
		for i := range n {
			if err == nil {
				acked[i].Add(1)
			} else if errors.Is(err, strictkv.ErrInDoubt) {
				doubt[i].Add(1)
			}
		}
		return err
	}
	w := f.run()
	for i := range acked {
		v, err := w.c.Read(t.Context(), keyOf(i))
		if acked[i].Load() > 0 {
			require.NoError(t, err)
		}
		assert.GreaterOrEqual(t, number(v), acked[i].Load(), "acknowledged increments were lost")
		assert.LessOrEqual(t, number(v), acked[i].Load()+doubt[i].Load(),
			"increments out of nowhere")
	}
}

// stressBank: transfers between accounts leave the total as it was, for every reader at
// every time.
func stressBank(f *stress) {
	t := f.t
	const accounts, start = 12, 100
	setup := f.handle()
	c := setup.Collection([]byte("stress"))
	for i := range accounts {
		err := c.Write(t.Context(), keyOf(i), bytesOf(start))
		if !errors.Is(err, strictkv.ErrInDoubt) { // the same value again does no harm
			require.NoError(t, err)
		}
	}
	require.NoError(t, setup.Close(t.Context()))
	f.step = func(w *worker) error {
		if w.random.IntN(4) == 0 {
			return w.total(t, accounts, accounts*start)
		}
		from, to := w.random.IntN(accounts), w.random.IntN(accounts-1)
		if to >= from {
			to++
		}
		return w.db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			r := tx.ReadMulti(w.c.Key(keyOf(from)), w.c.Key(keyOf(to)))
			if err := errors.Join(r[0].Err, r[1].Err); err != nil {
				return err
			}
			if number(r[0].Value) == 0 {
				return nil
			}
			if err := tx.Write(w.c, keyOf(from), bytesOf(number(r[0].Value)-1)); err != nil {
				return err
			}
			return tx.Write(w.c, keyOf(to), bytesOf(number(r[1].Value)+1))
		})
	}
	w := f.run()
	require.NoError(t, w.total(t, accounts, accounts*start))
}

// total checks the sum of all accounts in one snapshot.
func (w *worker) total(t *testing.T, accounts int, want int64) error {
	keys := make([]strictkv.Key, accounts)
	for i := range keys {
		keys[i] = w.c.Key(keyOf(i))
	}
	sum, err := strictkv.DoView(t.Context(), w.db, func(tx *strictkv.Tx) (sum int64, err error) {
		for _, r := range tx.ReadMulti(keys...) {
			if r.Err != nil {
				return 0, r.Err
			}
			sum += number(r.Value)
		}
		return sum, nil
	})
	if err == nil {
		assert.Equal(t, want, sum, "the total has changed")
	}
	return err
}

// stressSkew: each transaction may switch off one of two keys, if both are on. Under
// snapshot isolation both would end up off.
func stressSkew(f *stress) {
	t := f.t
	both := func(w *worker, tx *strictkv.Tx) (on [2]bool, err error) {
		for i := range on {
			v, err := tx.Read(w.c, keyOf(i))
			if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
				return on, err
			}
			on[i] = number(v) == 0
		}
		return on, nil
	}
	check := func(w *worker) error {
		on, err := strictkv.DoView(t.Context(), w.db, func(tx *strictkv.Tx) ([2]bool, error) {
			return both(w, tx)
		})
		if err == nil {
			assert.True(t, on[0] || on[1], "both are off: write skew")
		}
		return err
	}
	f.step = func(w *worker) error {
		if w.random.IntN(3) == 0 {
			return check(w)
		}
		me := w.id % 2
		return w.db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			on, err := both(w, tx)
			if err != nil {
				return err
			}
			if on[0] && on[1] {
				return tx.Write(w.c, keyOf(me), bytesOf(1))
			}
			return tx.Write(w.c, keyOf(me), bytesOf(0))
		})
	}
	require.NoError(t, check(f.run()))
}

// stressMutex: whoever inserts a key owns it until it deletes it. Nobody else may.
func stressMutex(f *stress) {
	t := f.t
	const locks = 4
	var held [locks]atomic.Int64
	f.step = func(w *worker) error {
		i := w.random.IntN(locks)
		token := fmt.Appendf(nil, "%d-%d", w.id, w.random.Uint64())
		err := w.c.Insert(t.Context(), keyOf(i), token)
		for errors.Is(err, strictkv.ErrInDoubt) || errors.Is(err, strictkv.ErrUnavailable) {
			var v []byte
			if v, err = w.c.Read(t.Context(), keyOf(i)); err == nil && !bytes.Equal(v, token) {
				err = strictkv.ErrExists
			}
			if errors.Is(err, strictkv.ErrNotFound) {
				return nil
			}
		}
		if errors.Is(err, strictkv.ErrExists) {
			return nil
		}
		if err != nil {
			return err
		}
		if n := held[i].Add(int64(w.id) + 1); n != int64(w.id)+1 {
			assert.Fail(t, "two own the same key")
		}
		held[i].Add(-int64(w.id) - 1)
		return w.release(t, keyOf(i), token)
	}
	f.run()
}

// release deletes the key until it is certain that it is not the worker's any more.
func (w *worker) release(t *testing.T, key, token []byte) error {
	for {
		err := w.db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			v, err := tx.Read(w.c, key)
			if errors.Is(err, strictkv.ErrNotFound) || err == nil && !bytes.Equal(v, token) {
				return nil
			}
			if err != nil {
				return err
			}
			return tx.Delete(w.c, key)
		})
		if !errors.Is(err, strictkv.ErrInDoubt) && !errors.Is(err, strictkv.ErrUnavailable) {
			return err
		}
	}
}

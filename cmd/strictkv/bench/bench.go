// Package bench measures what a bucket's round trips and transactions take, in a database of its
// own, which it removes in the end.
package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
)

const (
	rounds    = 20   // of each operation by itself
	keys      = 1000 // of the mixed load
	valueSize = 1024 // bytes
	// requestsMax is how many reads and writes the mixed load sends at most.
	requestsMax = 60_000
	// cleanMax is how long what is left may take to be removed, after an interruption too.
	cleanMax = time.Minute
)

// RequestsMax is about how many writes, and how many reads, a benchmark sends at most.
const RequestsMax = requestsMax / 2

// Result is what one kind of operation has taken.
type Result struct {
	Operation     string
	Count         int
	P50, P95, P99 time.Duration
	// PerSecond is how many there were in one second.
	PerSecond float64
	// Gets, Puts and Lists are the requests for one of them, on average.
	Gets, Puts, Lists float64
}

// Bench is a benchmark of a bucket.
type Bench struct {
	Backend backend.Backend
	// Name is that of the database.
	Name string
	// Clients is how many transactions the mixed load has under way at once, and Lasting how long
	// it goes on.
	Clients int
	Lasting time.Duration
	// Told is called with each result.
	Told func(Result)

	db *strictkv.DB
	c  *strictkv.Collection
}

// Run measures, and removes the database.
func (b *Bench) Run(ctx context.Context) (err error) {
	// Without a cache each read is one of the store.
	b.db, err = strictkv.Open(ctx, b.Name, b.Backend, strictkv.WithCacheSize(0))
	if err != nil {
		return err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanMax)
		defer cancel()
		_, derr := b.db.Drop(clean)
		err = errors.Join(err, derr)
	}()
	b.c = b.db.Collection([]byte("bench"))
	if err := b.alone(ctx); err != nil {
		return err
	}
	return b.mixed(ctx)
}

func key(n int) []byte { return fmt.Appendf(nil, "key%06d", n) }

// alone measures operations one after another.
func (b *Bench) alone(ctx context.Context) error {
	value := make([]byte, valueSize)
	for _, op := range []struct {
		name string
		do   func(i int) error
	}{
		{"insert", func(i int) error { return b.c.Insert(ctx, key(i), value) }},
		{"read", func(i int) error { _, err := b.c.Read(ctx, key(i)); return err }},
		{"write", func(i int) error { return b.c.Write(ctx, key(i), value) }},
		{"transaction of 2 keys", func(i int) error { return b.swap(ctx, i, i+rounds) }},
		{"scan of 20 keys", func(int) error {
			for _, err := range b.c.Items(ctx, strictkv.Range{Limit: rounds}) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{"delete", func(i int) error { return b.c.Delete(ctx, key(i)) }},
	} {
		m := b.begin()
		for i := range rounds {
			if err := m.time(func() error { return op.do(i) }); err != nil {
				return err
			}
		}
		b.Told(m.result(op.name))
	}
	return nil
}

// swap reads and writes two keys.
func (b *Bench) swap(ctx context.Context, i, j int) error {
	return b.db.Tx(ctx, func(tx *strictkv.Tx) error {
		values := [2][]byte{}
		for n, k := range [2]int{i, j} {
			v, err := tx.Read(b.c, key(k))
			if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
				return err
			}
			values[n] = append(v, make([]byte, valueSize-len(v))...)
		}
		return errors.Join(tx.Write(b.c, key(i), values[1]), tx.Write(b.c, key(j), values[0]))
	})
}

// mixed measures many clients at once: four reads to each transaction of two keys.
func (b *Bench) mixed(ctx context.Context) error {
	reads, swaps := b.begin(), b.begin()
	group, ctx := errgroup.WithContext(ctx)
	for range b.Clients {
		group.Go(func() error {
			for time.Since(reads.began) < b.Lasting && reads.requests() < requestsMax {
				i, m := rand.N(keys), reads
				do := func() error {
					_, err := b.c.Read(ctx, key(i))
					if errors.Is(err, strictkv.ErrNotFound) {
						return nil
					}
					return err
				}
				if rand.N(5) == 0 {
					m, do = swaps, func() error { return b.swap(ctx, i, (i+1+rand.N(keys-1))%keys) }
				}
				if err := m.time(do); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, m := range []*measure{reads, swaps} {
		what := [...]string{"read", "transaction of 2 keys"}[i]
		r := m.result(fmt.Sprintf("%s, %d clients", what, b.Clients))
		r.Gets, r.Puts, r.Lists = 0, 0, 0 // they are of both
		b.Told(r)
	}
	return nil
}

// measure is of one kind of operation.
type measure struct {
	db     *strictkv.DB
	began  time.Time
	before strictkv.Stats

	mu   sync.Mutex // guards took
	took []time.Duration
}

func (b *Bench) begin() *measure {
	return &measure{db: b.db, began: time.Now(), before: b.db.Stats()}
}

// requests are the reads and writes since the measure began.
func (m *measure) requests() int64 {
	s := m.db.Stats().Sub(m.before)
	return s.Gets + s.Puts
}

// time measures one operation.
func (m *measure) time(do func() error) error {
	began := time.Now()
	err := do()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.took = append(m.took, time.Since(began))
	return err
}

func (m *measure) result(operation string) Result {
	r, s := Result{Operation: operation, Count: len(m.took)}, m.db.Stats().Sub(m.before)
	if r.Count == 0 {
		return r
	}
	r.PerSecond = float64(r.Count) / time.Since(m.began).Seconds()
	slices.Sort(m.took)
	at := func(percent int) time.Duration { return m.took[(len(m.took)-1)*percent/100] }
	r.P50, r.P95, r.P99 = at(50), at(95), at(99)
	each := func(n int64) float64 { return float64(n) / float64(r.Count) }
	r.Gets, r.Puts, r.Lists = each(s.Gets), each(s.Puts), each(s.Lists)
	return r
}

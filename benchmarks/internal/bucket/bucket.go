// Package bucket gives benchmarks the store that they run on: one with the latencies of a
// cloud in virtual time, or a real one by its URL.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/benchmarks/internal/load"
	"github.com/strictkv/strictkv/benchmarks/internal/raw"
)

// requestMax bounds a simulated request, none of which takes nearly as long, unless writes wait
// for their turn. Virtual time
// keeps timers that were stopped until they would have fired: with the 30 s that a handle
// has by default, those of all requests would be a fifth of the heap.
const requestMax = 3 * time.Second

// Bucket holds one database. Its handles are like those of different processes.
type Bucket struct {
	name    string // of the database
	profile simulated.Profile
	objects backend.Backend    // without latency
	sim     *simulated.Backend // nil: a real store
	open    []func() error     // closes what is open
	url     string
	handles []*strictkv.DB
}

// Open makes a bucket. A simulated one must be opened, used and closed within one call of
// virtual.Run.
func Open(ctx context.Context, o Options) (*Bucket, error) {
	if o.Virtual() {
		profile, err := o.latencies()
		if err != nil {
			return nil, fmt.Errorf("open bucket: %w", err)
		}
		b := &Bucket{name: "bench", profile: profile, objects: memory.New()}
		b.sim = simulated.New(b.objects, nil, b.profile)
		return b, nil
	}
	b := &Bucket{name: fmt.Sprintf("bench-%d", time.Now().UnixNano()), url: o.URL}
	way, err := b.way(ctx)
	b.objects = way
	return b, err
}

// way is one more process's way to the store.
func (b *Bucket) way(ctx context.Context) (backend.Backend, error) {
	if b.sim != nil {
		return b.sim, nil
	}
	if Real == nil {
		return nil, fmt.Errorf("open bucket %q: this program knows simulated ones alone", b.url)
	}
	opened, done, err := Real.Open(ctx, b.url)
	if err != nil {
		return nil, err
	}
	b.open = append(b.open, done)
	return opened, nil
}

// Handle opens the database once more. Close closes the handle.
func (b *Bucket) Handle(ctx context.Context, opts ...strictkv.Option) (*strictkv.DB, error) {
	way, err := b.way(ctx)
	if err != nil {
		return nil, err
	}
	if b.sim != nil && !b.profile.InTurn {
		opts = append(opts, strictkv.WithRequests(strictkv.Requests{Timeout: requestMax}))
	}
	db, err := strictkv.Open(ctx, b.name, way, opts...)
	if err != nil {
		return nil, err
	}
	b.handles = append(b.handles, db)
	return db, nil
}

// FarHandle is Handle for a process far away from a simulated store: its requests take so many
// times as long.
func (b *Bucket) FarHandle(ctx context.Context, times float64) (*strictkv.DB, error) {
	if b.sim == nil {
		return nil, errors.New("open a far handle: the store is a real one")
	}
	far := *b
	far.sim = simulated.New(b.objects, nil, b.profile.Times(times))
	db, err := far.Handle(ctx)
	b.handles = far.handles
	return db, err
}

// Handles returns those that are open.
func (b *Bucket) Handles() []*strictkv.DB { return b.handles }

// Raw is the store without this library, with its latency.
func (b *Bucket) Raw() raw.Store {
	prefix := b.name + "-raw"
	if b.sim != nil {
		return raw.Store{Backend: b.sim, Prefix: prefix}
	}
	return raw.Store{Backend: b.objects, Prefix: prefix}
}

// Throttled is the number of writes that a simulated store has refused as too frequent.
func (b *Bucket) Throttled() int64 {
	if b.sim == nil {
		return 0
	}
	return int64(b.sim.Counts().Throttled)
}

// putCount is how many writes PutMs measures.
const putCount = 50

// fractionTime is how long Fraction measures at most.
const fractionTime = 3 * time.Second

// Fraction compares the requests per second of a load on a real store with those of a bare
// loop that sends the same kinds of requests, right after it, with as many under way at once
// as the load's workers have, if each transaction has as many keys. It is 0 for a simulated
// store, which has no limit.
func (b *Bucket) Fraction(
	ctx context.Context, l *load.Result, keys, size int,
) (float64, error) {
	if b.sim != nil {
		return 0, nil
	}
	mix := raw.Mix{
		Gets:      float64(l.Stats.Gets - l.Stats.NotModified),
		Unchanged: float64(l.Stats.NotModified), Puts: float64(l.Stats.Puts),
	}
	bare, err := b.Raw().Rate(ctx, mix, len(l.Workers)*keys, size, min(l.Time, fractionTime))
	if err != nil {
		return 0, err
	}
	return float64(l.Stats.Requests()) / l.Time.Seconds() / bare, nil
}

// PutMs is the mean latency of a write, in ms: a simulated store's by its profile, a real
// one's as measured now, with objects of a size.
func (b *Bucket) PutMs(ctx context.Context, size int) (float64, error) {
	if b.sim != nil {
		return float64(b.profile.Put.Mean) / float64(time.Millisecond), nil
	}
	rows, err := b.Raw().Latency(ctx, size, putCount)
	if err != nil {
		return 0, err
	}
	return rows[0].Mean, nil
}

// Close closes all handles, removes the objects of a real store, and closes that.
func (b *Bucket) Close(ctx context.Context) error {
	var failed error
	for _, db := range b.handles {
		failed = errors.Join(failed, db.Close(ctx))
	}
	b.handles = nil
	if b.sim == nil && b.objects != nil {
		failed = errors.Join(failed, b.remove(ctx))
	}
	for _, done := range b.open {
		failed = errors.Join(failed, done())
	}
	return failed
}

// Package simulated wraps a backend in the latencies, and on demand the rate
// limit, of a store in the cloud: for benchmarks, and in virtual time for tests
// that count rounds.
//
// A request takes effect at half of its latency.
package simulated

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/seam"
)

// Backend delays the calls of another. Make one with New.
type Backend struct {
	inner backend.Backend
	rt    seam.Runtime
	p     Profile

	mu     seam.Mutex // guards all below
	counts Counts
	writes *throttle
}

var _ backend.Backend = (*Backend)(nil)

// Counts tell how many requests were sent, by kind, failed ones included.
type Counts struct {
	// Gets is the number of Gets, NotModified that of those so answered.
	Gets, NotModified int
	// Puts, Deletes and Lists are the numbers of the other calls.
	Puts, Deletes, Lists int
	// Throttled is the number of Puts and Deletes that exceeded
	// Profile.OneWritePerSecond.
	Throttled int
}

// Requests is the number of requests of all kinds.
func (c Counts) Requests() int { return c.Gets + c.Puts + c.Deletes + c.Lists }

// Sub returns the requests of c without the earlier ones.
func (c Counts) Sub(earlier Counts) Counts {
	return Counts{
		Gets:        c.Gets - earlier.Gets,
		NotModified: c.NotModified - earlier.NotModified,
		Puts:        c.Puts - earlier.Puts,
		Deletes:     c.Deletes - earlier.Deletes,
		Lists:       c.Lists - earlier.Lists,
		Throttled:   c.Throttled - earlier.Throttled,
	}
}

// New wraps b. The time and the randomness of the latencies are rt's; nil means
// the real ones.
func New(b backend.Backend, rt seam.Runtime, p Profile) *Backend {
	if rt == nil {
		rt = seam.Real()
	}
	return &Backend{inner: b, rt: rt, p: p, writes: newThrottle()}
}

// Capabilities tells what the wrapped backend declares.
func (b *Backend) Capabilities() backend.Capabilities { return b.inner.Capabilities() }

// Counts returns the requests so far.
func (b *Backend) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts
}

// Get implements backend.Backend. It takes Profile.Stat if it is answered without
// data, else Profile.Get. The effect comes at half of the latency of the answer
// that the caller hopes for: "not modified" if it knows a version, else the data.
func (b *Backend) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	b.count(&b.counts.Gets)
	z, p := normal(b.rt), b.weather()
	get, stat := p.Get.draw(z), p.Stat.draw(z)
	there := get / 2
	if known != "" {
		there = stat / 2
	}
	if err := b.rt.Sleep(ctx, there); err != nil {
		return backend.Object{}, fmt.Errorf("simulated get %q: %w", name, err)
	}
	o, err := b.inner.Get(ctx, name, known)
	total := get
	if err != nil {
		total = stat
	}
	if errors.Is(err, backend.ErrNotModified) {
		b.count(&b.counts.NotModified)
	}
	if err := b.back(ctx, total-there); err != nil {
		return backend.Object{}, fmt.Errorf("simulated get %q: %w", name, err)
	}
	return o, err
}

// Put implements backend.Backend.
func (b *Backend) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	b.count(&b.counts.Puts)
	upload := time.Duration(float64(b.p.PutPerMiB) * float64(len(data)) / (1 << 20))
	var v backend.Stamp
	err := b.write(ctx, "put", name, upload, func() (err error) {
		v, err = b.inner.Put(ctx, name, data, c)
		return err
	})
	if err != nil {
		return backend.Stamp{}, err
	}
	return v, nil
}

// Delete implements backend.Backend.
func (b *Backend) Delete(ctx context.Context, name string, v backend.Version) error {
	b.count(&b.counts.Deletes)
	return b.write(ctx, "delete", name, 0, func() error { return b.inner.Delete(ctx, name, v) })
}

// write makes a call that changes the object, with the latency of a Put.
func (b *Backend) write(
	ctx context.Context, call, name string, upload time.Duration, effect func() error,
) error {
	total := b.weather().Put.draw(normal(b.rt)) + upload
	if err := b.rt.Sleep(ctx, total/2); err != nil {
		return fmt.Errorf("simulated %s %q: %w", call, name, err)
	}
	err := b.limited(ctx, call, name, effect)
	if left := b.back(ctx, total-total/2); left != nil {
		return fmt.Errorf("simulated %s %q: %w: %w", call, name, backend.ErrOutcomeUnknown, left)
	}
	return err
}

// List implements backend.Backend.
func (b *Backend) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	b.count(&b.counts.Lists)
	total := b.weather().List.draw(normal(b.rt))
	if err := b.rt.Sleep(ctx, total/2); err != nil {
		return backend.Page{}, fmt.Errorf("simulated list %q: %w", o.Prefix, err)
	}
	page, err := b.inner.List(ctx, o)
	if err := b.back(ctx, total-total/2); err != nil {
		return backend.Page{}, fmt.Errorf("simulated list %q: %w", o.Prefix, err)
	}
	return page, err
}

// weather is the profile of one request: now and then of one that takes longer.
func (b *Backend) weather() Profile {
	if b.p.TailIn > 0 && b.rt.Uint64()%uint64(b.p.TailIn) == 0 {
		return b.p.Times(b.p.TailTimes)
	}
	return b.p
}

// back waits for the answer's way; if there is none, it has arrived already, even
// if ctx has ended.
func (b *Backend) back(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return b.rt.Sleep(ctx, d)
}

func (b *Backend) count(n *int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*n++
}

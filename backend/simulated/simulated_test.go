package simulated_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/backendtest"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/internal/seam"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for name, p := range map[string]simulated.Profile{
		"at once":  simulated.Constant(0),
		"constant": simulated.Constant(10 * time.Microsecond),
	} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, func(*testing.T) backendtest.Harness {
				store := memory.New()
				client := func() backend.Backend { return simulated.New(store, nil, p) }
				return backendtest.Harness{Backend: client(), SecondClient: client}
			})
		})
	}
}

// distinct has another latency for everything, and no spread.
var distinct = simulated.Profile{
	Get:       simulated.Latency{Mean: 50 * time.Millisecond},
	Stat:      simulated.Latency{Mean: 30 * time.Millisecond},
	Put:       simulated.Latency{Mean: 70 * time.Millisecond},
	PutPerMiB: 40 * time.Millisecond,
	List:      simulated.Latency{Mean: 60 * time.Millisecond},
}

// TestLatencies: which request takes how long, whatever its answer.
func TestLatencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := simulated.New(memory.New(), nil, distinct)
		ctx := t.Context()
		took := func(want time.Duration, what string, wantErr error, call func() error) {
			t.Helper()
			start := time.Now()
			require.ErrorIs(t, call(), wantErr, what)
			assert.Equal(t, want, time.Since(start), what)
		}
		var v backend.Version
		get := func(known backend.Version) func() error {
			return func() error { _, err := b.Get(ctx, "name", known); return err }
		}
		put := func(size int, c func() backend.Condition) func() error {
			return func() (err error) {
				next, err := b.Put(ctx, "name", make([]byte, size), c())
				v = max(v, next.Version)
				return err
			}
		}
		current := func() backend.Condition { return backend.IfVersion(v) }
		took(30*time.Millisecond, "get absent", backend.ErrNotFound, get(""))
		took(70*time.Millisecond, "put", nil, put(0, backend.IfAbsent))
		took(70*time.Millisecond, "refused put", backend.ErrPrecondition, put(0, backend.IfAbsent))
		took(90*time.Millisecond, "put 512 KiB", nil, put(512<<10, current))
		took(50*time.Millisecond, "get", nil, get(""))
		took(50*time.Millisecond, "get stale", nil, get("stale"))
		took(30*time.Millisecond, "get unchanged", backend.ErrNotModified, get(v))
		took(30*time.Millisecond, "and again", backend.ErrNotModified, get(v))
		took(60*time.Millisecond, "list", nil, func() error {
			_, err := b.List(ctx, backend.ListOptions{})
			return err
		})
		took(70*time.Millisecond, "delete", nil, func() error { return b.Delete(ctx, "name", v) })
		want := simulated.Counts{Gets: 5, NotModified: 2, Puts: 3, Deletes: 1, Lists: 1}
		assert.Equal(t, want, b.Counts())
		assert.Equal(t, 10, want.Requests())
		assert.Equal(t, simulated.Counts{}, want.Sub(want))
	})
}

// TestEffectAtHalf looks at the store just before and just after.
func TestEffectAtHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const latency = 100 * time.Millisecond
		store := memory.New()
		b := simulated.New(store, nil, simulated.Constant(latency))
		ctx := t.Context()
		around := func(call func(), before, after int) {
			t.Helper()
			done := make(chan struct{})
			go func() { call(); close(done) }()
			time.Sleep(latency/2 - 1)
			assert.Equal(t, before, store.Len(), "objects just before the effect")
			time.Sleep(2)
			assert.Equal(t, after, store.Len(), "objects just after the effect")
			<-done
		}
		var at backend.Stamp
		around(func() { at, _ = b.Put(ctx, "name", nil, backend.IfAbsent()) }, 0, 1)
		around(func() { _ = b.Delete(ctx, "name", at.Version) }, 1, 0)

		// A read sees what was there at its half.
		go func() {
			time.Sleep(latency/2 - 1)
			_, _ = store.Put(ctx, "in time", nil, backend.IfAbsent())
			time.Sleep(2)
			_, _ = store.Put(ctx, "too late", nil, backend.IfAbsent())
		}()
		page, err := b.List(ctx, backend.ListOptions{})
		require.NoError(t, err)
		require.Len(t, page.Objects, 1)
		assert.Equal(t, "in time", page.Objects[0].Name)
	})
}

// TestGetSeesItsHalf: that of the answer which the caller hopes for.
func TestGetSeesItsHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			known backend.Version
			half  time.Duration
		}{{"", distinct.Get.Mean / 2}, {"stale", distinct.Stat.Mean / 2}} {
			for _, written := range []time.Duration{tc.half - 1, tc.half + 1} {
				store := memory.New()
				b := simulated.New(store, nil, distinct)
				time.AfterFunc(written, func() {
					_, err := store.Put(t.Context(), "name", nil, backend.IfAbsent())
					assert.NoError(t, err)
				})
				_, err := b.Get(t.Context(), "name", tc.known)
				if written < tc.half {
					assert.NoError(t, err, "written in time, known %q", tc.known)
				} else {
					assert.ErrorIs(t, err, backend.ErrNotFound, "written too late")
				}
			}
		}
	})
}

// TestCallerLeaves: before the effect there is none; after it the outcome of a
// write is unknown to the caller.
func TestCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := simulated.New(store, nil, simulated.Constant(100*time.Millisecond))
		leave := func(after time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), after*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := b.Put(ctx, "name", nil, backend.IfAbsent())
			assert.Equal(t, after*time.Millisecond, time.Since(start),
				"the call outlived its context")
			return err
		}
		err := leave(49)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, backend.ErrOutcomeUnknown)
		assert.Zero(t, store.Len())
		err = leave(51)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorIs(t, err, backend.ErrOutcomeUnknown)
		assert.Equal(t, 1, store.Len())
	})
}

// seeded is the real runtime with a random sequence that repeats.
type seeded struct {
	seam.Runtime
	random *rand.Rand
}

func (s seeded) Uint64() uint64 { return s.random.Uint64() }

// TestSpread compares means and deviations over many requests with the profile.
func TestSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const requests = 20_000
		rt := seeded{seam.Real(), rand.New(rand.NewPCG(1, 2))}
		for name, p := range map[string]simulated.Profile{
			"gcs": simulated.GCS(), "s3": simulated.S3(), "azure": simulated.Azure(),
		} {
			store := memory.New()
			b := simulated.New(store, rt, p)
			_, err := store.Put(t.Context(), "name", nil, backend.IfAbsent())
			require.NoError(t, err)
			var sum, squares float64
			for range requests {
				start := time.Now()
				_, err := b.Get(t.Context(), "name", "")
				require.NoError(t, err)
				d := float64(time.Since(start))
				sum += d
				squares += d * d
			}
			mean := sum / requests
			deviation := math.Sqrt(squares/requests - mean*mean)
			assert.InEpsilon(t, float64(p.Get.Mean), mean, 0.01, "mean of %s", name)
			assert.InEpsilon(t, float64(p.Get.Deviation), deviation, 0.05, "deviation of %s", name)
		}
	})
}

func TestOneWritePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := simulated.Constant(0)
		p.OneWritePerSecond = true
		store := memory.New()
		b := simulated.New(store, nil, p)
		v, err := b.Put(t.Context(), "hot", nil, backend.IfAbsent())
		require.NoError(t, err)
		again := func() error {
			next, err := b.Put(t.Context(), "hot", nil, backend.IfVersion(v.Version))
			if err == nil {
				v = next
			}
			return err
		}
		for range 10 { // Refused for another reason, they do not count.
			_, err := b.Put(t.Context(), "hot", nil, backend.IfAbsent())
			require.ErrorIs(t, err, backend.ErrPrecondition)
		}
		require.NoError(t, again())
		require.NoError(t, again(), "a burst of three")
		require.ErrorIs(t, again(), backend.ErrThrottled)
		_, err = store.Get(t.Context(), "hot", v.Version)
		require.ErrorIs(t, err, backend.ErrNotModified, "a throttled write had an effect")
		require.ErrorIs(t, b.Delete(t.Context(), "hot", v.Version), backend.ErrThrottled)
		_, err = b.Put(t.Context(), "cold", nil, backend.IfAbsent())
		require.NoError(t, err, "another object")

		written := 0
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			if again() == nil {
				written++
			}
		}
		assert.Equal(t, 10, written, "writes in 10 s")
		assert.Equal(t, 92, b.Counts().Throttled)
	})
}

// declaring is a backend, of which only this counts.
type declaring struct {
	backend.Backend
	declares backend.Capabilities
}

func (d declaring) Capabilities() backend.Capabilities { return d.declares }

func TestWhatTheBackendDeclares(t *testing.T) {
	for _, want := range []backend.Capabilities{
		{}, {ConditionalDelete: true}, {SendsOnce: true},
	} {
		b := simulated.New(declaring{memory.New(), want}, nil, simulated.GCS())
		assert.Equal(t, want, b.Capabilities())
	}
}

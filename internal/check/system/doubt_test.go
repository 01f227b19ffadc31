package system_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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
	"github.com/strictkv/strictkv/internal/keyspace"
)

// wire is a handle's way to the bucket, on which requests take a latency.
type wire struct {
	*faulty.Backend
	latency    time.Duration
	gets, puts atomic.Int64
	// fault, if set, may answer a request in place of the bucket, with an error.
	fault atomic.Pointer[func(ctx context.Context, op faulty.Op) error]
}

func wired(bucket *memory.Backend, latency time.Duration) *wire {
	w := &wire{latency: latency}
	w.Backend = faulty.New(bucket, faulty.Options{
		Before: func(ctx context.Context, op faulty.Op) error {
			if op.Kind == faulty.Get {
				w.gets.Add(1)
			} else {
				w.puts.Add(1)
			}
			time.Sleep(w.latency)
			if fault := w.fault.Load(); fault != nil {
				return (*fault)(ctx, op)
			}
			return nil
		},
	})
	return w
}

// Capabilities declares what the adapters of clouds do.
func (w *wire) Capabilities() backend.Capabilities {
	return backend.Capabilities{ConditionalDelete: true, SendsOnce: true}
}

// fails answers from now on the requests of a kind for keys that end so.
func (w *wire) fails(k faulty.Kind, key string, answer func(ctx context.Context) error) {
	fault := func(ctx context.Context, op faulty.Op) error {
		if op.Kind == k && strings.HasSuffix(op.Name, key) {
			return answer(ctx)
		}
		return nil
	}
	w.fault.Store(&fault)
}

func (w *wire) mends() { w.fault.Store(nil) }

func unknown(context.Context) error { return backend.ErrOutcomeUnknown }

func unavailable(context.Context) error { return backend.ErrUnavailable }

func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (w *wire) open(t *testing.T, opts ...strictkv.Option) *client {
	t.Helper()
	db, err := strictkv.Open(t.Context(), "example", w, opts...)
	require.NoError(t, err)
	w.gets.Store(0)
	w.puts.Store(0)
	return &client{t: t, ctx: t.Context(), db: db, coll: db.Collection([]byte("c"))}
}

func (c *client) close() { require.NoError(c.t, c.db.Close(context.Background())) }

// set writes keys blindly, in one transaction.
func (c *client) set(ctx context.Context, value string, keys ...string) error {
	return c.db.Tx(ctx, func(tx *strictkv.Tx) error {
		for _, k := range keys {
			if err := tx.Write(c.coll, []byte(k), []byte(value)); err != nil {
				return err
			}
		}
		return nil
	})
}

// ErrUnavailable and its like promise that nothing was written: an error in doubt must
// not match them, whatever made it impossible to find out.
func TestDoubtDoesNotMatchWhatMeansNothingWasWritten(t *testing.T) {
	never := []error{
		strictkv.ErrUnavailable, strictkv.ErrCorrupt, strictkv.ErrInvalid, strictkv.ErrNotFound,
		strictkv.ErrFormat, strictkv.ErrConflict, backend.ErrDenied, backend.ErrBucketNotFound,
		backend.ErrThrottled,
	}
	for _, x := range []struct {
		name  string
		cause error
		leave bool
	}{
		{"the store is unavailable", backend.ErrUnavailable, false},
		{"access is denied meanwhile", backend.ErrDenied, false},
		{"the bucket is gone", backend.ErrBucketNotFound, false},
		{"the object is damaged", &backend.CorruptError{Object: "o", Err: errors.New("e")}, false},
		{"the caller leaves", backend.ErrUnavailable, true},
	} {
		for _, keys := range [][]string{{"a"}, {"a", "b"}} {
			t.Run(x.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := wired(memory.New(), latency)
					c := w.open(t)
					require.NoError(t, c.set(c.ctx, "old", keys...))
					time.Sleep(time.Second)
					ctx, leave := context.WithCancel(c.ctx)
					defer leave()
					fault := func(_ context.Context, op faulty.Op) error {
						if op.Kind == faulty.Put {
							return backend.ErrOutcomeUnknown
						}
						if x.leave {
							leave()
						}
						return x.cause // when the handle looks what came of the writes
					}
					w.fault.Store(&fault)
					err := c.set(ctx, "new", keys...)
					w.mends()
					require.ErrorIs(t, err, strictkv.ErrInDoubt)
					require.ErrorIs(t, err, backend.ErrOutcomeUnknown, "it says why")
					assert.Equal(t, x.leave, errors.Is(err, context.Canceled), "%v", err)
					for _, other := range never {
						assert.NotErrorIs(t, err, other)
					}
					c.close()
				})
			})
		}
	}
}

// n readers of one attempt ask for its status together: of n keys, n GETs to read them,
// n-1 to ask the other members, and n to validate.
func TestReadersOfOneAttemptAskTogether(t *testing.T) {
	for _, n := range []int{2, 8, 9, 100} {
		synctest.Test(t, func(t *testing.T) {
			s := &scene{t: t, bucket: memory.New()}
			got := s.measure(crashed(n)(s), view(n))
			assert.LessOrEqual(t, got.gets, 3*n-1, "GETs of %d keys", n)
			assert.LessOrEqual(t, got.rounds, 4)
			assert.Zero(t, got.puts)
		})
	}
}

// The handle's next transaction on keys of an attempt in doubt settles that first: it
// does not meet it like a stranger's, with patience.
func TestTransactionAfterDoubtGoesOnAtOnce(t *testing.T) {
	for name, pause := range map[string]time.Duration{
		"before the background": 0, "after the background": time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := wired(memory.New(), time.Millisecond)
				c := w.open(t)
				require.NoError(t, c.set(c.ctx, "old", "a", "b"))
				time.Sleep(time.Second)
				w.fails(faulty.Put, "=b", hangs)
				ctx, cancel := context.WithTimeout(c.ctx, 20*time.Millisecond)
				defer cancel()
				require.ErrorIs(t, c.set(ctx, "doubt", "a", "b"), strictkv.ErrInDoubt)
				w.mends()
				time.Sleep(pause)
				began := time.Now()
				require.NoError(t, c.set(c.ctx, "new", "a", "b"))
				assert.LessOrEqual(t, time.Since(began), 10*w.latency)
				c.close()
			})
		})
	}
}

// Who waits for an attempt that he cannot kill, since each fence has an unknown outcome,
// looks at it every second in the end; and goes on when that is over.
func TestUnknownFencesAreNotRepeatedInHaste(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := memory.New()
		dying, w := wired(bucket, latency), wired(bucket, 5*time.Millisecond)
		a, b := dying.open(t), w.open(t)
		dying.fails(faulty.Put, "=b", unknown)
		ctx, cancel := context.WithTimeout(a.ctx, 4*latency)
		defer cancel()
		require.ErrorIs(t, a.set(ctx, "left", "a", "b"), strictkv.ErrInDoubt)
		dying.fails(faulty.Put, "", unknown)
		w.fails(faulty.Put, "", unknown)
		time.AfterFunc(30*time.Second, func() {
			assert.Less(t, w.puts.Load(), int64(80), "fences in 30 seconds")
			assert.Less(t, w.gets.Load(), int64(200), "looks in 30 seconds")
			assert.Greater(t, w.puts.Load(), int64(20), "it goes on trying")
			w.mends()
		})
		began := time.Now()
		require.NoError(t, b.set(b.ctx, "mine", "a"))
		assert.Less(t, time.Since(began), 32*time.Second)
		a.close()
		b.close()
	})
}

// diary keeps the errors of a log that say what was left to others: those at level Debug.
type diary struct {
	slog.Handler

	mu   sync.Mutex // guards errs
	errs []error
}

func (d *diary) Enabled(context.Context, slog.Level) bool { return true }

func (d *diary) WithAttrs([]slog.Attr) slog.Handler { return d }

func (d *diary) Handle(_ context.Context, r slog.Record) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Level != slog.LevelDebug {
		return nil
	}
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			d.errs = append(d.errs, err)
		}
		return true
	})
	return nil
}

func (d *diary) errors() []error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.errs)
}

// Resolving survives an outage: of some seconds if the store says that it has not
// applied the writes; if it does not say that, of as long as its tries last, between
// which are pauses that double. Then it is given up, says so, and the intents are left
// to whoever meets them.
func TestResolvingInAnOutage(t *testing.T) {
	for _, x := range []struct {
		name   string
		outage time.Duration
		answer func(context.Context) error
		puts   int64 // of two cells, in the outage; 0: not pinned
		lasts  bool  // it lasts longer than the tries
	}{
		{"unknown outcomes, 1 s", time.Second, unknown, 10, false},
		{"unknown outcomes, 5 s", 5 * time.Second, unknown, 0, false},
		{"unknown outcomes, 30 s", 30 * time.Second, unknown, 32, true},
		{"not applied, 5 s", 5 * time.Second, unavailable, 0, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &diary{}
				s := &scene{t: t, bucket: memory.New()}
				w := wired(s.bucket, latency)
				c := w.open(t, strictkv.WithLogger(slog.New(log)))
				require.NoError(t, c.set(c.ctx, "v", "a", "b"))
				w.puts.Store(0)
				w.fails(faulty.Put, "", x.answer)
				time.Sleep(x.outage)
				during := w.puts.Load()
				if x.puts > 0 {
					assert.Equal(t, x.puts, during, "tries in the outage")
				}
				w.mends()
				time.Sleep(time.Minute)
				assert.Equal(t, x.lasts, s.intents() > 0, "intents are left")
				if x.lasts {
					assert.Equal(t, during, w.puts.Load(), "puts after it was given up")
					require.Len(t, log.errors(), 2, "it says so of each cell")
					assert.ErrorIs(t, log.errors()[0], strictkv.ErrUnavailable)
				} else {
					assert.Empty(t, log.errors())
				}
				began := time.Now()
				require.NoError(t, c.set(c.ctx, "w", "a", "b"))
				assert.LessOrEqual(t, time.Since(began), 4*latency)
				c.close()
				assert.Zero(t, s.intents())
			})
		})
	}
}

// The timeout of a wave is the library's: to the caller the store was unavailable, and
// his context has not ended.
func TestTimeoutOfAWaveIsNotTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := wired(memory.New(), 0)
		c := w.open(t, strictkv.WithConcurrency(1)) // the second write is never sent
		w.fails(faulty.Put, "", hangs)
		began := time.Now()
		err := insert(2)(c)
		w.mends()
		require.ErrorIs(t, err, strictkv.ErrUnavailable)
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, strictkv.ErrInDoubt)
		assert.Equal(t, time.Minute, time.Since(began))
		require.NoError(t, insert(2)(c), "nothing was written")
		c.close()
	})
}

// A request that hangs is given up after 30 seconds, and sent again, whatever deadline
// the caller has.
func TestARequestThatHangsIsSentAgainBeforeTheDeadline(t *testing.T) {
	for name, deadline := range map[string]time.Duration{
		"31 s": 31 * time.Second, "45 s": 45 * time.Second, "60 s": time.Minute,
		"61 s": 61 * time.Second, "an hour": time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := wired(memory.New(), 0)
				c := w.open(t)
				w.fails(faulty.Get, "", func(ctx context.Context) error {
					w.mends()
					return hangs(ctx)
				})
				ctx, cancel := context.WithTimeout(c.ctx, deadline)
				defer cancel()
				began := time.Now()
				_, err := c.coll.Read(ctx, []byte("a"))
				require.ErrorIs(t, err, strictkv.ErrNotFound)
				assert.WithinRange(t, time.Now(), began.Add(30*time.Second),
					began.Add(31*time.Second))
				assert.EqualValues(t, 2, w.gets.Load())
				c.close()
			})
		})
	}
}

// A key that is asked for five times costs one GET, and gives five values, each the
// caller's own.
func TestReadMultiOfOneKey(t *testing.T) {
	for name, present := range map[string]bool{"present": true, "absent": false} {
		t.Run(name, func(t *testing.T) {
			bucket := memory.New()
			if present {
				other := wired(bucket, 0).open(t)
				require.NoError(t, other.set(other.ctx, "value", "x"))
				other.close()
			}
			w := wired(bucket, 0)
			c := w.open(t)
			k := c.coll.Key([]byte("x"))
			require.NoError(t, c.db.View(c.ctx, func(tx *strictkv.Tx) error {
				results := tx.ReadMulti(k, k, k, k, k)
				for _, r := range results {
					if !present {
						assert.ErrorIs(t, r.Err, strictkv.ErrNotFound)
						continue
					}
					require.NoError(t, r.Err)
					assert.Equal(t, "value", string(r.Value))
					copy(r.Value, "VALUE")
				}
				return nil
			}))
			assert.EqualValues(t, 1, w.gets.Load())
			c.close()
		})
	}
}

// When a transaction in doubt turns out to have had no effect, the background removes the values
// that it has uploaded, and no others.
func TestValuesOfAnAttemptInDoubtAreRemoved(t *testing.T) {
	for _, keys := range [][]string{{"a"}, {"a", "b"}} {
		synctest.Test(t, func(t *testing.T) {
			bucket := memory.New()
			w := wired(bucket, time.Millisecond)
			c := w.open(t, strictkv.WithInlineMax(4))
			require.NoError(t, c.set(c.ctx, "an old value", keys...))
			time.Sleep(time.Second)
			before := valuesIn(t, bucket)
			require.Len(t, before, len(keys))
			ctx, leave := context.WithCancel(c.ctx)
			defer leave()
			w.fails(faulty.Put, "=a", func(context.Context) error {
				leave()
				return backend.ErrOutcomeUnknown
			})
			require.ErrorIs(t, c.set(ctx, "a new value", keys...), strictkv.ErrInDoubt)
			w.mends()
			time.Sleep(time.Minute)
			c.close()
			assert.Equal(t, before, valuesIn(t, bucket))
		})
	}
}

// valuesIn are the names of the values in a bucket that are objects of their own.
func valuesIn(t *testing.T, bucket *memory.Backend) (names []string) {
	page, err := bucket.List(t.Context(), backend.ListOptions{Prefix: "example/"})
	require.NoError(t, err)
	for _, o := range page.Objects {
		name := strings.TrimPrefix(o.Name, "example/")
		if keyspace.KindOf(name) == keyspace.ValueKind {
			names = append(names, name)
		}
	}
	return names
}

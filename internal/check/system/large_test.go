package system_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/internal/raced"
)

const mib = 1 << 20

// inlineSizes are those of the table in docs/decisions/inline-max.md.
var inlineSizes = []int{
	1 << 10, 16 << 10, 64 << 10, 256 << 10, 512 << 10, mib, 2 * mib, 4 * mib,
}

// steady is a profile without its spread, so that one sample is the mean.
func steady(p simulated.Profile) simulated.Profile {
	for _, l := range []*simulated.Latency{&p.Get, &p.Stat, &p.Put, &p.List} {
		l.Deviation = 0
	}
	return p
}

// toll is what a call costs: up and down in bytes, both and the requests with the
// background's.
type toll struct {
	took     time.Duration
	up, down float64
	requests float64
}

// validatedRow is the row of a validated commit.
const validatedRow = "read 2 keys, write 1 of them, warm"

// movement is a row of the table.
type movement struct {
	name  string
	warm  bool
	times int // the call is made so often in a row: the toll is that of one, on average
	call  func(c *client, value []byte) error
}

var movements = []movement{
	{"read, cold", false, 1, func(c *client, _ []byte) error { return read(c) }},
	{"read, warm", true, 1, func(c *client, _ []byte) error { return read(c) }},
	{"update of 1 key, cold", false, 1, updating(1, 1)},
	{"update of 1 key, warm", true, 1, updating(1, 1)},
	{"update of 2 keys, cold", false, 1, updating(2, 2)},
	{"update of 2 keys, warm", true, 1, updating(2, 2)},
	{"update of 2 keys, back to back", true, 10, updating(2, 2)},
	{validatedRow, true, 1, updating(2, 1)},
	{"blind write, cold", false, 1, updating(0, 1)},
	{"blind write, warm", true, 1, updating(0, 1)},
}

// updating reads some keys in parallel, and then writes some.
func updating(reads, writes int) func(c *client, value []byte) error {
	return func(c *client, value []byte) error {
		return c.db.Tx(c.ctx, func(tx *strictkv.Tx) error {
			if err := c.readAll(tx, 0, reads); err != nil {
				return err
			}
			for i := range writes {
				if err := tx.Write(c.coll, keyAt(i), value); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// largeClient opens the database, with the default options and others.
func largeClient(t *testing.T, b backend.Backend, opts ...strictkv.Option) *client {
	db, err := strictkv.Open(t.Context(), "example", b, opts...)
	require.NoError(t, err)
	return &client{t: t, ctx: t.Context(), db: db, coll: db.Collection([]byte("c"))}
}

// pay makes the call, on keys that have a value of that size, by a handle with that
// inlineMax.
func (o movement) pay(t *testing.T, p simulated.Profile, size, inlineMax int) (paid toll) {
	synctest.Test(t, func(t *testing.T) {
		bucket := memory.New()
		value := make([]byte, size)
		setup := largeClient(t, bucket, strictkv.WithInlineMax(inlineMax))
		require.NoError(t, updating(0, 2)(setup, value))
		require.NoError(t, setup.db.Close(t.Context()))

		c := largeClient(t, simulated.New(bucket, nil, p), strictkv.WithInlineMax(inlineMax))
		if o.warm {
			require.NoError(t, view(2)(c))
			time.Sleep(time.Minute)
		}
		before, began := c.db.Stats(), time.Now()
		for range o.times {
			require.NoError(t, o.call(c, value))
		}
		paid.took = time.Since(began) / time.Duration(o.times)
		require.NoError(t, c.db.Close(t.Context()))
		s, n := c.db.Stats().Sub(before), float64(o.times)
		paid.up, paid.down = float64(s.BytesWritten)/n, float64(s.BytesRead)/n
		paid.requests = float64(s.Gets+s.Puts+s.Deletes+s.Lists) / n
	})
	return paid
}

// tolls are those of one movement by the size of the value.
type tolls struct{ inline, external map[int]toll }

// inlineTable computes the tolls of all movements, and logs them.
func inlineTable(t *testing.T, p simulated.Profile) map[string]tolls {
	all := map[string]tolls{}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight|tabwriter.Debug)
	fmt.Fprint(w, "ms inline / external\t")
	for _, size := range inlineSizes {
		fmt.Fprintf(w, "%d KiB\t", size>>10)
	}
	fmt.Fprintln(w, "MiB up at 1 MiB\tMiB down\trequests\t")
	for _, o := range movements {
		x := tolls{map[int]toll{}, map[int]toll{}}
		fmt.Fprintf(w, "%s\t", o.name)
		for _, size := range inlineSizes {
			x.inline[size] = o.pay(t, p, size, strictkv.ValueMax)
			x.external[size] = o.pay(t, p, size, 0)
			fmt.Fprintf(w, "%.0f / %.0f\t", ms(x.inline[size]), ms(x.external[size]))
		}
		in, out := x.inline[mib], x.external[mib]
		fmt.Fprintf(w, "%.1f / %.1f\t%.1f / %.1f\t%.1f / %.1f\t\n",
			in.up/mib, out.up/mib, in.down/mib, out.down/mib, in.requests, out.requests)
		all[o.name] = x
	}
	require.NoError(t, w.Flush())
	t.Logf("\n%s", table.String())
	return all
}

func ms(x toll) float64 { return math.Round(x.took.Seconds() * 1000) }

// TestInlineTable logs what the default of WithInlineMax was chosen by, and holds to it
// what does not depend on chance.
func TestInlineTable(t *testing.T) {
	if raced.Enabled() {
		t.Skip("it counts requests of what others race in: run it without -race")
	}
	const standard = strictkv.DefaultInlineMax
	require.Contains(t, inlineSizes, standard)
	for _, x := range []struct {
		name    string
		profile simulated.Profile
		turned  int // a size at which an update of 2 keys is faster outside
	}{{"gcs", simulated.GCS(), 2 * mib}, {"s3", simulated.S3(), 4 * mib}} {
		t.Run(x.name, func(t *testing.T) {
			table := inlineTable(t, steady(x.profile))
			for name, costs := range table {
				in, out := costs.inline[standard], costs.external[standard]
				slack := time.Duration(0)
				if name == validatedRow {
					slack = out.took / 10
				}
				assert.LessOrEqual(t, in.took, out.took+slack, name)
				assert.LessOrEqual(t, in.requests, out.requests, name)
				assert.LessOrEqual(t, out.up, 2.01*standard, "%s: each value is sent once", name)
				assert.LessOrEqual(t, in.up, 3*out.up, "%s: bytes sent", name)
			}
			two := table["update of 2 keys, warm"]
			assert.Greater(t, two.inline[x.turned].took, two.external[x.turned].took,
				"where the outside is faster")
		})
	}
}

// TestLargeUpdate: a read-modify-write of 1 MiB takes at most 1.25 times as long as a bare
// GET and PUT of the same bytes in the same store.
func TestLargeUpdate(t *testing.T) {
	const samples = 50
	synctest.Test(t, func(t *testing.T) {
		bucket := memory.New()
		value := make([]byte, mib)
		var bare, cold, warm time.Duration
		took := func(call func()) time.Duration {
			began := time.Now()
			call()
			return time.Since(began)
		}
		for n := range samples {
			sim := simulated.New(bucket, nil, simulated.GCS())
			name := fmt.Sprintf("bare-%d", n)
			v, err := bucket.Put(t.Context(), name, value, backend.IfAbsent())
			require.NoError(t, err)
			bare += took(func() {
				o, err := sim.Get(t.Context(), name, "")
				require.NoError(t, err)
				require.Len(t, o.Data, mib)
				_, err = sim.Put(t.Context(), name, o.Data, backend.IfVersion(v.Version))
				require.NoError(t, err)
			})
			setup := largeClient(t, bucket)
			require.NoError(t, setup.coll.Write(t.Context(), keyAt(0), value))
			require.NoError(t, setup.db.Close(t.Context()))
			c := largeClient(t, sim)
			cold += took(func() { require.NoError(t, updating(1, 1)(c, value)) })
			warm += took(func() { require.NoError(t, updating(1, 1)(c, value)) })
			require.NoError(t, c.db.Close(t.Context()))
		}
		t.Logf("GET and PUT %v; read-modify-write cold %v, warm %v, on average",
			bare/samples, cold/samples, warm/samples)
		assert.LessOrEqual(t, cold.Seconds(), 1.25*bare.Seconds(), "cold")
		assert.LessOrEqual(t, warm.Seconds(), 1.25*bare.Seconds(), "warm")
	})
}

// largeBackends are stores that keep a value outside of this process's heap, but for the
// first, which keeps the very buffer that it is given.
func largeBackends(t *testing.T) map[string]func() backend.Backend {
	return map[string]func() backend.Backend{
		"memory": func() backend.Backend { return memory.New() },
		"folder": func() backend.Backend { return folder.New(t.TempDir(), folder.NoSync()) },
		"gcs":    func() backend.Backend { return gcs.New(gcstest.NewProcess(t).DirectBucket(t)) },
	}
}

// TestMemoryOfLargeValues: to write the largest value takes one copy of what the caller
// has, and to read it the bytes as they came and the caller's copy of them.
func TestMemoryOfLargeValues(t *testing.T) {
	if raced.Enabled() {
		t.Skip("the race detector takes memory of its own: run it without -race")
	}
	value := bytes.Repeat([]byte("a value of 16 by"), strictkv.ValueMax/16)
	for name, store := range largeBackends(t) {
		t.Run(name, func(t *testing.T) {
			c := largeClient(t, store())
			key := keyAt(0)
			read := func(tx *strictkv.Tx) ([]byte, error) { return tx.Read(c.coll, key) }
			writing := func(err error) ([]byte, error) { return value, err }
			for _, x := range []struct {
				name string
				most float64 // of the sizes of the value, without the caller's own
				call func() ([]byte, error)
			}{
				{"insert", 1, func() ([]byte, error) {
					return writing(c.coll.Insert(c.ctx, key, value))
				}},
				{"write", 1, func() ([]byte, error) {
					return writing(c.coll.Write(c.ctx, key, value))
				}},
				{"write in a transaction", 1, func() ([]byte, error) {
					return writing(updating(0, 1)(c, value))
				}},
				{"read", 2, func() ([]byte, error) { return c.coll.Read(c.ctx, key) }},
				{"read in a transaction", 2, func() ([]byte, error) {
					return strictkv.Do(c.ctx, c.db, read)
				}},
				{"read in a view", 2, func() ([]byte, error) {
					return strictkv.DoView(c.ctx, c.db, read)
				}},
			} {
				var got []byte
				var err error
				part := allocated(func() { got, err = x.call() }) / strictkv.ValueMax
				require.NoError(t, err, x.name)
				require.True(t, bytes.Equal(value, got), x.name)
				assert.LessOrEqual(t, part, x.most+0.02, "%s: sizes of the value", x.name)
				t.Logf("%s: %.3f sizes of the value", x.name, part)
			}
			require.NoError(t, c.db.Close(t.Context()))
		})
	}
}

// TestMemoryOfALargeUpdate: while a value is read, changed and written, what lives in the
// heap at any call of the store is at most two of it.
func TestMemoryOfALargeUpdate(t *testing.T) {
	store := &hooked{Backend: folder.New(t.TempDir(), folder.NoSync())}
	c := largeClient(t, store)
	key := keyAt(0)
	require.NoError(t, c.coll.Write(c.ctx, key, make([]byte, strictkv.ValueMax)))
	var kept []byte // by the caller: else the collector has taken it when it is written
	base, most := live(), uint64(0)
	store.before = func(string, string) { most = max(most, live()) }
	require.NoError(t, c.coll.Update(c.ctx, key, func(old []byte) ([]byte, error) {
		kept = old
		old[0]++
		return old, nil
	}))
	runtime.KeepAlive(kept)
	part := float64(most-base) / strictkv.ValueMax
	t.Logf("at most %.3f sizes of the value", part)
	assert.LessOrEqual(t, part, 2.02, "sizes of the value")
	require.NoError(t, c.db.Close(t.Context()))
}

// live is what lives in the heap, in bytes.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// allocated is how many bytes f allocates. It counts what other goroutines allocate too,
// so tests of it are not parallel.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// An upload that fails ends the transaction with an error that says why, and that nothing
// was written; and nothing is.
func TestUploadFails(t *testing.T) {
	for name, x := range map[string]struct{ cause, want error }{
		"denied":     {backend.ErrDenied, backend.ErrDenied},
		"no bucket":  {backend.ErrBucketNotFound, backend.ErrBucketNotFound},
		"throttled":  {backend.ErrThrottled, backend.ErrThrottled},
		"down":       {backend.ErrUnavailable, strictkv.ErrUnavailable},
		"no answers": {backend.ErrOutcomeUnknown, strictkv.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVault(t)
				v.write("k", large(1))
				v.open(faulty.New(v.mem, faulty.Options{
					Before: func(_ context.Context, op faulty.Op) error {
						if op.Kind == faulty.Put && strings.Contains(op.Name, "*") {
							return x.cause
						}
						return nil
					},
				}))
				err := v.coll.Write(v.ctx, []byte("k"), large(2))
				require.ErrorIs(t, err, x.want)
				for _, wrong := range []error{
					strictkv.ErrNotFound, strictkv.ErrInDoubt, backend.ErrOutcomeUnknown,
					context.DeadlineExceeded, context.Canceled,
				} {
					assert.NotErrorIs(t, err, wrong)
				}
				got, err := v.coll.Read(v.ctx, []byte("k"))
				require.NoError(t, err)
				assert.Equal(t, large(1), got)
				_, values := v.objects()
				assert.Len(t, values, 1)
			})
		})
	}
}

// Who leaves while a value is uploaded leaves nothing behind, whenever that is.
func TestLeavingAnUpload(t *testing.T) {
	for after := 5 * time.Millisecond; after < 2*latency; after += 10 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			v := newVault(t)
			v.write("k", large(1))
			v.open(simulated.New(v.mem, nil, simulated.Constant(latency)))
			ctx, cancel := context.WithTimeout(v.ctx, after)
			defer cancel()
			err := v.db.Tx(ctx, func(tx *strictkv.Tx) error {
				return errors.Join(tx.Write(v.coll, []byte("k"), large(2)),
					tx.Write(v.coll, []byte("new"), large(3)))
			})
			require.ErrorIs(t, err, context.DeadlineExceeded, after)
			if after < latency {
				require.NotErrorIs(t, err, strictkv.ErrInDoubt, after)
			}
			require.NoError(t, v.db.Close(v.ctx))
			assert.Empty(t, others(), "goroutines after Close")
			if after < latency {
				_, values := v.objects()
				assert.Len(t, values, 1, after)
			}
		})
	}
}

// Close waits for a transaction whose values are uploaded, and what it leaves behind.
func TestCloseDuringAnUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		v.write("k", large(1))
		v.open(simulated.New(v.mem, nil, simulated.Constant(latency)))
		done := make(chan error)
		go func() { done <- v.coll.Write(v.ctx, []byte("k"), large(2)) }()
		time.Sleep(latency / 2)
		short, cancel := context.WithTimeout(v.ctx, latency/4)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, v.db.Close(short), context.DeadlineExceeded)
		assert.Equal(t, latency/4, time.Since(began))
		require.NoError(t, <-done)
		require.NoError(t, v.db.Close(v.ctx))
		assert.Empty(t, others(), "goroutines after Close")
		v.open(v.mem)
		got, err := v.coll.Read(v.ctx, []byte("k"))
		require.NoError(t, err)
		assert.Equal(t, large(2), got)
	})
}

// Several goroutines of a function may write one key, and read it meanwhile: the last
// value counts, whole.
func TestLargeValuesFromSeveralGoroutines(t *testing.T) {
	const goroutines = 8
	v := newVault(t)
	v.write("k", large(0))
	require.NoError(t, v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
		var wg sync.WaitGroup
		for n := range goroutines {
			wg.Go(func() {
				value := large(n)
				assert.NoError(t, tx.Write(v.coll, []byte("k"), value))
				clear(value) // values handed in may be reused
				key := v.coll.Key([]byte("k"))
				for _, r := range tx.ReadMulti(key, key) {
					assert.NoError(t, r.Err)
					assert.Len(t, r.Value, len(large(0)))
					assert.NotZero(t, r.Value[0])
					clear(r.Value) // and values handed out changed
				}
			})
		}
		wg.Wait()
		return nil
	}))
	got, err := v.coll.Read(v.ctx, []byte("k"))
	require.NoError(t, err)
	var n int
	_, err = fmt.Sscanf(string(got), "%03d-", &n)
	require.NoError(t, err)
	assert.Equal(t, large(n), got)
	_, values := v.objects()
	assert.Len(t, values, 1)
}

// With an InlineMax of 0 all values but the empty one are external.
func TestInlineMaxOfZero(t *testing.T) {
	v := newVault(t, strictkv.WithInlineMax(0))
	for size, values := range map[int]int{0: 0, 1: 1} {
		want := make([]byte, size)
		v.write("k", want)
		got, err := v.coll.Read(v.ctx, []byte("k"))
		require.NoError(t, err)
		assert.Equal(t, want, got)
		require.NoError(t, v.coll.Update(v.ctx, []byte("k"), func(old []byte) ([]byte, error) {
			assert.Equal(t, want, old)
			return old, nil
		}))
		_, left := v.objects()
		assert.Len(t, left, values)
		v.open(v.mem, strictkv.WithInlineMax(0))
	}
}

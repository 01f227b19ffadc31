package strictkv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
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
)

// numbered yields n keys, with their numbers as values.
func numbered(n int) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for i := range n {
			if !yield(fmt.Appendf(nil, "key-%05d", i), fmt.Append(nil, i)) {
				return
			}
		}
	}
}

// TestLoadTellsWhatFailed: one key's failure is that key's alone.
func TestLoadTellsWhatFailed(t *testing.T) {
	db, err := strictkv.Open(t.Context(), "db", memory.New())
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	require.NoError(t, c.Write(t.Context(), []byte("key-00007"), []byte("other")))
	require.NoError(t, c.Write(t.Context(), []byte("key-00008"), []byte("8")))
	require.NoError(t, c.Write(t.Context(), []byte("key-00009"), []byte("9")))
	require.NoError(t, c.Delete(t.Context(), []byte("key-00009")))
	seq := func(yield func(key, value []byte) bool) {
		_ = yield(nil, nil) && yield(bytes.Repeat([]byte("k"), 513), nil) &&
			yield([]byte("large"), make([]byte, strictkv.ValueMax+1)) &&
			yield([]byte("nil"), nil) && yield([]byte("nil"), []byte{})
		numbered(10)(yield)
	}
	report, err := c.Load(t.Context(), seq, strictkv.LoadOptions{Concurrency: 1})
	require.NoError(t, err)
	assert.EqualValues(t, 15, report.Taken)
	assert.EqualValues(t, 9, report.Inserted, "and one of them had been deleted")
	assert.EqualValues(t, 2, report.Present)
	assert.EqualValues(t, 4, report.Failed)
	require.Len(t, report.Failures, 4)
	for i, target := range []error{
		strictkv.ErrInvalidKey, strictkv.ErrInvalidKey, strictkv.ErrTooLarge, strictkv.ErrExists,
	} {
		assert.ErrorIs(t, report.Failures[i].Err, target)
	}
	assert.Equal(t, "key-00007", string(report.Failures[3].Key))
	assert.ErrorContains(t, report.Failures[3].Err, "another value")
	v, err := c.Read(t.Context(), []byte("key-00007"))
	require.NoError(t, err)
	assert.Equal(t, "other", string(v), "it stays")

	for i := range 200 {
		require.NoError(t, c.Write(t.Context(), fmt.Appendf(nil, "key-%05d", i), nil))
	}
	report, err = c.Load(t.Context(), numbered(300), strictkv.LoadOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 200, report.Failed)
	assert.Len(t, report.Failures, 100)
	assert.EqualValues(t, 100, report.Inserted)
	require.NoError(t, db.Close(t.Context()))
}

// TestLoadRefuses says what is wrong, and changes nothing.
func TestLoadRefuses(t *testing.T) {
	bucket := memory.New()
	db, err := strictkv.Open(t.Context(), "db", bucket)
	require.NoError(t, err)
	c, o := db.Collection([]byte("c")), strictkv.LoadOptions{}
	before := bucket.Len()
	_, err = c.Load(t.Context(), nil, o)
	require.ErrorIs(t, err, strictkv.ErrInvalid)
	_, err = c.Load(t.Context(), numbered(1), strictkv.LoadOptions{Concurrency: -1})
	require.ErrorIs(t, err, strictkv.ErrInvalid)
	_, err = db.Collection(nil).Load(t.Context(), numbered(1), o)
	require.ErrorIs(t, err, strictkv.ErrInvalidKey)
	reader, err := strictkv.Open(t.Context(), "db", bucket, strictkv.ReadOnly())
	require.NoError(t, err)
	_, err = reader.Collection([]byte("c")).Load(t.Context(), numbered(1), o)
	require.ErrorIs(t, err, strictkv.ErrReadOnly)
	require.NoError(t, reader.Close(t.Context()))
	require.NoError(t, db.Close(t.Context()))
	_, err = c.Load(t.Context(), numbered(1), o)
	require.ErrorIs(t, err, strictkv.ErrClosed)
	assert.Equal(t, before, bucket.Len())
}

// TestLoadEnds with its context, with the handle, with the store, or with a panic of the
// sequence: nothing goes on after it has returned, and it can be repeated.
func TestLoadEnds(t *testing.T) {
	const n = 300
	failed := errors.New("failed")
	for name, x := range map[string]struct {
		after func(cancel func(), db *strictkv.DB, net *faulty.Backend)
		want  error
	}{
		"context": {func(cancel func(), _ *strictkv.DB, _ *faulty.Backend) { cancel() },
			context.Canceled},
		"handle": {func(_ func(), db *strictkv.DB, _ *faulty.Backend) {
			go func() { _ = db.Close(context.Background()) }()
		}, strictkv.ErrClosed},
		"store": {func(_ func(), _ *strictkv.DB, net *faulty.Backend) { net.SetOutage(true) },
			strictkv.ErrUnavailable},
		"panic": {func(func(), *strictkv.DB, *faulty.Backend) { panic(failed) }, failed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				sim := simulated.New(memory.New(), nil, simulated.GCS())
				net := faulty.New(sim, faulty.Options{})
				db, err := strictkv.Open(ctx, "db", net)
				require.NoError(t, err)
				c, yielded := db.Collection([]byte("c")), 0
				load := func() (r strictkv.LoadReport, err error) {
					defer func() {
						if p := recover(); p != nil {
							err = p.(error)
						}
					}()
					return c.Load(ctx, func(yield func(key, value []byte) bool) {
						for key, value := range numbered(n) {
							if yielded++; yielded == 100 {
								x.after(cancel, db, net)
							}
							if !yield(key, value) {
								return
							}
						}
					}, strictkv.LoadOptions{Concurrency: 10})
				}
				report, err := load()
				require.ErrorIs(t, err, x.want)
				assert.Less(t, yielded, 120, "it stops")
				assert.LessOrEqual(t, report.Inserted, int64(yielded))
				requests := sim.Counts().Requests()
				time.Sleep(time.Hour)
				assert.LessOrEqual(t, sim.Counts().Requests(), requests+10, "nothing goes on")
				_ = db.Close(context.Background()) // what it left may not be settled

				again, err := strictkv.Open(t.Context(), "db", sim)
				require.NoError(t, err)
				c = again.Collection([]byte("c"))
				report, err = c.Load(t.Context(), numbered(n), strictkv.LoadOptions{})
				require.NoError(t, err)
				assert.EqualValues(t, n, report.Inserted+report.Present)
				assert.Positive(t, report.Present)
				require.NoError(t, again.Close(t.Context()))
			})
		})
	}
}

func ExampleCollection_Load() {
	db := openExample()
	defer db.Close(ctx)
	users := db.Collection([]byte("users"))
	must(users.Write(ctx, []byte("bob"), []byte("the old one")))
	lines := []string{"alice", "bob", "carol"} // from a file, or another database
	report, err := users.Load(ctx, func(yield func(key, value []byte) bool) {
		for _, name := range lines {
			if !yield([]byte(name), []byte("hello "+name)) {
				return
			}
		}
	}, strictkv.LoadOptions{})
	must(err)
	fmt.Println(report.Inserted, "of", report.Taken)
	for _, f := range report.Failures {
		fmt.Println(f.Err)
	}
	// Output:
	// 2 of 3
	// insert "bob": key exists with another value
}

// slowPut holds back the first write of a key until its context ends.
type slowPut struct {
	backend.Backend
	key  string
	held atomic.Bool
}

func (s *slowPut) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	if strings.Contains(name, s.key) && s.held.CompareAndSwap(false, true) {
		<-ctx.Done()
		return backend.Stamp{}, ctx.Err()
	}
	return s.Backend.Put(ctx, name, data, c)
}

// TestLoadIsRepeatedFromItsBeginning: the keys that were taken, less those inserted at once, are
// no point to go on from, since a slow insertion is overtaken; the beginning is.
func TestLoadIsRepeatedFromItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, atOnce = 2000, 8
		store := &slowPut{Backend: memory.New(), key: "key-00001"}
		db, err := strictkv.Open(t.Context(), "db", store)
		require.NoError(t, err)
		c := db.Collection([]byte("c"))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		report, err := c.Load(ctx, numbered(keys), strictkv.LoadOptions{
			Concurrency: atOnce,
			Progress:    func(strictkv.LoadReport) { stop() },
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Greater(t, report.Taken, int64(1+atOnce))
		_, err = c.Read(t.Context(), []byte("key-00001"))
		require.ErrorIs(t, err, strictkv.ErrNotFound)
		report, err = c.Load(t.Context(), numbered(keys), strictkv.LoadOptions{})
		require.NoError(t, err)
		assert.EqualValues(t, keys, report.Inserted+report.Present)
		require.NoError(t, db.Close(t.Context()))
	})
}

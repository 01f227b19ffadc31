package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const prefix = "db/"

var background = context.Background()

// wire is a connection whose every request the test can answer or change.
type wire struct {
	mem    *memory.Backend
	mu     sync.Mutex // guards all below
	sent   []faulty.Op
	before func(ctx context.Context, op faulty.Op, n int) error
	after  func(op faulty.Op, n int, a *faulty.Answer)
}

// open opens a store on mem.
func open(t *testing.T, mem *memory.Backend) (*store.Store, *wire) {
	t.Helper()
	w := &wire{mem: mem}
	st, err := store.Open(background, w.options())
	require.NoError(t, err)
	w.sent = nil
	return st, w
}

func (w *wire) options() store.Options {
	net := faulty.New(w.mem, faulty.Options{
		Before: func(ctx context.Context, op faulty.Op) error {
			w.mu.Lock()
			n, before := len(w.sent), w.before
			w.sent = append(w.sent, op)
			w.mu.Unlock()
			if before != nil {
				return before(ctx, op, n)
			}
			return nil
		},
		After: func(_ context.Context, op faulty.Op, a *faulty.Answer) {
			w.mu.Lock()
			n, after := len(w.sent)-1, w.after
			w.mu.Unlock()
			if after != nil {
				after(op, n, a)
			}
		},
	})
	return store.Options{
		Backend: net, Runtime: seam.Real(), Cache: cache.New(1 << 20), Prefix: prefix,
		Concurrency: 4,
	}
}

// fail makes the first requests fail with these errors, unsent.
func (w *wire) fail(errs ...error) {
	w.before = func(_ context.Context, _ faulty.Op, n int) error {
		if n < len(errs) {
			return errs[n]
		}
		return nil
	}
}

// valued is a cell that holds what attempt n has written.
func valued(n byte) *cell.Cell {
	tx := txid.ID{n}
	return &cell.Cell{
		Value: cell.Value{Kind: cell.Inline, Data: []byte{n}}, Writer: tx, Recent: []txid.ID{tx},
	}
}

func TestOutcomeOfAWrite(t *testing.T) {
	odd := errors.New("who knows")
	all := func(err error, n int) (errs []error) {
		for range n {
			errs = append(errs, err)
		}
		return errs
	}
	const tries = 9
	for _, x := range []struct {
		name  string
		errs  []error
		want  store.Result
		match error
		sent  int
	}{
		{"applied", nil, store.Applied, nil, 1},
		{"refused", all(backend.ErrPrecondition, 1), store.Refused, backend.ErrPrecondition, 1},
		{"unknown", all(backend.ErrOutcomeUnknown, 1), store.Unknown, backend.ErrOutcomeUnknown, 1},
		{"an error of no kind", all(odd, 1), store.Unknown, odd, 1},
		{"a deadline within the adapter", all(context.DeadlineExceeded, 1), store.Unknown,
			context.DeadlineExceeded, 1},
		{"not found", all(backend.ErrNotFound, 1), store.Unknown, backend.ErrNotFound, 1},
		{"corrupt", all(backend.ErrCorrupt, 1), store.NotApplied, backend.ErrCorrupt, 1},
		{"unknown, whatever else it matches",
			all(errors.Join(backend.ErrUnavailable, backend.ErrOutcomeUnknown), 1), store.Unknown,
			backend.ErrOutcomeUnknown, 1},
		// Before each further Put it looks, by a Get, whether it is outrun.
		{"throttled, then applied", all(backend.ErrThrottled, 5), store.Applied, nil, 4},
		{"throttled for good", all(backend.ErrThrottled, 2*tries-1), store.NotApplied,
			backend.ErrUnavailable, tries},
		{"unavailable for good", all(backend.ErrUnavailable, tries), store.NotApplied,
			backend.ErrUnavailable, tries},
		{"unavailable, then unknown", []error{backend.ErrUnavailable, backend.ErrOutcomeUnknown},
			store.Unknown, backend.ErrOutcomeUnknown, 2},
		{"unavailable, then refused", []error{backend.ErrUnavailable, backend.ErrPrecondition},
			store.Refused, backend.ErrPrecondition, 2},
		{"no bucket", all(backend.ErrBucketNotFound, 1), store.NotApplied,
			backend.ErrBucketNotFound, 1},
		{"denied", all(backend.ErrDenied, 1), store.NotApplied, backend.ErrDenied, 1},
		{"malformed", all(backend.ErrInvalid, 1), store.NotApplied, backend.ErrInvalid, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, w := open(t, memory.New())
				for i, err := range x.errs {
					x.errs[i] = fmt.Errorf("wrapped: %w", err)
				}
				w.fail(x.errs...)
				res, s, err := st.Send(background, st.Prepare(store.NoObject("=a"), valued(1)))
				assert.Equal(t, x.want, res)
				sent := slices.DeleteFunc(w.sent, func(op faulty.Op) bool {
					return op.Kind != faulty.Put
				})
				assert.Len(t, sent, x.sent, "how often it was sent")
				for _, op := range sent {
					assert.Equal(t, sent[0], op, "always the same bytes, on the same condition")
				}
				if x.match != nil {
					assert.ErrorIs(t, err, x.match)
					assert.ErrorContains(t, err, "db/=a")
					return
				}
				require.NoError(t, err)
				assert.Equal(t, valued(1), s.Cell)
				assert.NotEmpty(t, s.Version)
			})
		})
	}
}

func TestBackoffGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, w := open(t, memory.New())
		var times []time.Time
		w.before = func(_ context.Context, op faulty.Op, _ int) error {
			if op.Kind == faulty.Put { // between two of them, it looks whether it is outrun
				times = append(times, time.Now())
			}
			return backend.ErrThrottled
		}
		_, _, err := st.Send(background, st.Prepare(store.NoObject("=a"), valued(1)))
		require.ErrorIs(t, err, backend.ErrThrottled)
		pause := 50 * time.Millisecond
		for i := range len(times) - 1 {
			d := times[i+1].Sub(times[i])
			assert.LessOrEqual(t, d, pause)
			assert.GreaterOrEqual(t, d, pause/2)
			pause = min(2*pause, 5*time.Second)
		}
		assert.Len(t, times, 9)
		assert.Equal(t, int64(8), st.Counts().Retried.Load())
	})
}

// A refusal of bytes that may have been sent twice can be the duplicate of a write that
// landed.
func TestRefusalOfBytesSentTwiceIsUnknown(t *testing.T) {
	st, w := open(t, memory.New())
	w.after = func(_ faulty.Op, n int, a *faulty.Answer) {
		if n == 0 {
			a.Err = backend.ErrOutcomeUnknown
		}
	}
	write := st.Prepare(store.NoObject("=a"), valued(1))
	res, _, _ := st.Send(background, write)
	require.Equal(t, store.Unknown, res)
	for range 2 {
		res, _, err := st.Send(background, write)
		assert.Equal(t, store.Unknown, res, "it had landed")
		assert.ErrorIs(t, err, backend.ErrPrecondition)
	}
	res, _, _ = st.Send(background, st.Prepare(store.NoObject("=a"), valued(1)))
	assert.Equal(t, store.Refused, res, "new bytes are another write")
}

func TestNotAppliedAfterAnUnknownCopyIsUnknown(t *testing.T) {
	st, w := open(t, memory.New())
	w.fail(backend.ErrOutcomeUnknown, backend.ErrDenied)
	write := st.Prepare(store.NoObject("=a"), valued(1))
	res, _, _ := st.Send(background, write)
	require.Equal(t, store.Unknown, res)
	res, _, _ = st.Send(background, write)
	assert.Equal(t, store.Unknown, res, "the first copy may still land")
	res, _, err := st.Send(background, write)
	assert.Equal(t, store.Applied, res)
	assert.NoError(t, err)
}

func TestWriteOfALeavingCaller(t *testing.T) {
	t.Run("before it is sent: not applied", func(t *testing.T) {
		st, w := open(t, memory.New())
		ctx, cancel := context.WithCancel(background)
		cancel()
		res, _, err := st.Send(ctx, st.Prepare(store.NoObject("=a"), valued(1)))
		assert.Equal(t, store.NotApplied, res)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Empty(t, w.sent)
	})
	t.Run("under way: unknown", func(t *testing.T) {
		st, w := open(t, memory.New())
		ctx, cancel := context.WithCancel(background)
		w.before = func(ctx context.Context, _ faulty.Op, _ int) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}
		res, _, err := st.Send(ctx, st.Prepare(store.NoObject("=a"), valued(1)))
		assert.Equal(t, store.Unknown, res)
		assert.ErrorIs(t, err, context.Canceled)
	})
	t.Run("in a pause after a refusal to serve: not applied", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st, w := open(t, memory.New())
			w.before = func(context.Context, faulty.Op, int) error { return backend.ErrThrottled }
			ctx, cancel := context.WithTimeout(background, 60*time.Millisecond)
			defer cancel()
			res, _, err := st.Send(ctx, st.Prepare(store.NoObject("=a"), valued(1)))
			assert.Equal(t, store.NotApplied, res)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorIs(t, err, backend.ErrThrottled)
		})
	})
}

func TestARequestThatHangs(t *testing.T) {
	hang := func(ctx context.Context, _ faulty.Op, _ int) error { <-ctx.Done(); return ctx.Err() }
	t.Run("a write is unknown", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st, w := open(t, memory.New())
			w.before = hang
			begun := time.Now()
			res, _, err := st.Send(background, st.Prepare(store.NoObject("=a"), valued(1)))
			assert.Equal(t, store.Unknown, res)
			assert.Error(t, err)
			assert.Equal(t, 30*time.Second, time.Since(begun))
		})
	})
	t.Run("a read is sent again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st, w := open(t, memory.New())
			w.before = func(ctx context.Context, op faulty.Op, n int) error {
				if n == 0 {
					return hang(ctx, op, n)
				}
				return nil
			}
			s, err := st.Read(background, "=a")
			require.NoError(t, err)
			assert.Empty(t, s.Version)
		})
	})
	t.Run("every read: the store is unavailable", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st, w := open(t, memory.New())
			w.before = hang
			_, err := st.Read(background, "=a")
			require.ErrorIs(t, err, backend.ErrUnavailable, "the caller's context has not ended")
			assert.NotErrorIs(t, err, context.DeadlineExceeded, "nor does the error say so")
			w.before = func(context.Context, faulty.Op, int) error { return context.Canceled }
			_, err = st.Read(background, "=a")
			require.ErrorIs(t, err, backend.ErrUnavailable)
			assert.NotErrorIs(t, err, context.Canceled)
		})
	})
	t.Run("an odd error is what it is", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st, w := open(t, memory.New())
			odd := errors.New("who knows")
			w.before = func(context.Context, faulty.Op, int) error { return odd }
			_, err := st.Read(background, "=a")
			require.ErrorIs(t, err, odd)
			assert.NotErrorIs(t, err, backend.ErrUnavailable)
		})
	})
}

func TestConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, w := open(t, memory.New())
		under, most := 0, 0
		w.before = func(context.Context, faulty.Op, int) error {
			w.mu.Lock()
			under++
			most = max(most, under)
			w.mu.Unlock()
			time.Sleep(time.Second)
			w.mu.Lock()
			under--
			w.mu.Unlock()
			return nil
		}
		_ = seam.Each(seam.Real(), 12, func(i int) error {
			_, err := st.Read(background, fmt.Sprintf("=%d", i))
			assert.NoError(t, err)
			return nil
		})
		assert.Equal(t, 4, most)
	})
}

func TestRead(t *testing.T) {
	mem := memory.New()
	st, w := open(t, mem)
	s, err := st.Read(background, "=a")
	require.NoError(t, err, "without an object it is the zero cell")
	assert.Equal(t, &cell.Cell{}, s.Cell)
	assert.Empty(t, s.Version)

	other, _ := open(t, mem)
	_, put, err := other.Send(background, other.Prepare(store.NoObject("=a"), valued(1)))
	require.NoError(t, err)
	s, err = st.Read(background, "=a")
	require.NoError(t, err)
	assert.Equal(t, valued(1), s.Cell)
	assert.Equal(t, put.Version, s.Version)

	again, err := st.Read(background, "=a")
	require.NoError(t, err)
	assert.Equal(t, put.Version, w.sent[len(w.sent)-1].Known, "it asks whether it was modified")
	assert.Equal(t, int64(1), st.Counts().NotModified.Load())
	assert.Zero(t, st.Counts().DiskHits.Load(), "it was in memory")
	assert.Equal(t, cell.Encode(s.Cell, 0), cell.Encode(again.Cell, 0))
	assert.Zero(t, s.Since.Sub(again.Since))
	assert.Greater(t, again.Proved, s.Proved)

	require.NoError(t, mem.Delete(background, prefix+"=a", put.Version))
	s, err = st.Read(background, "=a")
	require.NoError(t, err)
	assert.Empty(t, s.Version, "gone")
}

func TestReadOfDamagedObjects(t *testing.T) {
	good := cell.Encode(valued(1), 1)
	flipped := append([]byte{}, good...)
	flipped[len(flipped)/2] ^= 1
	for name, x := range map[string]struct {
		data []byte
		want error
		not  error
	}{
		"foreign":   {[]byte("<html>hello</html>"), backend.ErrCorrupt, cell.ErrFormat},
		"empty":     {nil, backend.ErrCorrupt, cell.ErrFormat},
		"truncated": {good[:len(good)-3], backend.ErrCorrupt, cell.ErrFormat},
		"flipped":   {flipped, backend.ErrCorrupt, cell.ErrFormat},
		"newer":     {newer(good), cell.ErrFormat, backend.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			st, w := open(t, memory.New())
			_, err := w.mem.Put(background, prefix+"=a", x.data, backend.IfAbsent())
			require.NoError(t, err)
			_, err = st.Read(background, "=a")
			assert.ErrorIs(t, err, x.want)
			assert.NotErrorIs(t, err, x.not)
			assert.NotErrorIs(t, err, backend.ErrNotFound)
			assert.ErrorContains(t, err, prefix+"=a")
			assert.Len(t, w.sent, 1, "it is not asked for again")
			_, cached := st.Cached("=a")
			assert.False(t, cached)
		})
	}
}

func TestReadIsSentAgain(t *testing.T) {
	for _, x := range []struct {
		err  error
		sent int
	}{
		{backend.ErrUnavailable, 4}, {backend.ErrThrottled, 4}, {errors.New("odd"), 4},
		{backend.ErrDenied, 1}, {backend.ErrBucketNotFound, 1}, {backend.ErrInvalid, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			st, w := open(t, memory.New())
			w.fail(x.err, x.err, x.err)
			_, err := st.Read(background, "=a")
			assert.Len(t, w.sent, x.sent, "%v", x.err)
			if x.sent == 1 {
				assert.ErrorIs(t, err, x.err)
				assert.NotErrorIs(t, err, backend.ErrNotFound)
				return
			}
			assert.NoError(t, err)
		})
	}
}

// TestReadsShowChangeRate: reads tell how fast others change what is cached.
func TestReadsShowChangeRate(t *testing.T) {
	for _, changed := range []bool{false, true} {
		mem := memory.New()
		st, _ := open(t, mem)
		other, _ := open(t, mem)
		at := putCell(t, other, store.NoObject("=a"), "text")
		for range 64 {
			_, err := st.Read(background, "=a")
			require.NoError(t, err)
			if changed {
				at = putCell(t, other, at, "text")
			}
		}
		seen, ok := st.Cached("=a")
		require.True(t, ok)
		seen.Until = seen.Until.AddDate(0, 0, -1)
		assert.Equal(t, changed, st.Doubtful(seen))
	}
}

// TestEndsOfContexts: the end of a context that is not the caller's is not told as one.
func TestEndsOfContexts(t *testing.T) {
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		err := store.NotTheCallers(fmt.Errorf("wrapped: %w", ended))
		assert.NotErrorIs(t, err, ended)
		assert.ErrorIs(t, err, backend.ErrUnavailable)
		err = store.NotTheCallers(errors.Join(ended, backend.ErrOutcomeUnknown))
		assert.NotErrorIs(t, err, ended)
		assert.NotErrorIs(t, err, backend.ErrUnavailable)
		assert.ErrorIs(t, err, backend.ErrOutcomeUnknown)
	}
	err := store.NotTheCallers(backend.ErrDenied)
	assert.ErrorIs(t, err, backend.ErrDenied)
	assert.NotErrorIs(t, err, backend.ErrUnavailable)
	assert.NoError(t, store.NotTheCallers(nil))
}

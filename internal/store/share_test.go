package store_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// A read that others have joined gets no answer: they do not hang with it.
func TestAJoinedReadThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, w := open(t, memory.New())
		w.before = func(ctx context.Context, _ faulty.Op, n int) error {
			if n == 0 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		led := make(chan error)
		go func() {
			_, err := st.ReadShared(background, "=a", 0)
			led <- err
		}()
		synctest.Wait()
		began := time.Now()
		seen, err := st.ReadShared(background, "=a", 0)
		require.NoError(t, err)
		assert.Equal(t, "=a", seen.Name)
		assert.NotNil(t, seen.Cell)
		assert.Equal(t, 2*time.Second, time.Since(began))
		short, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		_, err = st.ReadShared(short, "=a", 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, <-led, "it was sent again")
	})
}

// slowly makes each request take a second, and end as told.
func (w *wire) slowly(end func(n int) error) {
	w.before = func(_ context.Context, _ faulty.Op, n int) error {
		time.Sleep(time.Second) // of the bubble
		return end(n)
	}
}

func well(int) error { return nil }

func TestJoinedReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, w := open(t, memory.New())
		put := putCell(t, st, store.NoObject("=a"), "text")
		w.sent = nil
		w.slowly(well)
		for rounds := range 2 {
			began := time.Now()
			_ = seam.Each(seam.Real(), 4, func(int) error {
				seen, err := st.ReadShared(background, "=a", 0)
				assert.NoError(t, err)
				assert.Equal(t, put.Version, seen.Version)
				return nil
			})
			assert.Len(t, w.sent, rounds+1, "all make one request, of each time")
			assert.Equal(t, time.Second, time.Since(began))
		}
	})
}

// TestReadThatWasAskedTooEarly: whoever needs what is newer than a certain time is not given the
// answer to a request that was sent by then.
func TestReadThatWasAskedTooEarly(t *testing.T) {
	for _, later := range []uint64{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			st, w := open(t, memory.New())
			w.slowly(well)
			sent := st.Tick() + 1
			go func() {
				seen, err := st.ReadShared(background, "=a", 0)
				assert.NoError(t, err)
				assert.Equal(t, sent, seen.Proved)
			}()
			synctest.Wait()
			for range later {
				st.Tick()
			}
			seen, err := st.ReadShared(background, "=a", sent+later)
			require.NoError(t, err)
			assert.Greater(t, seen.Proved, sent+later)
			assert.Len(t, w.sent, 2)
		})
	}
}

// TestJoinedReadsThatFail: who has joined a read that failed makes its own, at once: it does not
// wait for the failures of one after another.
func TestJoinedReadsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, w := open(t, memory.New())
		w.slowly(func(int) error { return backend.ErrDenied })
		began := time.Now()
		_ = seam.Each(seam.Real(), 4, func(int) error {
			_, err := st.ReadShared(background, "=a", 0)
			assert.ErrorIs(t, err, backend.ErrDenied)
			assert.LessOrEqual(t, time.Since(began), 2*time.Second)
			return nil
		})
		assert.Len(t, w.sent, 4)
	})
}

// openBare opens a store that remembers nothing, where there is an external value.
func openBare(t *testing.T) (*store.Store, *wire, cell.Value) {
	t.Helper()
	w := &wire{mem: memory.New()}
	o := w.options()
	o.Cache = cache.New(0)
	st, err := store.Open(background, o)
	require.NoError(t, err)
	v, _, err := st.Upload(background, "=a", st.NewValue([]byte("value")), []byte("value"))
	require.NoError(t, err)
	w.sent = nil
	return st, w, v
}

func TestJoinedDownloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, w, v := openBare(t)
		w.slowly(well)
		for rounds := range 2 {
			_ = seam.Each(seam.Real(), 4, func(int) error {
				data, err := st.Download(background, "=a", v)
				assert.NoError(t, err)
				assert.Equal(t, "value", string(data))
				return nil
			})
			assert.Len(t, w.sent, rounds+1, "all make one request, of each time")
		}
	})
}

// TestJoinedDownloadsThatFail: nobody takes the failure of another for an empty value, be it that
// its goroutine has ended without an answer.
func TestJoinedDownloadsThatFail(t *testing.T) {
	for name, end := range map[string]func() error{
		"an error": func() error { return backend.ErrDenied },
		"an end":   func() error { runtime.Goexit(); return nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			st, w, v := openBare(t)
			w.slowly(func(n int) error {
				if n == 0 {
					return end()
				}
				return nil
			})
			go func() {
				_, err := st.Download(background, "=a", v)
				assert.ErrorIs(t, err, backend.ErrDenied)
			}()
			synctest.Wait()
			short, cancel := context.WithTimeout(background, time.Millisecond)
			defer cancel()
			_, err := st.Download(short, "=a", v)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			data, err := st.Download(background, "=a", v)
			require.NoError(t, err, name)
			assert.Equal(t, "value", string(data), name)
		})
	}
}

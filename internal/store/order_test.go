package store_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/store"
)

// start makes a store whose cell =a is at version old, with a write of a newer one
// prepared.
func start(t *testing.T) (st *store.Store, w *wire, old backend.Version, next *store.Write) {
	st, w = open(t, memory.New())
	_, s, err := st.Send(background, st.Prepare(store.NoObject("=a"), valued(1)))
	require.NoError(t, err)
	return st, w, s.Version, st.Prepare(s, valued(2))
}

func cached(t *testing.T, st *store.Store) store.Snapshot {
	s, ok := st.Cached("=a")
	require.True(t, ok)
	return s
}

// A read that was sent before the answer of a write may be older than that, though it
// is answered later.
func TestOlderReadDoesNotReplaceANewerWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, w, old, next := start(t)
		landed := make(chan struct{})
		w.after = func(op faulty.Op, _ int, a *faulty.Answer) {
			if op.Kind == faulty.Get {
				<-landed // the answer is on its way while the write happens
			}
		}
		go func() {
			s, err := st.Read(background, "=a")
			assert.NoError(t, err)
			assert.Equal(t, old, s.Version)
		}()
		synctest.Wait()
		_, s, err := st.Send(background, next)
		require.NoError(t, err)
		close(landed)
		synctest.Wait()
		assert.Equal(t, s.Version, cached(t, st).Version)
	})
}

// A read that was sent, and answered, while the write was on its way to the store has
// seen what the write replaces.
func TestOwnWriteReplacesWhatWasReadWhileItWasOnItsWay(t *testing.T) {
	st, w, old, next := start(t)
	w.before = func(_ context.Context, op faulty.Op, _ int) error {
		if op.Kind == faulty.Put {
			s, err := st.Read(background, "=a")
			assert.NoError(t, err)
			assert.Equal(t, old, s.Version)
		}
		return nil
	}
	_, s, err := st.Send(background, next)
	require.NoError(t, err)
	assert.Equal(t, s.Version, cached(t, st).Version, "the own write is not in the cache")
}

func TestOwnWriteReplacesAnAbsenceReadWhileItWasOnItsWay(t *testing.T) {
	st, w := open(t, memory.New())
	w.before = func(_ context.Context, op faulty.Op, _ int) error {
		if op.Kind == faulty.Put {
			_, err := st.Read(background, "=a")
			assert.NoError(t, err)
		}
		return nil
	}
	_, s, err := st.Send(background, st.Prepare(store.NoObject("=a"), valued(1)))
	require.NoError(t, err)
	assert.Equal(t, s.Version, cached(t, st).Version)
}

// While the answer of a write is on its way, somebody reads the new version and
// replaces it: the write's answer is old news.
func TestAnswerOfAWriteDoesNotReplaceWhatCameAfterIt(t *testing.T) {
	st, w, _, next := start(t)
	w.after = func(op faulty.Op, _ int, _ *faulty.Answer) {
		if op.Kind != faulty.Put {
			return
		}
		w.mu.Lock()
		w.after = nil
		w.mu.Unlock()
		s, err := st.Read(background, "=a")
		assert.NoError(t, err)
		_, _, err = st.Send(background, st.Prepare(s, valued(3)))
		assert.NoError(t, err)
	}
	_, _, err := st.Send(background, next)
	require.NoError(t, err)
	assert.Equal(t, valued(3).Value.Data, cached(t, st).Cell.Value.Data)
}

func TestAnswersOfReadsMayPassEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, w, _, _ := start(t)
		slow := make(chan struct{})
		w.after = func(op faulty.Op, _ int, _ *faulty.Answer) {
			if op.Kind == faulty.Get {
				<-slow
			}
		}
		go func() { _, _ = st.Read(background, "=a") }()
		synctest.Wait()
		other, _ := open(t, w.mem)
		s, err := other.Read(background, "=a")
		require.NoError(t, err)
		_, _, err = other.Send(background, other.Prepare(s, valued(7)))
		require.NoError(t, err)
		w.mu.Lock()
		w.after = nil
		w.mu.Unlock()
		_, err = st.Read(background, "=a")
		require.NoError(t, err)
		close(slow)
		synctest.Wait()
		assert.Equal(t, valued(7).Writer, cached(t, st).Cell.Writer, "the later one knows better")
	})
}

// Of writers whom the store holds up at one object, those who have lost give up.
func TestThrottledWriteThatIsOutrun(t *testing.T) {
	other := []byte("another version")
	for _, x := range []struct {
		name string
		meet func(t *testing.T, b *memory.Backend, old backend.Version)
		want store.Result
		puts int
	}{
		{"the cell has changed", func(t *testing.T, b *memory.Backend, old backend.Version) {
			_, err := b.Put(background, prefix+"=a", other, backend.IfVersion(old))
			require.NoError(t, err)
		}, store.Refused, 1},
		{"the cell has been removed", func(t *testing.T, b *memory.Backend, old backend.Version) {
			require.NoError(t, b.Delete(background, prefix+"=a", old))
		}, store.Refused, 1},
		{"it has not", func(*testing.T, *memory.Backend, backend.Version) {}, store.Applied, 3},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memory.New()
				st, w := open(t, b)
				_, s, err := st.Send(background, st.Prepare(store.NoObject("=a"), valued(1)))
				require.NoError(t, err)
				puts := 0
				w.before = func(_ context.Context, op faulty.Op, _ int) error {
					if op.Kind != faulty.Put {
						return nil
					}
					if puts++; puts == 1 {
						x.meet(t, b, s.Version)
					}
					if puts < 3 {
						return backend.ErrThrottled
					}
					return nil
				}
				res, _, _ := st.Send(background, st.Prepare(s, valued(2)))
				assert.Equal(t, x.want, res)
				assert.Equal(t, x.puts, puts)
			})
		})
	}
}

// What a write has made was so when it was answered; it was asked for when it was sent.
func TestWhenAWriteWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func() error { time.Sleep(time.Second); return nil }
		st, w := open(t, memory.New())
		w.before = func(context.Context, faulty.Op, int) error { return wait() }
		w.after = func(faulty.Op, int, *faulty.Answer) { _ = wait() }
		check := func(st *store.Store, send func(w *store.Write) (store.Snapshot, error)) {
			begun, tick := time.Now(), st.Tick()
			s, err := send(st.Prepare(store.NoObject("=a"), valued(1)))
			require.NoError(t, err)
			assert.Zero(t, s.Until.Sub(begun))
			assert.Equal(t, 2*time.Second, s.Since.Sub(begun))
			assert.Less(t, tick, s.Proved)
			assert.Less(t, s.Proved, st.Tick())
			assert.Equal(t, 2*time.Second, st.PutLatency())
		}
		check(st, func(w *store.Write) (store.Snapshot, error) {
			_, s, err := st.Send(background, w)
			return s, err
		})
		st = openShaped(t, shaped{before: wait, after: wait, max: 1 << 20, once: true})
		check(st, func(w *store.Write) (store.Snapshot, error) {
			_, all, _, err := st.SendAll(background, []*store.Write{w})
			require.NoError(t, err)
			return all[0], nil
		})
	})
}

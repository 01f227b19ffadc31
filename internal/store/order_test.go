package store_test

import (
	"context"
	"testing"
	"testing/synctest"

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
	assert.Equal(t, valued(3), cached(t, st).Cell)
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
		assert.Equal(t, valued(7), cached(t, st).Cell, "the later request knows better")
	})
}

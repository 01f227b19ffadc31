package strictkv_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
)

// TestObserverPanics: what observes does not take down what it observes, and is told nothing more.
func TestObserverPanics(t *testing.T) {
	var log bytes.Buffer
	begun, ended := 0, 0
	db, err := strictkv.Open(t.Context(), "db", memory.New(),
		strictkv.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
		strictkv.WithObserver(strictkv.Observer{
			TxBegin: func(context.Context, strictkv.TxBegin) context.Context {
				begun++
				panic("at the first")
			},
		}),
		strictkv.WithObserver(strictkv.Observer{
			TxEnd: func(context.Context, strictkv.TxEnd) { ended++ },
		}))
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	for range 3 {
		require.NoError(t, c.Write(t.Context(), []byte("k"), nil))
	}
	require.NoError(t, db.Close(t.Context()))
	assert.Equal(t, 1, begun, "the one that has panicked")
	assert.Equal(t, 3, ended, "the other")
	assert.Equal(t, 1, strings.Count(log.String(), "at the first"), log.String())
	assert.Contains(t, log.String(), "TestObserverPanics", "the stack")
}

// TestObserverWithoutAContext: one that returns no context does not take down what it observes.
func TestObserverWithoutAContext(t *testing.T) {
	none := strictkv.Observer{
		TxBegin: func(context.Context, strictkv.TxBegin) context.Context { return nil },
		RequestBegin: func(context.Context, strictkv.RequestBegin) context.Context {
			return nil
		},
		WorkBegin: func(context.Context, strictkv.WorkBegin) context.Context { return nil },
	}
	db, err := strictkv.Open(t.Context(), "db", memory.New(), strictkv.WithObserver(none),
		strictkv.WithObserver(none))
	require.NoError(t, err)
	require.NoError(t, db.Collection([]byte("c")).Write(t.Context(), []byte("k"), nil))
	require.NoError(t, db.Close(t.Context()))
}

// TestObserverOfEnds: each way in which a transaction ends is told, a panic of its function too.
func TestObserverOfEnds(t *testing.T) {
	var ends []strictkv.TxEnd
	store := faulty.New(memory.New(), faulty.Options{})
	db, err := strictkv.Open(t.Context(), "db", store,
		strictkv.WithRequests(strictkv.Requests{Retries: -1}),
		strictkv.WithObserver(strictkv.Observer{
			TxEnd: func(_ context.Context, e strictkv.TxEnd) { ends = append(ends, e) },
		}))
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	ctx, own := t.Context(), errors.New("own")
	_, _ = c.Read(ctx, []byte("k"))
	_ = db.Tx(ctx, func(*strictkv.Tx) error { return own }, strictkv.Named("mine"))
	_ = db.View(ctx, func(*strictkv.Tx) error { return nil })
	_ = c.Write(ctx, []byte("k"), nil)
	assert.Panics(t, func() {
		_ = db.Tx(ctx, func(*strictkv.Tx) error { panic("function") })
	})
	store.SetOutage(true)
	_ = db.Tx(ctx, func(tx *strictkv.Tx) error {
		_, err := tx.Read(c, []byte("other"))
		return err
	})
	store.SetOutage(false)
	require.NoError(t, db.Close(ctx))

	type end struct {
		kind    strictkv.TxKind
		outcome strictkv.TxOutcome
		err     error
	}
	want := []end{
		{strictkv.KindRead, strictkv.OutcomeReadOnly, strictkv.ErrNotFound},
		{strictkv.KindTx, strictkv.OutcomeFailed, own},
		{strictkv.KindView, strictkv.OutcomeReadOnly, nil},
		{strictkv.KindTx, strictkv.OutcomeCommitted, nil},
		{strictkv.KindTx, strictkv.OutcomeAborted, nil},
		{strictkv.KindTx, strictkv.OutcomeAborted, strictkv.ErrUnavailable},
	}
	require.Len(t, ends, len(want))
	for i, w := range want {
		assert.Equal(t, w.kind, ends[i].Kind, "%d", i)
		assert.Equal(t, w.outcome, ends[i].Outcome, "%d", i)
		assert.ErrorIs(t, ends[i].Err, w.err, "%d", i)
	}
	assert.Equal(t, "mine", ends[1].Name)
}

type spanKey struct{}

// TestObserverContext: what TxBegin puts into the context is there in the function, in requests
// at the store, and in what follows.
func TestObserverContext(t *testing.T) {
	var mu sync.Mutex // guards seen: the probe of the store sends requests at once
	seen := map[string]bool{}
	note := func(ctx context.Context, where string) {
		mu.Lock()
		defer mu.Unlock()
		seen[where] = seen[where] || ctx.Value(spanKey{}) != nil
	}
	store := faulty.New(memory.New(), faulty.Options{
		Before: func(ctx context.Context, op faulty.Op) error {
			note(ctx, "store")
			return nil
		},
	})
	db, err := strictkv.Open(t.Context(), "db", store, strictkv.WithObserver(strictkv.Observer{
		TxBegin: func(ctx context.Context, _ strictkv.TxBegin) context.Context {
			return context.WithValue(ctx, spanKey{}, true)
		},
		RequestEnd: func(ctx context.Context, _ strictkv.RequestEnd) { note(ctx, "request") },
		TxAttempt:  func(ctx context.Context, _ strictkv.TxAttempt) { note(ctx, "attempt") },
		TxEnd:      func(ctx context.Context, _ strictkv.TxEnd) { note(ctx, "end") },
	}))
	require.NoError(t, err)
	clear(seen)
	require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		note(tx.Context(), "function")
		return tx.Write(db.Collection([]byte("c")), []byte("k"), nil)
	}))
	require.NoError(t, db.Close(t.Context()))
	assert.Equal(t, map[string]bool{
		"store": true, "request": true, "attempt": true, "end": true, "function": true,
	}, seen)
}

// TestLogOfTrouble: a store that throttles, or is gone, is worth a warning a minute, however many
// requests fail.
func TestLogOfTrouble(t *testing.T) {
	for _, x := range []struct {
		err  error
		text string
	}{
		{backend.ErrThrottled, "the store throttles requests"},
		{backend.ErrUnavailable, "the store cannot be reached"},
	} {
		t.Run(x.text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { logOfTrouble(t, x.err, x.text) })
		})
	}
}

func logOfTrouble(t *testing.T, fault error, text string) {
	var log bytes.Buffer
	broken := false
	store := faulty.New(memory.New(), faulty.Options{
		Before: func(context.Context, faulty.Op) error {
			if broken {
				return fault
			}
			return nil
		},
	})
	db, err := strictkv.Open(t.Context(), "db", store,
		strictkv.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	read := func() error {
		_, err := c.Read(t.Context(), []byte("secret"))
		return err
	}
	require.ErrorIs(t, read(), strictkv.ErrNotFound)
	assert.NotContains(t, log.String(), "WARN")
	broken = true
	for range 3 { // each takes some seconds
		require.ErrorIs(t, read(), strictkv.ErrUnavailable)
	}
	assert.Equal(t, 1, strings.Count(log.String(), text), log.String())
	time.Sleep(time.Minute)
	require.ErrorIs(t, read(), strictkv.ErrUnavailable)
	assert.Equal(t, 2, strings.Count(log.String(), text), log.String())
	assert.Regexp(t, `left_out=[1-9]`, log.String(), "how often in between")
	require.NoError(t, db.Close(t.Context()))
}

package system_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/protocoltest"
)

// pristine is a backend that must not be written to.
type pristine struct {
	backend.Backend
	t *testing.T
}

func (p pristine) Put(
	_ context.Context, name string, _ []byte, _ backend.Condition,
) (backend.Stamp, error) {
	assert.Fail(p.t, "a write was sent", name)
	return backend.Stamp{}, backend.ErrOutcomeUnknown
}

func (p pristine) Delete(_ context.Context, name string, _ backend.Version) error {
	assert.Fail(p.t, "a delete was sent", name)
	return backend.ErrOutcomeUnknown
}

func TestMustExist(t *testing.T) {
	for name, opt := range map[string]strictkv.Option{
		"must exist": strictkv.MustExist(), "read only": strictkv.ReadOnly(),
	} {
		t.Run(name, func(t *testing.T) {
			mem := memory.New()
			_, err := strictkv.Open(t.Context(), "db", pristine{mem, t}, opt)
			require.ErrorIs(t, err, strictkv.ErrNoDatabase)
			require.NotErrorIs(t, err, strictkv.ErrNotFound)
			require.NotErrorIs(t, err, strictkv.ErrUnavailable)
			db, err := strictkv.Open(t.Context(), "db", mem)
			require.NoError(t, err)
			require.NoError(t, db.Close(t.Context()))
			db, err = strictkv.Open(t.Context(), "db", mem, opt)
			require.NoError(t, err)
			require.NoError(t, db.Close(t.Context()))
		})
	}
}

// TestReadOnly: a handle that may not write reads whatever is there, of a database that was
// never probed too, in the middle of others' transactions, and sends no write.
func TestReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New()
		db, err := strictkv.Open(t.Context(), "db", mem, strictkv.WithProbe(strictkv.ProbeNever),
			strictkv.WithInlineMax(10))
		require.NoError(t, err)
		c := db.Collection([]byte("c"))
		write := func(value string) {
			require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
				for _, key := range []string{"a", "b", "c"} {
					if err := tx.Write(c, []byte(key), []byte(value)); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		write("short")
		time.Sleep(time.Second)
		write("longer than what is inline")
		reader, err := strictkv.Open(t.Context(), "db", pristine{mem, t}, strictkv.ReadOnly())
		require.NoError(t, err)
		readsAll(t, reader)
		refuses(t, reader)
		time.Sleep(time.Minute)
		readsAll(t, reader)
		require.NoError(t, reader.Close(t.Context()))
		require.NoError(t, db.Close(t.Context()))
	})
}

// readsAll reads a, b and c in every way.
func readsAll(t *testing.T, db *strictkv.DB) {
	t.Helper()
	c, want := db.Collection([]byte("c")), "longer than what is inline"
	for name, walk := range walkers {
		if !strings.Contains(name, "writes") {
			assert.Equal(t, "a b c ", walk(t, db, strictkv.Range{}), name)
		}
	}
	v, err := c.Read(t.Context(), []byte("a"))
	require.NoError(t, err)
	assert.Equal(t, want, string(v))
	require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		for _, r := range tx.ReadMulti(c.Key([]byte("a")), c.Key([]byte("b"))) {
			assert.NoError(t, r.Err)
			assert.Equal(t, want, string(r.Value))
		}
		return nil
	}))
	for name, err := range db.Collections(t.Context()) {
		require.NoError(t, err)
		assert.Equal(t, "c", string(name))
	}
	r, err := db.Check(t.Context(), strictkv.CheckOptions{})
	require.NoError(t, err)
	assert.Empty(t, r.Problems)
	_, err = db.Sweep(t.Context(), strictkv.SweepOptions{Horizon: -1, DryRun: true})
	require.NoError(t, err)
}

// refuses expects that nothing can be written.
func refuses(t *testing.T, db *strictkv.DB) {
	t.Helper()
	c, key := db.Collection([]byte("c")), []byte("a")
	for name, write := range map[string]func() error{
		"write":  func() error { return c.Write(t.Context(), key, nil) },
		"delete": func() error { return c.Delete(t.Context(), key) },
		"insert": func() error { return c.Insert(t.Context(), key, nil) },
		"lock": func() error {
			return db.Tx(t.Context(), func(tx *strictkv.Tx) error { return tx.Lock(c, key) })
		},
		"drop":     func() error { _, err := c.Drop(t.Context()); return err },
		"drop all": func() error { _, err := db.Drop(t.Context()); return err },
		"sweep": func() error {
			_, err := db.Sweep(t.Context(), strictkv.SweepOptions{})
			return err
		},
		"repair": func() error {
			_, err := db.Check(t.Context(), strictkv.CheckOptions{Repair: true})
			return err
		},
	} {
		require.ErrorIs(t, write(), strictkv.ErrReadOnly, name)
	}
}

// TestReadOnlyMeetsTheDead: a pending transaction whose process has died holds a key. A
// handle that can't end it says so, after its patience; and reads once another has.
func TestReadOnlyMeetsTheDead(t *testing.T) {
	protocoltest.Run(t, func(w *protocoltest.World) {
		t := w.T // the one in virtual time
		db, err := strictkv.Open(t.Context(), "db", w.Mem)
		require.NoError(t, err)
		w.Value(1, "+c/=a", "+c/=b")
		w.Rival(2, cell.Pending, "+c/=a", "+c/=b").Place("+c/=a", "+c/=b")
		reader, err := strictkv.Open(t.Context(), "db", pristine{w.Mem, t}, strictkv.ReadOnly())
		require.NoError(t, err)
		read := func(db *strictkv.DB) error {
			_, err := db.Collection([]byte("c")).Read(t.Context(), []byte("a"))
			return err
		}
		began := time.Now()
		err = read(reader)
		require.ErrorIs(t, err, strictkv.ErrUnavailable)
		require.NotErrorIs(t, err, strictkv.ErrReadOnly)
		assert.ErrorContains(t, err, "undecided transaction")
		assert.InDelta(t, strictkv.DefaultPatience.Seconds(), time.Since(began).Seconds(), 1)
		require.NoError(t, read(db))
		require.NoError(t, read(reader), "another has ended it")
		require.NoError(t, reader.Close(t.Context()))
		require.NoError(t, db.Close(t.Context()))
	})
}

// TestOpenTellsOfAnUnreachableStore: at the first failure, not after all tries.
func TestOpenTellsOfAnUnreachableStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := faulty.New(memory.New(), faulty.Options{})
		b.SetOutage(true)
		var log strings.Builder
		began, told := time.Now(), time.Duration(-1)
		logger := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
			told = time.Since(began)
			return log.Write(p)
		}), nil))
		_, err := strictkv.Open(t.Context(), "db", b, strictkv.WithLogger(logger))
		require.ErrorIs(t, err, strictkv.ErrUnavailable)
		assert.Greater(t, time.Since(began), time.Second, "it has tried again")
		assert.Less(t, told, 50*time.Millisecond)
		assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
		assert.Contains(t, log.String(), "database=db ")
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

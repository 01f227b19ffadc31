package store_test

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
)

const meta = prefix + "meta"

// seal puts the checksum behind what an object begins with.
func seal(body []byte) []byte {
	sum := crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
	return binary.LittleEndian.AppendUint32(append([]byte{}, body...), sum)
}

// newer is a sealed object with another format version behind its magic.
func newer(data []byte) []byte {
	body := append([]byte{}, data[:len(data)-4]...)
	body[4] = 99
	return seal(body)
}

func stored(t *testing.T, mem *memory.Backend) []byte {
	t.Helper()
	o, err := mem.Get(background, meta, "")
	require.NoError(t, err)
	return o.Data
}

func TestMetaIsCreatedOnce(t *testing.T) {
	mem := memory.New()
	w := &wire{mem: mem}
	_, err := store.Open(background, w.options())
	require.NoError(t, err)
	assert.Len(t, w.sent, 2, "a GET, and the creation")
	assert.Equal(t, backend.IfAbsent(), w.sent[1].Condition)
	first := stored(t, mem)

	w = &wire{mem: mem}
	_, err = store.Open(background, w.options())
	require.NoError(t, err)
	assert.Len(t, w.sent, 1, "opening is one GET")
	assert.Equal(t, first, stored(t, mem))

	other := memory.New()
	open(t, other)
	assert.NotEqual(t, first, stored(t, other), "every database has an id of its own")
}

// The loser of a race reads what the winner has created: both see one database.
func TestMetaRace(t *testing.T) {
	mem := memory.New()
	w := &wire{mem: mem}
	w.before = func(_ context.Context, op faulty.Op, _ int) error {
		if op.Kind == faulty.Put {
			open(t, mem)
		}
		return nil
	}
	loser, err := store.Open(background, w.options())
	require.NoError(t, err)
	assert.Len(t, w.sent, 3, "GET, refused creation, GET")
	assert.NotNil(t, loser)
}

// The creation's answer is lost: what is there then is our own.
func TestMetaCreationIsUnknown(t *testing.T) {
	for name, landed := range map[string]bool{"landed": true, "lost": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memory.New()
				w := &wire{mem: mem}
				first := true
				w.before = func(ctx context.Context, op faulty.Op, _ int) error {
					if op.Kind != faulty.Put || !first {
						return nil
					}
					if first = false; landed {
						_, err := mem.Put(ctx, op.Name, op.Data, op.Condition)
						require.NoError(t, err)
					}
					return backend.ErrOutcomeUnknown
				}
				st, err := store.Open(background, w.options())
				require.NoError(t, err)
				assert.EqualValues(t, 1, st.Counts().Unknown.Load())
				data := stored(t, mem)
				assert.Equal(t, w.sent[1].Data, data, "the same id")
				open(t, mem)
			})
		})
	}
}

func TestMetaThatCannotBeOpened(t *testing.T) {
	mem := memory.New()
	open(t, mem)
	good := stored(t, mem)
	flipped := append([]byte{}, good...)
	flipped[10] ^= 1
	body := good[:len(good)-4]
	with := func(field ...byte) []byte {
		return seal(append(body[:len(body):len(body)], field...))
	}
	for name, x := range map[string]struct {
		data []byte
		want error
	}{
		"foreign":            {[]byte("<html>somebody else's object</html>"), backend.ErrCorrupt},
		"short":              {[]byte("SKVM"), backend.ErrCorrupt},
		"a cell":             {cell.Encode(valued(1), 1), backend.ErrCorrupt},
		"empty":              {nil, backend.ErrCorrupt},
		"flipped":            {flipped, backend.ErrCorrupt},
		"truncated":          {good[:len(good)-1], backend.ErrCorrupt},
		"newer":              {newer(good), cell.ErrFormat},
		"a field to know":    {with(2, 1, 'x'), cell.ErrFormat},
		"no id":              {seal(body[:5]), backend.ErrCorrupt},
		"a torn field":       {with(200, 9, 'x'), backend.ErrCorrupt},
		"a field of no size": {with(200), backend.ErrCorrupt},
		"two ids":            {with(body[5:]...), backend.ErrCorrupt},
		"a short id":         {seal(append(body[:5:5], 1, 1, 7)), backend.ErrCorrupt},
		"newer, and nothing": {newer(seal(body[:5])), cell.ErrFormat},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{mem: memory.New()}
			_, err := w.mem.Put(background, meta, x.data, backend.IfAbsent())
			require.NoError(t, err)
			_, err = store.Open(background, w.options())
			assert.ErrorIs(t, err, x.want)
			assert.NotErrorIs(t, err, backend.ErrNotFound)
			assert.ErrorContains(t, err, meta)
			assert.Len(t, w.sent, 1)
			assert.Equal(t, x.data, stored(t, w.mem), "it is not touched")
		})
	}
	t.Run("a field to skip", func(t *testing.T) {
		w := &wire{mem: memory.New()}
		data := with(200, 1, 'x')
		_, err := w.mem.Put(background, meta, data, backend.IfAbsent())
		require.NoError(t, err)
		_, err = store.Open(background, w.options())
		assert.NoError(t, err)
	})
}

func TestOpenWithoutAStore(t *testing.T) {
	for _, x := range []struct {
		err  error
		sent int
	}{{backend.ErrBucketNotFound, 1}, {backend.ErrDenied, 1}, {backend.ErrUnavailable, 9}} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{mem: memory.New()}
			w.before = func(context.Context, faulty.Op, int) error { return x.err }
			_, err := store.Open(background, w.options())
			assert.ErrorIs(t, err, x.err)
			assert.NotErrorIs(t, err, backend.ErrNotFound)
			assert.Len(t, w.sent, x.sent)
		})
	}
}

// Who wants a database that is there, or may not write, creates none; who may not write does not
// try to, nor asks the store what it can do.
func TestOpenWhatMustExist(t *testing.T) {
	for name, shape := range map[string]func(o *store.Options){
		"must exist": func(o *store.Options) { o.MustExist = true },
		"read only":  func(o *store.Options) { o.ReadOnly = true },
	} {
		w := &wire{mem: memory.New()}
		o := w.options()
		o.Probe = store.ProbeAgain
		shape(&o)
		_, err := store.Open(background, o)
		require.ErrorIs(t, err, store.ErrNoDatabase, name)
		assert.Zero(t, w.mem.Len(), name)
		open(t, w.mem)
		before := stored(t, w.mem)
		st, err := store.Open(background, o)
		require.NoError(t, err, name)
		assert.Equal(t, o.ReadOnly, st.Counts().Puts.Load() == 0, name)
		assert.Equal(t, o.ReadOnly, string(before) == string(stored(t, w.mem)), name)
	}
}

// A meta that exists for the creation, but not for the read, is no empty database.
func TestMetaThatVanishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{mem: memory.New()}
		w.before = func(_ context.Context, op faulty.Op, _ int) error {
			if op.Kind == faulty.Put {
				return backend.ErrPrecondition
			}
			return nil
		}
		_, err := store.Open(background, w.options())
		assert.ErrorIs(t, err, backend.ErrUnavailable)
		assert.NotErrorIs(t, err, backend.ErrNotFound)
	})
}

// golden are the files in testdata. They are the format: what they mean must not change.
var golden = map[string]struct{ probed, deletes bool }{
	"unprobed": {false, false}, // the first version wrote only such
	"probed":   {true, true},
	"keeping":  {true, false},
}

func TestGoldenMeta(t *testing.T) {
	for name, x := range golden {
		data, err := os.ReadFile(filepath.Join("testdata", name+".meta"))
		require.NoError(t, err)
		w := &wire{mem: memory.New()}
		_, err = w.mem.Put(background, meta, data, backend.IfAbsent())
		require.NoError(t, err)
		o := w.options()
		o.Probe = store.ProbeOnce
		st, err := store.Open(background, o)
		require.NoError(t, err, name)
		assert.Equal(t, x.probed, len(w.sent) == 1, name)
		assert.Equal(t, x.deletes || !x.probed, st.ConditionalDelete(), name)
		if x.probed {
			assert.Equal(t, data, stored(t, w.mem), name)
		}

		// Each is what this version writes too.
		f := flaws{denies: !x.deletes}.in(memory.New())
		if o = probed(f, store.ProbeNever); x.probed {
			o.Probe = store.ProbeOnce
		}
		_, err = store.Open(background, o)
		require.NoError(t, err)
		written := stored(t, f.Backend)
		copy(written[7:23], data[7:23]) // the id
		assert.Equal(t, data, seal(written[:len(written)-4]), name)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.meta"))
	require.NoError(t, err)
	assert.Len(t, files, len(golden), "every golden file is tested")
}

// A result that a later version has written more about, or twice.
func TestMetaOfALaterProbe(t *testing.T) {
	mem := memory.New()
	open(t, mem)
	data := stored(t, mem)
	body := data[: len(data)-4 : len(data)-4]
	for field, want := range map[string]struct {
		requests int
		deletes  bool
	}{
		"\x80\x03\x01\x02\x03":     {1, true},
		"\x80\x02\x00\x01":         {1, false},
		"\x80\x01\x02":             {1, false},
		"\x80\x01\x01\x80\x01\x00": {1, false},
		"\x80\x01\x00\x80\x01\x01": {1, true},
		"\x80\x01\x01\x81\x01\x00": {1, true},
		"\x80\x00":                 {0, true}, // as if it were not there
	} {
		w := &wire{mem: memory.New()}
		_, err := w.mem.Put(background, meta, seal(append(body, field...)), backend.IfAbsent())
		require.NoError(t, err)
		o := w.options()
		o.Probe = store.ProbeOnce
		st, err := store.Open(background, o)
		require.NoError(t, err)
		assert.Equal(t, want.deletes, st.ConditionalDelete(), "%q", field)
		assert.Equal(t, want.requests == 1, len(w.sent) == 1, "%q", field)
	}
}

// A database of the first version is probed when it is opened, and stays the same.
func TestMetaOfAnOldDatabase(t *testing.T) {
	mem := memory.New()
	open(t, mem)
	old := stored(t, mem)
	w := &wire{mem: mem}
	o := w.options()
	o.Probe = store.ProbeOnce
	st, err := store.Open(background, o)
	require.NoError(t, err)
	assert.True(t, st.ConditionalDelete())
	assert.Equal(t, seal(append(old[:len(old)-4:len(old)-4], 128, 1, 1)), stored(t, mem))
	for _, op := range w.sent {
		assert.False(t, op.Kind == faulty.Put && op.Name == meta && op.Condition.Absent())
	}
	assert.Equal(t, 1, mem.Len())
}

// Who may not write, or not all, opens an old database nevertheless, and knows of the store
// what he could find out. A new one he can't create.
func TestMetaOfAReader(t *testing.T) {
	for name, denied := range map[string]func(op faulty.Op) bool{
		"reader":   func(op faulty.Op) bool { return op.Write() },
		"creator":  func(op faulty.Op) bool { return op.Write() && !op.Condition.Absent() },
		"of cells": func(op faulty.Op) bool { return op.Write() && op.Name == meta },
	} {
		mem := memory.New()
		deny := func(_ context.Context, op faulty.Op, _ int) error {
			if denied(op) {
				return backend.ErrDenied
			}
			return nil
		}
		w := &wire{mem: mem, before: deny}
		o := w.options()
		o.Probe = store.ProbeOnce
		_, err := store.Open(background, o)
		require.ErrorIs(t, err, backend.ErrDenied, name)
		_, err = mem.Get(background, meta, "")
		require.ErrorIs(t, err, backend.ErrNotFound, name)

		open(t, mem)
		old := stored(t, mem)
		st, err := store.Open(background, o)
		require.NoError(t, err, name)
		assert.Equal(t, name == "of cells", st.ConditionalDelete(), name)
		assert.Equal(t, old, stored(t, mem), name)

		_, err = store.Open(background, probed(mem, store.ProbeOnce))
		require.NoError(t, err)
		for _, p := range []store.Probe{store.ProbeOnce, store.ProbeAgain} {
			o.Probe = p
			st, err = store.Open(background, o)
			require.NoError(t, err, name)
			assert.True(t, st.ConditionalDelete(), "%s: what others have found", name)
		}
	}
}

// What keeps a new database from being probed is an error, and one that passes if it may.
func TestMetaWithoutAProbe(t *testing.T) {
	for _, x := range []struct{ err, want error }{
		{backend.ErrOutcomeUnknown, backend.ErrUnavailable},
		{backend.ErrUnavailable, backend.ErrUnavailable},
		{backend.ErrThrottled, backend.ErrThrottled},
		{backend.ErrInvalid, backend.ErrInvalid},
		{backend.ErrBucketNotFound, backend.ErrBucketNotFound},
	} {
		for _, kind := range []faulty.Kind{faulty.Put, faulty.List} {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{mem: memory.New()}
				w.before = func(_ context.Context, op faulty.Op, _ int) error {
					if op.Kind == kind {
						return x.err
					}
					return nil
				}
				o := w.options()
				o.Probe = store.ProbeOnce
				_, err := store.Open(background, o)
				require.ErrorIs(t, err, x.want)
				assert.NotErrorIs(t, err, backend.ErrOutcomeUnknown)
				assert.NotErrorIs(t, err, store.ErrUnsupported)
			})
		}
	}
}

// A meta that is there, can't be read, and is gone: what is written then counts.
func TestMetaThatIsThereForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{mem: memory.New()}
		writes := 0
		w.before = func(_ context.Context, op faulty.Op, _ int) error {
			switch {
			case op.Name == meta && op.Kind == faulty.Put:
				if writes++; writes == 1 {
					return backend.ErrPrecondition
				}
			case op.Name == meta && writes == 1:
				return backend.ErrUnavailable
			}
			return nil
		}
		o := w.options()
		o.Probe = store.ProbeOnce
		st, err := store.Open(background, o)
		require.NoError(t, err)
		assert.True(t, st.ConditionalDelete())
	})
}

// Two open at once a database that is new, or old: both probe, one writes the result.
func TestMetaRaceOfProbes(t *testing.T) {
	for name, old := range map[string]bool{"new": false, "old": true} {
		mem := memory.New()
		if old {
			open(t, mem)
		}
		w := &wire{mem: mem}
		first := true
		w.before = func(_ context.Context, op faulty.Op, _ int) error {
			if op.Kind == faulty.Put && op.Name == meta && first {
				first = false
				_, err := store.Open(background, probed(mem, store.ProbeOnce))
				require.NoError(t, err)
			}
			return nil
		}
		o := w.options()
		o.Probe = store.ProbeOnce
		st, err := store.Open(background, o)
		require.NoError(t, err, name)
		assert.True(t, st.ConditionalDelete(), name)
		assert.Equal(t, 1, mem.Len(), name)
		writes := 0
		for _, op := range w.sent {
			if op.Kind == faulty.Put && op.Name == meta {
				writes++
			}
		}
		assert.Equal(t, 1, writes, name)
	}
}

package store_test

import (
	"context"
	"encoding/binary"
	"hash/crc32"
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
				_, err := store.Open(background, w.options())
				require.NoError(t, err)
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

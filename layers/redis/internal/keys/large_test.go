package keys

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

// opened is a space of a database in memory.
func opened(t *testing.T) *Space {
	db, err := strictkv.Open(t.Context(), "test", memory.New())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.WithoutCancel(t.Context()))) })
	return NewSpace(db.Collection([]byte("redis")))
}

func (s *Space) do(t *testing.T, f func(tx *Tx) error) {
	t.Helper()
	require.NoError(t, s.db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		return f(s.NewTx(tx, 0))
	}))
}

// large sets a key to a large value with elements.
func (s *Space) setLarge(t *testing.T, name string, elements ...string) {
	t.Helper()
	s.do(t, func(tx *Tx) error {
		e, err := tx.NewLarge([]byte(name), Hash)
		if err != nil {
			return err
		}
		x := tx.Elements([]byte(name), &e)
		for _, element := range elements {
			if err := x.Write([]byte(element), []byte("of "+element)); err != nil {
				return err
			}
		}
		return tx.Set([]byte(name), e)
	})
}

// elements are those of a key's value, with what they are.
func (s *Space) elementsOf(t *testing.T, name string) (found []string) {
	t.Helper()
	s.do(t, func(tx *Tx) error {
		found = nil
		e, err := tx.Get([]byte(name))
		if err != nil || !e.Large {
			return err
		}
		for x, err := range tx.Elements([]byte(name), &e).All() {
			if err != nil {
				return err
			}
			assert.Equal(t, "of "+string(x.Name), string(x.Value))
			found = append(found, string(x.Name))
		}
		return nil
	})
	return found
}

// collections counts the collections of elements.
func (s *Space) collections(t *testing.T) (n int) {
	t.Helper()
	for _, err := range s.large.Collections(t.Context()) {
		require.NoError(t, err)
		n++
	}
	return n
}

// TestLarge keeps elements with names of any kind, moves them with their key, and copies them.
func TestLarge(t *testing.T) {
	s := opened(t)
	names := []string{"", "\x00", "\x01", "a", "b", strings.Repeat("x", NameMax)}
	s.setLarge(t, "k", names...)
	assert.ElementsMatch(t, names, s.elementsOf(t, "k"))
	s.do(t, func(tx *Tx) error { return tx.Move([]byte("k"), 0, []byte("l")) })
	assert.ElementsMatch(t, names, s.elementsOf(t, "l"))
	s.do(t, func(tx *Tx) error { return tx.Copy([]byte("l"), 0, []byte("k")) })
	assert.ElementsMatch(t, names, s.elementsOf(t, "k"))
	s.do(t, func(tx *Tx) error {
		e, err := tx.Get([]byte("k"))
		if err != nil {
			return err
		}
		values, err := tx.Elements([]byte("k"), &e).ReadMulti(
			[][]byte{[]byte("a"), []byte("none"), []byte(names[5])})
		assert.Equal(t, "of a", string(values[0]))
		assert.Nil(t, values[1])
		assert.Equal(t, "of "+names[5], string(values[2]))
		return err
	})
}

// TestCollect removes elements that nobody owns, by whatever their owner has gone, and no others.
func TestCollect(t *testing.T) {
	s := opened(t)
	for _, name := range []string{"deleted", "replaced", "moved", "replaced by a move", "expired",
		"stays"} {
		s.setLarge(t, name, "a", "b")
	}
	s.do(t, func(tx *Tx) error {
		if _, err := tx.Delete([]byte("deleted")); err != nil {
			return err
		}
		if err := tx.Set([]byte("replaced"), Entry{Kind: String}); err != nil {
			return err
		}
		return tx.Move([]byte("moved"), 0, []byte("replaced by a move"))
	})
	assert.Equal(t, 6, s.collections(t))
	n, err := s.CollectLeft(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	assert.Equal(t, 3, s.collections(t))

	require.NoError(t, s.numbered[0].Delete(t.Context(), []byte("expired")), "as a sweep does")
	n, err = s.CollectUnowned(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, []string{"a", "b"}, s.elementsOf(t, "stays"))
	assert.Equal(t, []string{"a", "b"}, s.elementsOf(t, "replaced by a move"))
	n, err = s.CollectLeft(t.Context())
	require.NoError(t, err)
	assert.Zero(t, n)
}

// TestWatch changes the version of a large value with each change of an element.
func TestWatch(t *testing.T) {
	s := opened(t)
	s.setLarge(t, "k", "a")
	key := []byte("k")
	write := func(element string) {
		s.do(t, func(tx *Tx) error {
			e, err := tx.Get(key)
			if err != nil {
				return err
			}
			return tx.Elements(key, &e).Write([]byte(element), []byte("of "+element))
		})
	}
	for range 2 {
		v, err := s.Watch(t.Context(), 0, key)
		require.NoError(t, err)
		again, err := s.Watch(t.Context(), 0, key)
		require.NoError(t, err)
		assert.Equal(t, v, again, "nothing has changed")
		write("b")
		s.do(t, func(tx *Tx) error {
			now, err := tx.Version(key)
			assert.NotEqual(t, v, now)
			return err
		})
	}
	v, err := s.Watch(t.Context(), 0, []byte("none"))
	require.NoError(t, err)
	assert.True(t, v.IsZero())
}

// TestCollectLeavesWhatIsBeingMade: elements may be there before the transaction has committed that
// makes their owner; these, whose owner's name is not there, are taken for such.
func TestCollectLeavesWhatIsBeingMade(t *testing.T) {
	s := opened(t)
	s.setLarge(t, "k", "a")
	s.do(t, func(tx *Tx) error {
		e, err := tx.Get([]byte("k"))
		if err != nil {
			return err
		}
		return tx.tx.Delete(s.elements(e.id()), []byte{ownerName})
	})
	n, err := s.CollectUnowned(t.Context())
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Equal(t, []string{"a"}, s.elementsOf(t, "k"))
}

// TestCopies ends a transaction that wants the same value too often, without effect.
func TestCopies(t *testing.T) {
	s := opened(t)
	defer func() { copiedMax = CopiedMax }()
	copiedMax = 10_000
	long := Entry{Kind: String, Body: make([]byte, 3000)}
	s.do(t, func(tx *Tx) error { return tx.Set([]byte("a"), long) })
	err := s.db.Tx(t.Context(), func(raw *strictkv.Tx) error {
		tx := s.NewTx(raw, 0)
		tx.Ahead([]Named{{0, []byte("a")}, {0, []byte("b")}})
		for range 3 {
			if _, err := tx.Get([]byte("a")); err != nil {
				return err
			}
		}
		assert.Less(t, tx.Copied(), 6100, "what was read ahead is there once")
		if err := tx.In(1).Set([]byte("b"), long); err != nil {
			return err
		}
		_, err := tx.Get([]byte("a"))
		return err
	})
	require.ErrorIs(t, err, ErrTooMuch)
	require.ErrorIs(t, err, strictkv.ErrTooLarge)
	s.do(t, func(tx *Tx) error {
		e, err := tx.In(1).Get([]byte("b"))
		assert.True(t, e.Absent())
		return err
	})
}

// TestReadMultiTwice shares the value of a name that is asked for twice.
func TestReadMultiTwice(t *testing.T) {
	s := opened(t)
	s.setLarge(t, "k", "a", "b")
	s.do(t, func(tx *Tx) error {
		e, err := tx.Get([]byte("k"))
		if err != nil {
			return err
		}
		x := tx.Elements([]byte("k"), &e)
		values, err := x.ReadMulti([][]byte{[]byte("a"), []byte("c"), []byte("a"), []byte("b")})
		require.NoError(t, err)
		assert.Equal(t, [][]byte{[]byte("of a"), nil, []byte("of a"), []byte("of b")}, values)
		assert.Same(t, &values[0][0], &values[2][0])
		return nil
	})
}

package strictkv_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
)

// theirs is the shop's collection as the other handle sees it.
func (s *shop) theirs() *strictkv.Collection { return s.other.Collection([]byte("c")) }

// tx runs a transaction that must commit.
func (s *shop) tx(t *testing.T, f func(tx *strictkv.Tx)) {
	t.Helper()
	require.NoError(t, s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
		f(tx)
		return nil
	}))
}

// sees expects what a strong read of a key returns; nil stands for its absence.
func (s *shop) sees(t *testing.T, key string, want any) {
	t.Helper()
	got, err := s.theirs().Read(context.Background(), []byte(key))
	if want == nil {
		require.ErrorIs(t, err, strictkv.ErrNotFound)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}

// present lets the error of an absent key pass.
func present(err error) error {
	if errors.Is(err, strictkv.ErrNotFound) {
		return nil
	}
	return err
}

func TestOwnWrites(t *testing.T) {
	s := newShop(t)
	key := []byte("key")
	s.tx(t, func(tx *strictkv.Tx) {
		for _, value := range []string{"first", "second", ""} {
			require.NoError(t, tx.Write(s.c, key, []byte(value)))
			got, err := tx.Read(s.c, key)
			require.NoError(t, err)
			require.Equal(t, value, string(got))
		}
		require.NoError(t, tx.Delete(s.c, key))
		_, err := tx.Read(s.c, key)
		require.ErrorIs(t, err, strictkv.ErrNotFound)
		require.ErrorIs(t, err, backend.ErrNotFound)
		require.NoError(t, tx.Delete(s.c, key), "of what is absent")
		require.NoError(t, tx.Insert(s.c, []byte("new"), []byte("inserted")))
		r := tx.ReadMulti(s.c.Key(key), s.c.Key([]byte("new")), s.c.Key([]byte("absent")))
		require.ErrorIs(t, r[0].Err, strictkv.ErrNotFound)
		require.Equal(t, strictkv.Result{Value: []byte("inserted")}, r[1])
		require.ErrorIs(t, r[2].Err, strictkv.ErrNotFound)
	})
	s.sees(t, "key", nil)
	s.sees(t, "new", "inserted")
}

// TestInsert: whether a key exists is as the transaction sees it.
func TestInsert(t *testing.T) {
	read := func(tx *strictkv.Tx, c *strictkv.Collection, key []byte) error {
		_, err := tx.Read(c, key)
		return present(err)
	}
	write := func(tx *strictkv.Tx, c *strictkv.Collection, key []byte) error {
		return tx.Write(c, key, []byte("written"))
	}
	for _, x := range []struct {
		name, key string
		before    []func(tx *strictkv.Tx, c *strictkv.Collection, key []byte) error
		exists    bool
	}{
		{"present", "key", nil, true},
		{"absent", "new", nil, false},
		{"after a read of one present", "key", steps{read}, true},
		{"after a read of one absent", "new", steps{read}, false},
		{"after an own write", "new", steps{write}, true},
		{"after an own delete", "key", steps{(*strictkv.Tx).Delete}, false},
		{"after an own write and delete", "new", steps{write, (*strictkv.Tx).Delete}, false},
		{"after an own delete and write", "key", steps{(*strictkv.Tx).Delete, write}, true},
	} {
		for _, cold := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/cold %v", x.name, cold), func(t *testing.T) {
				s := newShop(t)
				db, c := s.db, s.c
				if cold {
					db, c = s.other, s.theirs()
				}
				var inside error
				require.NoError(t, db.Tx(s.ctx, func(tx *strictkv.Tx) error {
					for _, do := range x.before {
						require.NoError(t, do(tx, c, []byte(x.key)))
					}
					inside = tx.Insert(c, []byte(x.key), []byte("inserted"))
					return nil
				}))
				if !x.exists {
					require.NoError(t, inside)
					s.sees(t, x.key, "inserted")
				} else {
					require.ErrorIs(t, inside, strictkv.ErrExists)
				}
			})
		}
	}
}

type steps = []func(tx *strictkv.Tx, c *strictkv.Collection, key []byte) error

// TestInsertRunsAgain: the function learns in a second run that the key exists, and may
// do something else then.
// An error that the function returns after an Insert may come from its success: so it comes back
// only if the key is absent indeed.
func TestErrorAfterAnInsert(t *testing.T) {
	for name, opts := range map[string][]strictkv.Option{
		"cached": nil, "without a cache": {strictkv.WithCacheSize(0)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, opts...)
			other := errors.New("of the function")
			require.NoError(t, s.theirs().Write(s.ctx, []byte("there"), []byte("v")))
			for key, want := range map[string]error{"there": strictkv.ErrExists, "new": other} {
				for _, abort := range []bool{false, true} {
					for _, reads := range []bool{false, true} {
						err := s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
							if reads {
								_, _ = tx.Read(s.c, []byte("else"))
							}
							if err := tx.Insert(s.c, []byte(key), nil); err != nil {
								return err
							}
							if abort {
								_ = tx.Abort()
							}
							return other
						})
						require.ErrorIs(t, err, want, "%s, abort %v, reads %v", key, abort, reads)
					}
				}
			}
		})
	}
}

func TestInsertRunsAgain(t *testing.T) {
	s := newShop(t)
	c, runs := s.theirs(), 0
	require.NoError(t, s.other.Tx(s.ctx, func(tx *strictkv.Tx) error {
		runs++
		err := tx.Insert(c, []byte("key"), []byte("inserted"))
		if errors.Is(err, strictkv.ErrExists) {
			return tx.Write(c, []byte("key"), []byte("replaced"))
		}
		return err
	}))
	assert.Equal(t, 2, runs)
	s.sees(t, "key", "replaced")
}

// TestStaleExists: ErrExists that the cache told is validated before it counts.
func TestStaleExists(t *testing.T) {
	s := newShop(t)
	require.NoError(t, s.theirs().Delete(s.ctx, []byte("key")))
	require.NoError(t, s.c.Insert(s.ctx, []byte("key"), []byte("inserted")))
	s.sees(t, "key", "inserted")
}

func TestNilValue(t *testing.T) {
	s := newShop(t)
	require.NoError(t, s.c.Write(s.ctx, []byte("nil"), nil))
	require.NoError(t, s.c.Insert(s.ctx, []byte("inserted"), nil))
	for _, c := range []*strictkv.Collection{s.c, s.theirs()} {
		for _, key := range []string{"nil", "inserted"} {
			v, err := c.Read(s.ctx, []byte(key))
			require.NoError(t, err)
			assert.NotNil(t, v)
			assert.Empty(t, v)
		}
	}
	require.NoError(t, s.c.Update(s.ctx, []byte("nil"), func(old []byte) ([]byte, error) {
		assert.NotNil(t, old, "it has a value")
		return []byte{}, nil
	}))
	s.sees(t, "nil", "")
}

// spoil does what a caller may do with a slice of its own.
func spoil(b []byte) {
	clear(b)
	_ = append(b, "spoilt"...)
}

// TestValuesAreCopies: slices handed in or out are the caller's, and nothing remembers
// them.
func TestValuesAreCopies(t *testing.T) {
	s := newShop(t)
	s.tx(t, func(tx *strictkv.Tx) {
		v, err := tx.Read(s.c, []byte("key"))
		require.NoError(t, err)
		spoil(v)
		v, err = tx.Read(s.c, []byte("key"))
		require.NoError(t, err)
		require.Equal(t, "value", string(v), "read once more")

		type putter = func(*strictkv.Collection, []byte, []byte, ...strictkv.WriteOption) error
		for name, put := range map[string]putter{
			"written": tx.Write, "inserted": tx.Insert,
		} {
			key, v := []byte(name), []byte("handed in")
			require.NoError(t, put(s.c, key, v))
			spoil(v)
			spoil(key)
			v, err := tx.Read(s.c, []byte(name))
			require.NoError(t, err)
			require.Equal(t, "handed in", string(v))
			spoil(v)
		}
	})
	s.sees(t, "written", "handed in")
	s.sees(t, "inserted", "handed in")
}

// TestWhatIsReadIsTheCallers: nothing remembers what any kind of read has returned.
func TestWhatIsReadIsTheCallers(t *testing.T) {
	s := newShop(t)
	for name, read := range map[string]func() ([]byte, error){
		"Read":     func() ([]byte, error) { return s.c.Read(s.ctx, []byte("key")) },
		"ReadWeak": func() ([]byte, error) { return s.c.ReadWeak(s.ctx, []byte("key"), time.Hour) },
		"ReadItem": func() ([]byte, error) {
			i, err := s.c.ReadItem(s.ctx, []byte("key"))
			return i.Value, err
		},
		"Items": func() ([]byte, error) { return valueOf(s.c.Items(s.ctx, strictkv.Range{})) },
		"Follow": func() ([]byte, error) {
			return changed(s.c.Follow(s.ctx, strictkv.Position{}, strictkv.FollowOnce()))
		},
		"Watch": func() ([]byte, error) {
			return changed(s.c.Watch(s.ctx, []byte("key"), strictkv.FollowOnce()))
		},
		"Tx.ReadItem": s.within(func(tx *strictkv.Tx) ([]byte, error) {
			i, err := tx.ReadItem(s.c, []byte("key"))
			return i.Value, err
		}),
		"Tx.ReadMulti": s.within(func(tx *strictkv.Tx) ([]byte, error) {
			r := tx.ReadMulti(s.c.Key([]byte("key")))[0]
			return r.Value, r.Err
		}),
		"Tx.Scan": s.within(func(tx *strictkv.Tx) ([]byte, error) {
			return valueOf(tx.Scan(s.c, strictkv.Range{}))
		}),
		"Tx.Scan of a key just written": s.within(func(tx *strictkv.Tx) ([]byte, error) {
			if err := tx.Write(s.c, []byte("key"), []byte("value")); err != nil {
				return nil, err
			}
			v, err := valueOf(tx.Scan(s.c, strictkv.Range{}))
			spoil(v)
			if err == nil {
				v, err = tx.Read(s.c, []byte("key"))
			}
			return v, err
		}),
		"Update": func() (v []byte, err error) {
			return v, s.c.Update(s.ctx, []byte("key"), func(old []byte) ([]byte, error) {
				v = append([]byte{}, old...)
				spoil(old)
				return v, nil
			})
		},
	} {
		for range 3 {
			v, err := read()
			require.NoError(t, err)
			require.Equal(t, "value", string(v), name)
			spoil(v)
		}
	}
	s.sees(t, "key", "value")
	for range 3 {
		v, err := s.c.ReadShared(s.ctx, []byte("key"), 0)
		require.NoError(t, err)
		require.Equal(t, "value", string(v))
		_ = append(v, "spoilt"...)
	}
}

// within is a function that reads in a transaction.
func (s *shop) within(read func(*strictkv.Tx) ([]byte, error)) func() ([]byte, error) {
	return func() (v []byte, err error) {
		return v, s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
			v, err = read(tx)
			return err
		})
	}
}

// valueOf is the value of "key" among items.
func valueOf(items iter.Seq2[strictkv.Item, error]) (v []byte, err error) {
	for i, err := range items {
		if err != nil {
			return nil, err
		}
		if string(i.Key) == "key" {
			v = i.Value
		}
	}
	return v, nil
}

// changed is the value of "key" among changes.
func changed(changes iter.Seq2[strictkv.Change, error]) (v []byte, err error) {
	for c, err := range changes {
		if err != nil {
			return nil, err
		}
		if string(c.Key) == "key" {
			v = c.Value
		}
	}
	return v, nil
}

// TestWriteShared: it makes no copy, and leaves alone what is behind the value.
func TestWriteShared(t *testing.T) {
	s := newShop(t, strictkv.WithInlineMax(100))
	for _, text := range []string{"", "short", strings.Repeat("long", 1000)} {
		room := []byte(text + "behind")
		value := room[:len(text)]
		s.tx(t, func(tx *strictkv.Tx) {
			require.NoError(t, tx.WriteShared(s.c, []byte("key"), value))
			v, err := tx.ReadShared(s.c, []byte("key"))
			require.NoError(t, err)
			require.NotNil(t, v)
			if len(text) > 0 {
				require.Same(t, &value[0], &v[0])
			}
			_ = append(v, "spoilt"...)
		})
		s.sees(t, "key", text)
		require.Equal(t, text+"behind", string(room))
	}
	s.tx(t, func(tx *strictkv.Tx) { require.NoError(t, tx.WriteShared(s.c, []byte("key"), nil)) })
	s.sees(t, "key", "")
}

// TestReadShared: it makes no copy, neither of what is in the key's object nor of what is one of
// its own.
func TestReadShared(t *testing.T) {
	s := newShop(t, strictkv.WithInlineMax(100))
	for _, value := range []string{"", "short", strings.Repeat("long", 1000)} {
		require.NoError(t, s.c.Write(s.ctx, []byte("key"), []byte(value)))
		read := func() []byte {
			v, err := s.c.ReadShared(s.ctx, []byte("key"), 0)
			require.NoError(t, err)
			require.Equal(t, value, string(v))
			return v
		}
		if a, b := read(), read(); len(value) > 0 {
			require.Same(t, &a[0], &b[0])
		}
	}
	_, err := s.c.ReadShared(s.ctx, []byte("none"), 0)
	require.ErrorIs(t, err, strictkv.ErrNotFound)
	s.tx(t, func(tx *strictkv.Tx) {
		_, err := tx.ReadShared(s.c, []byte("none"))
		require.ErrorIs(t, err, strictkv.ErrNotFound)
		require.NoError(t, tx.Write(s.c, []byte("new"), []byte("own")))
		long := strings.Repeat("long", 1000)
		for key, want := range map[string]string{"key": long, "new": "own"} {
			a, err := tx.ReadShared(s.c, []byte(key))
			require.NoError(t, err)
			require.Equal(t, want, string(a))
			b, err := tx.ReadShared(s.c, []byte(key))
			require.NoError(t, err)
			require.Same(t, &a[0], &b[0])
			_ = append(a, "spoilt"...)
		}
	})
	s.sees(t, "new", "own")
}

// TestErrorsStick: an error of a method makes the transaction fail, even if the function
// ignores it; only ErrNotFound and ErrExists do not.
func TestErrorsStick(t *testing.T) {
	for name, x := range map[string]struct {
		do func(s *shop, tx *strictkv.Tx) error
		is error
	}{
		"bad key": {func(s *shop, tx *strictkv.Tx) error { return tx.Write(s.c, nil, nil) },
			strictkv.ErrInvalidKey},
		"large value": {func(s *shop, tx *strictkv.Tx) error {
			return tx.Write(s.c, []byte("large"), make([]byte, strictkv.ValueMax+1))
		}, strictkv.ErrTooLarge},
		"nil collection": {func(s *shop, tx *strictkv.Tx) error {
			return tx.ReadMulti(strictkv.Key{})[0].Err
		}, strictkv.ErrInvalid},
		"damaged cell": {func(s *shop, tx *strictkv.Tx) error {
			_, err := tx.Read(s.c, []byte("damaged"))
			return err
		}, strictkv.ErrCorrupt},
		"abort": {func(s *shop, tx *strictkv.Tx) error { return tx.Abort() }, strictkv.ErrAborted},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.damaged = true
			_, err := s.store.Put(s.ctx, "example/+c/=damaged", []byte("?"), backend.IfAbsent())
			require.NoError(t, err)
			err = s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
				require.NoError(t, tx.Write(s.c, []byte("key"), []byte("changed")))
				require.ErrorIs(t, x.do(s, tx), x.is)
				_, err := tx.Read(s.c, []byte("key"))
				require.ErrorIs(t, err, x.is, "what follows fails as well")
				require.ErrorIs(t, tx.Write(s.c, []byte("new"), nil), x.is)
				return nil
			})
			require.ErrorIs(t, err, x.is)
			s.sees(t, "key", "value")
			s.sees(t, "new", nil)
		})
	}
	s := newShop(t)
	s.tx(t, func(tx *strictkv.Tx) {
		_, err := tx.Read(s.c, []byte("absent"))
		require.ErrorIs(t, err, strictkv.ErrNotFound)
		require.ErrorIs(t, tx.Insert(s.c, []byte("key"), nil), strictkv.ErrExists)
		require.NoError(t, tx.Write(s.c, []byte("key"), []byte("changed")))
	})
	s.sees(t, "key", "changed")
}

// TestErrorOfFunction: it comes back as it is, without effect, but only once the reads
// that led to it are known to be current.
func TestErrorOfFunction(t *testing.T) {
	s := newShop(t)
	ours := &strictkv.KeyError{} // an error with an identity
	err := s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
		require.NoError(t, tx.Write(s.c, []byte("key"), []byte("changed")))
		return ours
	})
	assert.Same(t, ours, err)
	s.sees(t, "key", "value")

	require.NoError(t, s.theirs().Write(s.ctx, []byte("key"), []byte("newer")))
	var seen []string
	err = s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
		v, err := tx.Read(s.c, []byte("key"))
		require.NoError(t, err)
		if seen = append(seen, string(v)); string(v) == "value" {
			return ours
		}
		return nil
	})
	require.NoError(t, err, "the error came of a stale read")
	assert.Equal(t, []string{"value", "newer"}, seen)
}

func TestPanic(t *testing.T) {
	s := newShop(t)
	before := s.objects(t)
	for _, run := range []func(context.Context, func(*strictkv.Tx) error) error{
		func(ctx context.Context, f func(*strictkv.Tx) error) error { return s.db.Tx(ctx, f) },
		func(ctx context.Context, f func(*strictkv.Tx) error) error {
			_, err := strictkv.Do(ctx, s.db, func(tx *strictkv.Tx) (int, error) { return 0, f(tx) })
			return err
		},
	} {
		assert.PanicsWithValue(t, "of the function", func() {
			_ = run(s.ctx, func(tx *strictkv.Tx) error {
				require.NoError(t, tx.Write(s.c, []byte("key"), []byte("changed")))
				require.NoError(t, tx.Write(s.c, []byte("new"), []byte("new")))
				panic("of the function")
			})
		})
	}
	require.NoError(t, s.db.Close(s.ctx), "nothing is running any more")
	assert.Equal(t, before, s.objects(t))
}

func TestGoroutinesInFunction(t *testing.T) {
	s := newShop(t)
	c := s.theirs() // cold
	require.NoError(t, s.other.Tx(s.ctx, func(tx *strictkv.Tx) error {
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				v, err := tx.Read(c, []byte("key"))
				assert.NoError(t, err)
				assert.Equal(t, "value", string(v))
				_, err = tx.Read(c, keyOf(i%5))
				assert.NoError(t, present(err))
				assert.NoError(t, tx.Write(c, keyOf(i), fmt.Append(nil, i)))
			})
		}
		wg.Wait()
		return nil
	}))
	for i := range 32 {
		s.sees(t, string(keyOf(i)), fmt.Sprint(i))
	}
}

// TestNested: what the function starts outside of its transaction is another one, and
// does not wait for the outer. A hang is a deadlock of the bubble.
func TestNested(t *testing.T) {
	for name, inner := range map[string]func(s *shop) error{
		"same key": func(s *shop) error {
			return s.c.Write(s.ctx, []byte("key"), []byte("inner"))
		},
		"other key": func(s *shop) error {
			return s.c.Write(s.ctx, []byte("new"), []byte("inner"))
		},
		"read": func(s *shop) error {
			_, err := s.c.Read(s.ctx, []byte("key"))
			return err
		},
		"several keys": func(s *shop) error {
			return s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
				return errors.Join(tx.Write(s.c, []byte("key"), nil),
					tx.Write(s.c, []byte("new"), nil))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t, strictkv.WithConcurrency(1))
				runs := 0
				s.tx(t, func(tx *strictkv.Tx) {
					_, err := tx.Read(s.c, []byte("key"))
					require.NoError(t, err)
					if runs++; runs == 1 {
						require.NoError(t, inner(s))
					}
					require.NoError(t, tx.Write(s.c, []byte("key"), []byte("outer")))
					require.NoError(t, tx.Write(s.c, []byte("other"), []byte("outer")))
				})
				s.sees(t, "key", "outer")
				s.sees(t, "other", "outer")
			})
		})
	}
}

// TestWeakView: what a weak View sees was there at one instant, within the bound.
func TestWeakView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		a, b := []byte("a"), []byte("b")
		put := func(value string) { // the two are always equal
			require.NoError(t, s.other.Tx(s.ctx, func(tx *strictkv.Tx) error {
				return errors.Join(tx.Write(s.theirs(), a, []byte(value)),
					tx.Write(s.theirs(), b, []byte(value)))
			}))
			time.Sleep(time.Second)
		}
		weak := func() (values string, gets int64) {
			before := s.db.Stats().Gets
			require.NoError(t, s.db.View(s.ctx, func(tx *strictkv.Tx) error {
				values = ""
				for _, r := range tx.ReadMulti(s.c.Key(a), s.c.Key(b)) {
					require.NoError(t, r.Err)
					values += string(r.Value)
				}
				return nil
			}, strictkv.MaxStaleness(time.Hour)))
			return values, s.db.Stats().Gets - before
		}
		put("1")
		_, err := s.c.Read(s.ctx, a)
		require.NoError(t, err)
		put("2")
		_, err = s.c.Read(s.ctx, b)
		require.NoError(t, err)
		values, gets := weak()
		assert.Equal(t, "22", values, "each is fresh enough, but they don't belong together")
		assert.Positive(t, gets)

		put("3")
		values, gets = weak()
		assert.Equal(t, "22", values)
		assert.Zero(t, gets)
		time.Sleep(time.Hour)
		values, _ = weak()
		assert.Equal(t, "33", values)
	})
}

func TestMaxAttempts(t *testing.T) {
	s := newShop(t)
	a, b := s.c.Key([]byte("a")), s.c.Key([]byte("b"))
	runs := 0
	// collide reads two keys, and lets somebody else change both.
	collide := func(tx *strictkv.Tx) error {
		runs++
		r := tx.ReadMulti(a, b)
		return errors.Join(present(r[0].Err), present(r[1].Err),
			s.theirs().Write(s.ctx, a.Key, fmt.Append(nil, runs)),
			s.theirs().Write(s.ctx, b.Key, fmt.Append(nil, runs)))
	}
	for _, n := range []int{1, 4} {
		runs = 0
		err := s.db.View(s.ctx, collide, strictkv.MaxAttempts(n))
		require.ErrorIs(t, err, strictkv.ErrConflict)
		assert.Equal(t, n, runs)

		runs = 0
		err = s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
			return errors.Join(collide(tx), tx.Write(s.c, []byte("key"), []byte("lost")))
		}, strictkv.MaxAttempts(n))
		require.ErrorIs(t, err, strictkv.ErrConflict)
		assert.Equal(t, n, runs)
		s.sees(t, "a", fmt.Sprint(n))
		s.sees(t, "key", "value")
	}
	require.NoError(t, s.c.Write(s.ctx, []byte("key"), nil), "without a rival it commits")
}

func TestDo(t *testing.T) {
	s := newShop(t)
	ours, runs := errors.New("ours"), 0
	v, err := strictkv.Do(s.ctx, s.db, func(tx *strictkv.Tx) (int, error) { return 7, ours })
	assert.Same(t, ours, err)
	assert.Zero(t, v)
	w, err := strictkv.DoView(s.ctx, s.db, func(tx *strictkv.Tx) (*int, error) {
		return new(int), tx.Write(s.c, []byte("key"), nil)
	})
	require.ErrorIs(t, err, strictkv.ErrReadOnly)
	assert.Nil(t, w)

	require.NoError(t, s.theirs().Write(s.ctx, []byte("key"), []byte("newer")))
	v, err = strictkv.Do(s.ctx, s.db, func(tx *strictkv.Tx) (int, error) {
		runs++
		_, err := tx.Read(s.c, []byte("key"))
		return runs, err
	})
	require.NoError(t, err)
	assert.Equal(t, 2, v, "the value of the run that counted")
}

// TestAttempt: each run of the function knows its number, and what became of the one before.
func TestAttempt(t *testing.T) {
	s := newShop(t)
	for name, x := range map[string]struct {
		cause strictkv.RetryCause
		run   func(tx *strictkv.Tx) error
	}{
		"write conflict": {strictkv.WriteConflict, func(tx *strictkv.Tx) error {
			return tx.Write(s.c, []byte("key"), nil)
		}},
		"stale read": {strictkv.StaleRead, func(tx *strictkv.Tx) error {
			_, err := tx.Read(s.c, []byte("other"))
			return present(err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var causes []strictkv.RetryCause
			require.NoError(t, s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
				causes = append(causes, tx.RetryCause())
				assert.Len(t, causes, tx.Attempt())
				_, err := tx.Read(s.c, []byte("key"))
				require.NoError(t, err)
				if tx.Attempt() == 1 {
					value := fmt.Append(nil, name)
					require.NoError(t, s.theirs().Write(s.ctx, []byte("key"), value))
				}
				return x.run(tx)
			}))
			assert.Equal(t, []strictkv.RetryCause{strictkv.FirstRun, x.cause}, causes)
			assert.Equal(t, name, x.cause.String())
		})
	}
	assert.Equal(t, "first run", strictkv.FirstRun.String())
	assert.Equal(t, "locks lost", strictkv.LocksLost.String())
	assert.Equal(t, "grouped", strictkv.Grouped.String())
	assert.Equal(t, "cause 99", strictkv.RetryCause(99).String())
}

// TestGroupedAttempts: of many that increment one counter, most run again in a group.
func TestGroupedAttempts(t *testing.T) {
	s := newShop(t)
	var causes [5]atomic.Int64
	var group errgroup.Group
	for range 16 {
		group.Go(func() error {
			return s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
				causes[tx.RetryCause()].Add(1)
				assert.Equal(t, tx.Attempt() == 1, tx.RetryCause() == strictkv.FirstRun)
				v, err := tx.Read(s.c, []byte("key"))
				if err != nil {
					return err
				}
				return tx.Write(s.c, []byte("key"), append(v, '+'))
			})
		})
	}
	require.NoError(t, group.Wait())
	assert.EqualValues(t, 16, causes[strictkv.FirstRun].Load())
	s.sees(t, "key", "value"+strings.Repeat("+", 16))
}

// TestInDoubt: the error tells the attempt, its keys, and why; whatever has come of it,
// it has come of all keys, and they can be used.
func TestInDoubt(t *testing.T) {
	leaving, leave := context.WithCancel(t.Context())
	var landed atomic.Int64
	db, err := strictkv.Open(t.Context(), "example", faulty.New(memory.New(), faulty.Options{
		After: func(ctx context.Context, op faulty.Op, a *faulty.Answer) {
			if !op.Write() || !strings.Contains(op.Name, "/+c/") || landed.Add(1) > 2 {
				return
			}
			if landed.Load() == 2 {
				leave() // with both writes done, and both answers lost
			}
			<-leaving.Done()
			*a = faulty.Answer{Err: backend.ErrOutcomeUnknown}
		},
	}))
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	nested := c.Collection([]byte("nested"))
	err = db.Tx(leaving, func(tx *strictkv.Tx) error {
		return errors.Join(tx.Insert(c, []byte("key"), nil),
			tx.Insert(nested, []byte("in it"), nil))
	})
	require.ErrorIs(t, err, strictkv.ErrInDoubt)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, backend.ErrOutcomeUnknown, "the cause")
	var doubt *strictkv.InDoubtError
	require.ErrorAs(t, err, &doubt)
	assert.Len(t, doubt.Attempt, 32, "128 bits in hexadecimal")
	assert.ErrorContains(t, err, doubt.Attempt)
	require.Len(t, doubt.Keys, 2)
	keys := map[string]strictkv.Key{}
	for _, k := range doubt.Keys {
		keys[string(k.Key)] = k
	}
	assert.Equal(t, c.Key([]byte("key")), keys["key"])
	assert.Equal(t, nested.Key([]byte("in it")), keys["in it"])
	assert.EqualValues(t, 1, db.Stats().InDoubt)

	require.NoError(t, db.View(t.Context(), func(tx *strictkv.Tx) error {
		r := tx.ReadMulti(doubt.Keys...)
		assert.Equal(t, errors.Is(r[0].Err, strictkv.ErrNotFound),
			errors.Is(r[1].Err, strictkv.ErrNotFound), "both or none")
		return nil
	}))
	for _, k := range doubt.Keys {
		require.NoError(t, k.Collection.Write(t.Context(), k.Key, []byte("after")))
	}
	r, err := db.Check(t.Context(), strictkv.CheckOptions{})
	require.NoError(t, err)
	require.Empty(t, r.Problems)
	require.NoError(t, db.Close(t.Context()))
}

func TestNilOptionOfATransaction(t *testing.T) {
	s := newShop(t)
	never := func(*strictkv.Tx) error { t.Error("the function ran"); return nil }
	value := func(tx *strictkv.Tx) (int, error) { return 0, never(tx) }
	for name, call := range map[string]func() error{
		"Tx":   func() error { return s.db.Tx(s.ctx, never, nil) },
		"View": func() error { return s.db.View(s.ctx, never, nil) },
		"Do":   func() error { _, err := strictkv.Do(s.ctx, s.db, value, nil); return err },
		"DoView": func() error {
			_, err := strictkv.DoView(s.ctx, s.db, value, strictkv.MaxStaleness(0), nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { assert.ErrorIs(t, call(), strictkv.ErrInvalid) })
	}
}

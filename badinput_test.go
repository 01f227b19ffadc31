package strictkv_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
	"github.com/strictkv/strictkv/backend/memory"
)

// user is somebody who calls the library.
type user struct {
	ctx context.Context
	db  *strictkv.DB
}

// target is a key, and what to write there.
type target struct {
	c          *strictkv.Collection
	key, value []byte
}

// operation is one way to use a key.
type operation struct {
	name string
	// writes says that the operation has a value.
	writes bool
	// tx says that it is a method of Tx.
	tx bool
	do func(u user, x target) error
}

// operations are all that take a key.
func operations() []operation {
	keep := func(x target) func([]byte) ([]byte, error) {
		return func([]byte) ([]byte, error) { return x.value, nil }
	}
	of := func(f func(tx *strictkv.Tx, x target) error) func(user, target) error {
		return func(u user, x target) error {
			return u.db.Tx(u.ctx, func(tx *strictkv.Tx) error { return f(tx, x) })
		}
	}
	return []operation{
		{"Collection.Read", false, false, func(u user, x target) error {
			_, err := x.c.Read(u.ctx, x.key)
			return err
		}},
		{"Collection.ReadShared", false, false, func(u user, x target) error {
			_, err := x.c.ReadShared(u.ctx, x.key, 0)
			return err
		}},
		{"Collection.ReadWeak", false, false, func(u user, x target) error {
			_, err := x.c.ReadWeak(u.ctx, x.key, time.Hour)
			return err
		}},
		{"Collection.Write", true, false, func(u user, x target) error {
			return x.c.Write(u.ctx, x.key, x.value)
		}},
		{"Collection.Insert", true, false, func(u user, x target) error {
			return x.c.Insert(u.ctx, x.key, x.value)
		}},
		{"Collection.Delete", false, false, func(u user, x target) error {
			return x.c.Delete(u.ctx, x.key)
		}},
		{"Collection.Update", true, false, func(u user, x target) error {
			return x.c.Update(u.ctx, x.key, keep(x))
		}},
		{"Tx.Read", false, true, of(func(tx *strictkv.Tx, x target) error {
			_, err := tx.Read(x.c, x.key)
			return err
		})},
		{"Tx.ReadMulti", false, true, of(func(tx *strictkv.Tx, x target) error {
			return tx.ReadMulti(strictkv.Key{Collection: x.c, Key: x.key})[0].Err
		})},
		{"Tx.ReadMultiMax", false, true, of(func(tx *strictkv.Tx, x target) error {
			return tx.ReadMultiMax(1, strictkv.Key{Collection: x.c, Key: x.key})[0].Err
		})},
		{"Tx.Write", true, true, of(func(tx *strictkv.Tx, x target) error {
			return tx.Write(x.c, x.key, x.value)
		})},
		{"Tx.WriteShared", true, true, of(func(tx *strictkv.Tx, x target) error {
			return tx.WriteShared(x.c, x.key, x.value)
		})},
		{"Tx.Insert", true, true, of(func(tx *strictkv.Tx, x target) error {
			return tx.Insert(x.c, x.key, x.value)
		})},
		{"Tx.Delete", false, true, of(func(tx *strictkv.Tx, x target) error {
			return tx.Delete(x.c, x.key)
		})},
		{"Tx.Lock", false, true, of(func(tx *strictkv.Tx, x target) error {
			return tx.Lock(x.c, x.key)
		})},
	}
}

// shop is a database in memory with a key, and a second handle.
type shop struct {
	user
	store *memory.Backend
	c     *strictkv.Collection
	other *strictkv.DB
	// damaged says that the test has broken the database, so that it can't be sound.
	damaged bool
}

func keyOf(n int) []byte { return fmt.Appendf(nil, "key-%d", n) }

func newShop(t *testing.T, opts ...strictkv.Option) *shop {
	s := &shop{store: memory.New()}
	s.ctx = t.Context()
	t.Cleanup(func() { s.check(t) })
	for _, db := range []**strictkv.DB{&s.db, &s.other} {
		var err error
		*db, err = strictkv.Open(s.ctx, "example", s.store, opts...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, (*db).Close(context.Background())) })
	}
	s.c = s.db.Collection([]byte("c"))
	require.NoError(t, s.c.Write(s.ctx, []byte("key"), []byte("value")))
	return s
}

// check expects a sound database, unless the test has damaged it.
func (s *shop) check(t *testing.T) {
	if s.damaged {
		return
	}
	ctx := context.Background()
	db, err := strictkv.Open(ctx, "example", s.store)
	require.NoError(t, err)
	r, err := db.Check(ctx, strictkv.CheckOptions{})
	require.NoError(t, err)
	require.Empty(t, r.Problems)
	require.NoError(t, db.Close(ctx))
}

// objects are all in the store, with their versions.
func (s *shop) objects(t *testing.T) map[string]backend.Object {
	all := map[string]backend.Object{}
	page, err := s.store.List(context.Background(), backend.ListOptions{Limit: 1000})
	require.NoError(t, err)
	require.False(t, page.More)
	for _, info := range page.Objects {
		o, err := s.store.Get(context.Background(), info.Name, "")
		require.NoError(t, err)
		o.Time = time.Time{} // of the answer
		all[info.Name] = o
	}
	return all
}

// refuses expects an error that matches, tells what it must tell, and leaves everything
// as it was, also when the background has come to rest.
func (s *shop) refuses(t *testing.T, call func() error, is error, tells ...string) error {
	t.Helper()
	before := s.objects(t)
	err := call()
	require.ErrorIs(t, err, is)
	for _, word := range tells {
		assert.ErrorContains(t, err, word)
	}
	for _, unlike := range []error{strictkv.ErrInDoubt, strictkv.ErrNotFound} {
		assert.NotErrorIs(t, err, unlike)
	}
	require.NoError(t, s.db.Close(context.Background()))
	assert.Equal(t, before, s.objects(t), "something has changed")
	return err
}

// TestBadKeys: each operation refuses each bad key.
func TestBadKeys(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 513)
	key := []byte("key")
	deep := func(c *strictkv.Collection) *strictkv.Collection {
		return c.Collection(long[:400]).Collection(long[:400])
	}
	keyError := func(size, limit int) any { return &strictkv.KeyError{Len: size, Limit: limit} }
	for _, bad := range []struct {
		name   string
		target func(s *shop) target
		is     error
		detail any
		tells  []string
		txOnly bool
	}{
		{"empty key", func(s *shop) target { return target{s.c, []byte{}, key} },
			strictkv.ErrInvalidKey, keyError(0, 512), []string{"key is empty", "512"}, false},
		{"nil key", func(s *shop) target { return target{s.c, nil, key} },
			strictkv.ErrInvalidKey, keyError(0, 512), []string{"key is empty", "512"}, false},
		{"long key", func(s *shop) target { return target{s.c, long, key} },
			strictkv.ErrInvalidKey, keyError(513, 512), []string{"key has 513", "512"}, false},
		{"empty collection name", func(s *shop) target {
			return target{s.db.Collection(nil), key, key}
		}, strictkv.ErrInvalidKey, keyError(0, 512), []string{"collection name is empty"}, false},
		{"long collection name", func(s *shop) target {
			return target{s.db.Collection(long), key, key}
		}, strictkv.ErrInvalidKey, keyError(513, 512), []string{"collection name has 513"}, false},
		{"nested in one with a bad name", func(s *shop) target {
			return target{s.db.Collection(long).Collection(key), key, key}
		}, strictkv.ErrInvalidKey, keyError(513, 512), []string{"collection name has 513"}, false},
		{"path too long", func(s *shop) target { return target{deep(s.c), long[:200], key} },
			strictkv.ErrInvalidKey, keyError(1016, 990), []string{"object name", "1016"}, false},
		{"nil collection", func(*shop) target { return target{nil, key, key} },
			strictkv.ErrInvalid, nil, []string{"nil collection", `"key"`}, true},
		{"collection of another handle", func(s *shop) target {
			return target{s.other.Collection([]byte("c")), key, key}
		}, strictkv.ErrInvalid, nil, []string{"another handle"}, true},
	} {
		for _, op := range operations() {
			if bad.txOnly && !op.tx {
				continue
			}
			t.Run(bad.name+"/"+op.name, func(t *testing.T) {
				s := newShop(t)
				err := s.refuses(t, func() error { return op.do(s.user, bad.target(s)) },
					bad.is, bad.tells...)
				if want, ok := bad.detail.(*strictkv.KeyError); ok {
					var got *strictkv.KeyError
					require.ErrorAs(t, err, &got)
					assert.Equal(t, []int{want.Len, want.Limit}, []int{got.Len, got.Limit})
				}
			})
		}
	}
}

// TestLargestKeys: what is just within the limits goes through.
func TestLargestKeys(t *testing.T) {
	s := newShop(t)
	long := bytes.Repeat([]byte("x"), 512)
	c := s.db.Collection(long[:400]).Collection(long[:400])
	room := 990 - len("example/+/+/=") - 800
	for _, x := range []target{
		{s.c, long, nil}, {s.db.Collection(long), []byte{0}, nil}, {c, long[:room], nil},
	} {
		require.NoError(t, x.c.Write(s.ctx, x.key, x.value))
		_, err := x.c.Read(s.ctx, x.key)
		require.NoError(t, err)
	}
	s.refuses(t, func() error { return c.Write(s.ctx, long[:room+1], nil) },
		strictkv.ErrInvalidKey, "991", "990")
}

func TestBadSizes(t *testing.T) {
	const limit = strictkv.ValueMax
	for _, op := range operations() {
		if !op.writes {
			continue
		}
		t.Run(op.name, func(t *testing.T) {
			s := newShop(t)
			require.NoError(t, op.do(s.user, target{s.c, []byte("large"), make([]byte, limit)}))
			err := s.refuses(t, func() error {
				return op.do(s.user, target{s.c, []byte("larger"), make([]byte, limit+1)})
			}, strictkv.ErrTooLarge, `"larger"`, "67108865", "67108864")
			var large *strictkv.SizeError
			require.ErrorAs(t, err, &large)
			want := strictkv.SizeError{What: "value", Size: limit + 1, Limit: limit}
			assert.Equal(t, want, *large)
		})
	}
	t.Run("keys of a transaction", func(t *testing.T) {
		s := newShop(t)
		writeKeys := func(n int) error {
			return s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
				for i := range n {
					if err := tx.Insert(s.c, keyOf(i), nil); err != nil {
						return err
					}
				}
				return nil
			})
		}
		err := s.refuses(t, func() error { return writeKeys(1001) },
			strictkv.ErrTooLarge, "number of keys", "1001", "1000")
		var large *strictkv.SizeError
		require.ErrorAs(t, err, &large)
		assert.Equal(t, []int{1001, 1000}, []int{large.Size, large.Limit})

		s = newShop(t)
		require.NoError(t, writeKeys(1000))
	})
}

func TestBadArguments(t *testing.T) {
	for name, call := range map[string]func(s *shop) error{
		"Tx":     func(s *shop) error { return s.db.Tx(s.ctx, nil) },
		"View":   func(s *shop) error { return s.db.View(s.ctx, nil) },
		"Update": func(s *shop) error { return s.c.Update(s.ctx, []byte("key"), nil) },
		"Do": func(s *shop) error {
			_, err := strictkv.Do[int](s.ctx, s.db, nil)
			return err
		},
		"DoView": func(s *shop) error {
			_, err := strictkv.DoView[int](s.ctx, s.db, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.refuses(t, func() error { return call(s) }, strictkv.ErrInvalid, "nil function")
		})
	}
}

func TestBadOpen(t *testing.T) {
	for _, x := range []struct{ name, tells string }{
		{"", "1 to 64"}, {strings.Repeat("x", 65), "1 to 64"}, {"a/b", `'/'`}, {"a b", `' '`},
		{"ü", `'ü'`}, {".", "dot"}, {"..", "dot"}, {"a.", "dot"}, {"a\x00", `'\x00'`},
	} {
		store := memory.New()
		_, err := strictkv.Open(t.Context(), x.name, store)
		require.ErrorIs(t, err, strictkv.ErrInvalid, "%q", x.name)
		assert.ErrorContains(t, err, fmt.Sprintf("%q", x.name))
		assert.ErrorContains(t, err, x.tells)
		assert.Zero(t, store.Len(), "something was written")
	}
	_, err := strictkv.Open(t.Context(), "example", nil)
	require.ErrorIs(t, err, strictkv.ErrInvalid)
	assert.ErrorContains(t, err, "nil backend")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store := memory.New()
	_, err = strictkv.Open(ctx, "example", store)
	require.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, store.Len(), "something was written")
}

// TestNegativeOptions: options have no errors; what makes no sense counts as the least
// that does.
func TestNegativeOptions(t *testing.T) {
	s := newShop(t, strictkv.WithCacheSize(-1), strictkv.WithPatience(-time.Second),
		strictkv.WithConcurrency(-1), strictkv.WithCache(nil), strictkv.WithLogger(nil))
	theirs := s.other.Collection([]byte("c"))
	require.NoError(t, theirs.Write(s.ctx, []byte("key"), []byte("theirs")))
	v, err := s.c.ReadWeak(s.ctx, []byte("key"), -time.Hour)
	require.NoError(t, err)
	assert.Equal(t, "theirs", string(v), "a negative bound is strong")
	v, err = strictkv.DoView(s.ctx, s.db, func(tx *strictkv.Tx) ([]byte, error) {
		return tx.Read(s.c, []byte("key"))
	}, strictkv.MaxStaleness(-time.Hour), strictkv.MaxAttempts(-1))
	require.NoError(t, err)
	assert.Equal(t, "theirs", string(v), "a negative bound is strong")
	require.NoError(t, s.c.Write(s.ctx, []byte("key"), []byte("ours")))
}

func TestBadContexts(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	for _, op := range operations() {
		for _, ctx := range []context.Context{cancelled, late} {
			for _, key := range []string{"key", "new"} { // one is cached
				t.Run(fmt.Sprintf("%s/%s/%v", op.name, key, ctx.Err()), func(t *testing.T) {
					s := newShop(t)
					u := user{ctx, s.db}
					s.refuses(t, func() error {
						return op.do(u, target{s.c, []byte(key), nil})
					}, ctx.Err())
				})
			}
		}
	}
}

// TestBadContextRunsNothing: with a context that has ended the function is not run.
func TestBadContextRunsNothing(t *testing.T) {
	s := newShop(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fail := func(*strictkv.Tx) error {
		assert.Fail(t, "the function runs")
		return nil
	}
	require.ErrorIs(t, s.db.Tx(ctx, fail), context.Canceled)
	require.ErrorIs(t, s.db.View(ctx, fail), context.Canceled)
}

func TestClosed(t *testing.T) {
	calls := operations()
	nothing := func(*strictkv.Tx) (int, error) { return 0, nil }
	calls = append(calls,
		operation{name: "View", do: func(u user, _ target) error {
			return u.db.View(u.ctx, func(*strictkv.Tx) error { return nil })
		}},
		operation{name: "Do", do: func(u user, _ target) error {
			_, err := strictkv.Do(u.ctx, u.db, nothing)
			return err
		}},
		operation{name: "DoView", do: func(u user, _ target) error {
			_, err := strictkv.DoView(u.ctx, u.db, nothing)
			return err
		}},
		operation{name: "Check", do: func(u user, _ target) error {
			_, err := u.db.Check(u.ctx, strictkv.CheckOptions{})
			return err
		}})
	for _, op := range calls {
		t.Run(op.name, func(t *testing.T) {
			s := newShop(t)
			require.NoError(t, s.db.Close(s.ctx))
			s.refuses(t, func() error { return op.do(s.user, target{s.c, []byte("key"), nil}) },
				strictkv.ErrClosed, "closed")
		})
	}
}

// txCalls are the methods of a Tx that can fail, on a key that exists.
var txCalls = map[string]func(tx *strictkv.Tx, c *strictkv.Collection) error{
	"Read": func(tx *strictkv.Tx, c *strictkv.Collection) error {
		_, err := tx.Read(c, []byte("key"))
		return err
	},
	"ReadShared": func(tx *strictkv.Tx, c *strictkv.Collection) error {
		_, err := tx.ReadShared(c, []byte("key"))
		return err
	},
	"ReadMulti": func(tx *strictkv.Tx, c *strictkv.Collection) error {
		r := tx.ReadMulti(c.Key([]byte("key")), c.Key([]byte("key")))
		return errors.Join(r[0].Err, r[1].Err)
	},
	"ReadMultiMax": func(tx *strictkv.Tx, c *strictkv.Collection) error {
		return tx.ReadMultiMax(1000, c.Key([]byte("key")))[0].Err
	},
	"Write": func(tx *strictkv.Tx, c *strictkv.Collection) error {
		return tx.Write(c, []byte("key"), nil)
	},
	"WriteShared": func(tx *strictkv.Tx, c *strictkv.Collection) error {
		return tx.WriteShared(c, []byte("key"), nil)
	},
	"Insert": func(tx *strictkv.Tx, c *strictkv.Collection) error {
		return tx.Insert(c, []byte("new"), nil)
	},
	"Delete": func(tx *strictkv.Tx, c *strictkv.Collection) error {
		return tx.Delete(c, []byte("key"))
	},
	"Lock": func(tx *strictkv.Tx, c *strictkv.Collection) error {
		return tx.Lock(c, []byte("key"))
	},
	"Abort": func(tx *strictkv.Tx, _ *strictkv.Collection) error { return tx.Abort() },
}

func TestTxDone(t *testing.T) {
	for name, call := range txCalls {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			var leaked *strictkv.Tx
			require.NoError(t, s.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
				leaked = tx
				return tx.Write(s.c, []byte("key"), []byte("within"))
			}))
			s.refuses(t, func() error { return call(leaked, s.c) }, strictkv.ErrTxDone)
			assert.NotPanics(t, func() { leaked.Context() })
		})
	}
}

func TestWritesInView(t *testing.T) {
	for _, name := range []string{"Write", "Insert", "Delete", "Lock"} {
		for _, ignore := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/ignored %v", name, ignore), func(t *testing.T) {
				s := newShop(t)
				s.refuses(t, func() error {
					return s.db.View(s.ctx, func(tx *strictkv.Tx) error {
						err := txCalls[name](tx, s.c)
						assert.ErrorIs(t, err, strictkv.ErrReadOnly)
						if ignore {
							return nil
						}
						return err
					})
				}, strictkv.ErrReadOnly)
			})
		}
	}
}

// newer makes an object of a format version to come, at the byte behind the magic.
func newer(data []byte) []byte {
	data = bytes.Clone(data)
	data[4] = 99
	body := data[:len(data)-4]
	return binary.LittleEndian.AppendUint32(body,
		crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

func flip(data []byte, bit int) []byte {
	data = bytes.Clone(data)
	data[bit/8] ^= 1 << (bit % 8)
	return data
}

// replace puts an object in place of another, whose bytes it is given.
func (s *shop) replace(t *testing.T, name string, by func(data []byte) []byte) {
	s.damaged = true
	o, err := s.store.Get(s.ctx, name, "")
	require.NoError(t, err)
	_, err = s.store.Put(s.ctx, name, by(o.Data), backend.IfVersion(o.Version))
	require.NoError(t, err)
}

var damages = []struct {
	name string
	by   func(data []byte) []byte
	is   error
}{
	{"foreign", func([]byte) []byte { return []byte("<html>not one of ours</html>") },
		strictkv.ErrCorrupt},
	{"empty", func([]byte) []byte { return nil }, strictkv.ErrCorrupt},
	{"torn", func(data []byte) []byte { return data[:len(data)-5] }, strictkv.ErrCorrupt},
	{"flipped bit", func(data []byte) []byte { return flip(data, 8*len(data)/2) },
		strictkv.ErrCorrupt},
	{"newer format", newer, strictkv.ErrFormat},
}

// TestDamagedCell: each operation on a damaged cell fails, and leaves it as it is.
func TestDamagedCell(t *testing.T) {
	for _, damage := range damages {
		for _, op := range operations() {
			t.Run(damage.name+"/"+op.name, func(t *testing.T) {
				s := newShop(t, strictkv.WithCacheSize(0))
				s.replace(t, "example/+c/=key", damage.by)
				err := s.refuses(t, func() error {
					return op.do(s.user, target{s.c, []byte("key"), nil})
				}, damage.is, "example/+c/=key")
				if errors.Is(damage.is, strictkv.ErrCorrupt) {
					var corrupt *strictkv.CorruptError
					require.ErrorAs(t, err, &corrupt)
					assert.Equal(t, "example/+c/=key", corrupt.Object)
					assert.Error(t, corrupt.Err)
				}
				others := s.other.Collection([]byte("c"))
				assert.NoError(t, others.Write(s.ctx, []byte("other"), nil), "as other keys are")
			})
		}
	}
}

func TestDamagedMeta(t *testing.T) {
	for _, damage := range damages {
		t.Run(damage.name, func(t *testing.T) {
			s := newShop(t)
			s.replace(t, "example/meta", damage.by)
			s.refuses(t, func() error {
				_, err := strictkv.Open(s.ctx, "example", s.store)
				return err
			}, damage.is, "example/meta")
		})
	}
}

// TestFlippedBits flips each bit of a cell and of the meta object.
func TestFlippedBits(t *testing.T) {
	for _, name := range []string{"example/meta", "example/+c/=key"} {
		s := newShop(t)
		o, err := s.store.Get(s.ctx, name, "")
		require.NoError(t, err)
		for bit := range 8 * len(o.Data) {
			s.replace(t, name, func([]byte) []byte { return flip(o.Data, bit) })
			db, err := strictkv.Open(s.ctx, "example", s.store)
			if err == nil {
				_, err = db.Collection([]byte("c")).Read(s.ctx, []byte("key"))
			}
			if bit/8 == len("SKVC") {
				require.ErrorIs(t, err, strictkv.ErrFormat, "bit %d of %s", bit, name)
			} else {
				require.ErrorIs(t, err, strictkv.ErrCorrupt, "bit %d of %s", bit, name)
			}
		}
	}
}

// TestNoBucket: a bucket that is not there is no empty database, neither for Open nor
// for a handle that has been opened before.
func TestNoBucket(t *testing.T) {
	t.Run("folder", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "dir")
		db, err := strictkv.Open(t.Context(), "example", folder.New(dir))
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.WriteFile(dir, nil, 0o600))
		unusable(t, db, folder.New(dir), backend.ErrBucketNotFound)
	})
	t.Run("gcs", func(t *testing.T) {
		server := gcstest.New(t)
		client := gcstest.Client(t, server.URL())
		_, err := strictkv.Open(t.Context(), "example", gcs.New(client.Bucket("no-such-bucket")))
		require.ErrorIs(t, err, backend.ErrBucketNotFound)
		assert.NotErrorIs(t, err, strictkv.ErrNotFound)
	})
}

func TestNoCredentials(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		server := gcstest.New(t)
		bucket := server.Bucket(t)
		db, err := strictkv.Open(t.Context(), "example", gcs.New(bucket))
		require.NoError(t, err)
		server.Inject(func(*http.Request) gcstest.Fault { return gcstest.Fault{Status: status} })
		unusable(t, db, gcs.New(bucket), backend.ErrDenied)
	}
}

// unusable expects that a store can't be opened, nor used by a handle that was.
func unusable(t *testing.T, db *strictkv.DB, store backend.Backend, is error) {
	_, err := strictkv.Open(t.Context(), "example", store)
	require.ErrorIs(t, err, is, "Open")
	assert.ErrorContains(t, err, "example/meta")
	assert.NotErrorIs(t, err, strictkv.ErrNotFound)
	u, c := user{t.Context(), db}, db.Collection([]byte("c"))
	for _, op := range operations() {
		err := op.do(u, target{c, []byte("key"), []byte("value")})
		require.ErrorIs(t, err, is, op.name)
		for _, unlike := range []error{strictkv.ErrNotFound, strictkv.ErrInDoubt} {
			assert.NotErrorIs(t, err, unlike, op.name)
		}
	}
	require.NoError(t, db.Close(t.Context()))
}

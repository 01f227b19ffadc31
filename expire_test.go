package strictkv_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
)

// hourglass is a database in virtual time, on a store whose clock is an hour ahead.
type hourglass struct {
	t  *testing.T
	b  *memory.Backend
	db *strictkv.DB
	c  *strictkv.Collection
}

const ahead = time.Hour

func storeTime() time.Time { return time.Now().Add(ahead).Round(0) }

func inHourglass(t *testing.T, do func(h *hourglass), opts ...strictkv.Option) {
	synctest.Test(t, func(t *testing.T) {
		h := &hourglass{t: t, b: memory.New(memory.WithClock(storeTime))}
		h.db, h.c = openDB(t, h.b, opts...)
		do(h)
	})
}

// write writes a key with the value "v" that expires after a time.
func (h *hourglass) write(key string, after time.Duration) {
	h.t.Helper()
	until := strictkv.ExpireAt(storeTime().Add(after))
	require.NoError(h.t, h.c.Write(h.t.Context(), []byte(key), []byte("v"), until))
}

// keys are the keys that a scan finds.
func (h *hourglass) keys(tx *strictkv.Tx, r strictkv.Range) (keys string) {
	for i, err := range tx.Scan(h.c, r) {
		require.NoError(h.t, err)
		keys += string(i.Key)
	}
	return keys
}

// seen is how many of all ways to read find that a key has a value: all or none.
func (h *hourglass) seen(key string) bool {
	h.t.Helper()
	k, found := []byte(key), map[string]bool{}
	add := func(way string, err error) {
		if found[way] = err == nil; err != nil {
			require.ErrorIs(h.t, err, strictkv.ErrNotFound, way)
		}
	}
	read := func(way string, c *strictkv.Collection) {
		_, err := c.Read(h.t.Context(), k)
		add("read"+way, err)
		_, err = c.ReadWeak(h.t.Context(), k, time.Hour)
		add("weak"+way, err)
		_, err = c.ReadItem(h.t.Context(), k)
		add("item"+way, err)
	}
	_, fresh := openDB(h.t, h.b)
	read("", h.c)
	read(", new handle", fresh)
	for _, o := range [][]strictkv.ViewOption{nil, {strictkv.MaxStaleness(time.Hour)}} {
		require.NoError(h.t, h.db.View(h.t.Context(), func(tx *strictkv.Tx) error {
			_, err := tx.Read(h.c, k)
			add(fmt.Sprint("tx", o), err)
			add(fmt.Sprint("multi", o), tx.ReadMulti(h.c.Key(k))[0].Err)
			v, err := tx.ReadVersion(h.c, k)
			require.NoError(h.t, err)
			found[fmt.Sprint("version", o)] = !v.IsZero()
			for _, r := range []strictkv.Range{{}, {KeysOnly: true}, {Reverse: true}} {
				r.From, r.To = k, append(k, 0)
				found[fmt.Sprint("scan", o, r)] = h.keys(tx, r) == key
			}
			return nil
		}, o...))
	}
	for _, r := range []strictkv.Range{{}, {KeysOnly: true}} {
		r.From, r.To = k, append(k, 0)
		n := 0
		for _, err := range h.c.Items(h.t.Context(), r) {
			require.NoError(h.t, err)
			n++
		}
		found[fmt.Sprint("items", r)] = n == 1
	}
	for way, is := range found {
		require.Equal(h.t, found["read"], is, way)
	}
	return found["read"]
}

func TestDueMeansAbsent(t *testing.T) {
	inHourglass(t, func(h *hourglass) {
		t := h.t
		ctx := t.Context()
		h.write("a", time.Minute)
		h.write("b", -time.Minute)
		require.NoError(t, h.c.Write(ctx, []byte("c"), []byte("stays")))
		assert.True(t, h.seen("a"))
		assert.False(t, h.seen("b"))
		time.Sleep(time.Minute - 1)
		assert.True(t, h.seen("a"))
		time.Sleep(1)
		assert.False(t, h.seen("a"), "the store's clock decides, not this process's")
		assert.True(t, h.seen("c"))
		require.NoError(t, h.c.Insert(ctx, []byte("a"), []byte("again")))
		assert.True(t, h.seen("a"))
		require.ErrorIs(t, h.c.Insert(ctx, []byte("a"), nil), strictkv.ErrExists)
		time.Sleep(time.Hour)
		assert.True(t, h.seen("a"), "what is written without an end has none")
	})
}

func TestInsertOverWhatIsDue(t *testing.T) {
	for _, warm := range []bool{false, true} {
		inHourglass(t, func(h *hourglass) {
			t := h.t
			h.write("a", time.Minute)
			db, c := h.db, h.c
			insert := func() error { return c.Insert(t.Context(), []byte("a"), []byte("mine")) }
			if !warm {
				db, c = openDB(t, h.b)
			}
			require.ErrorIs(t, insert(), strictkv.ErrExists)
			if !warm {
				db, c = openDB(t, h.b)
			}
			time.Sleep(time.Minute)
			require.NoError(t, insert(), "cached: %v", warm)
			require.ErrorIs(t, insert(), strictkv.ErrExists)
			_ = db
		})
	}
}

// Others have renewed a value since this handle has seen it: that it is due by what is cached
// proves nothing.
func TestRenewedBeforeItWasDue(t *testing.T) {
	for name, read := range map[string]func(h *hourglass) error{
		"read": func(h *hourglass) error { _, err := h.c.Read(ctx, []byte("a")); return err },
		"weak": func(h *hourglass) error {
			_, err := h.c.ReadWeak(ctx, []byte("a"), time.Hour)
			return err
		},
		"view": func(h *hourglass) error { return h.view() },
		"old view": func(h *hourglass) error {
			return h.view(strictkv.MaxStaleness(time.Hour))
		},
		"tx": func(h *hourglass) error {
			return h.db.Tx(ctx, func(tx *strictkv.Tx) error {
				_, err := tx.Read(h.c, []byte("a"))
				return errors.Join(err, tx.Write(h.c, []byte("b"), nil))
			})
		},
		"insert": func(h *hourglass) error {
			if err := h.c.Insert(ctx, []byte("a"), nil); !errors.Is(err, strictkv.ErrExists) {
				return strictkv.ErrNotFound
			}
			return nil
		},
	} {
		inHourglass(t, func(h *hourglass) {
			t := h.t
			h.write("a", time.Minute)
			require.NoError(t, h.view())
			other := *h
			other.db, other.c = openDB(t, h.b)
			time.Sleep(30 * time.Second)
			other.write("a", time.Hour)
			time.Sleep(time.Minute)
			require.NoError(t, read(h), name)
		})
	}
}

func (h *hourglass) view(opts ...strictkv.ViewOption) error {
	return h.db.View(ctx, func(tx *strictkv.Tx) error {
		_, err := tx.Read(h.c, []byte("a"))
		return err
	}, opts...)
}

// What a transaction has seen must not be due at its commit, by whatever protocol that is.
func TestDueBeforeTheCommit(t *testing.T) {
	type step = func(h *hourglass, tx *strictkv.Tx) error
	write := func(keys ...string) step {
		return func(h *hourglass, tx *strictkv.Tx) (err error) {
			for _, k := range keys {
				err = errors.Join(err, tx.Write(h.c, []byte(k), nil))
			}
			return err
		}
	}
	for name, then := range map[string]step{
		"reads only": func(*hourglass, *strictkv.Tx) error { return nil },
		"direct":     write("a"), "parallel": write("a", "b"), "validated": write("b"),
		"locked": func(h *hourglass, tx *strictkv.Tx) error { return tx.Lock(h.c, []byte("a")) },
		"failed": func(*hourglass, *strictkv.Tx) error { return errors.New("the function's") },
		"scanned": func(h *hourglass, tx *strictkv.Tx) error {
			h.keys(tx, strictkv.Range{})
			return tx.Write(h.c, []byte("z"), nil)
		},
	} {
		inHourglass(t, func(h *hourglass) {
			t := h.t
			h.write("a", time.Minute)
			var runs []bool
			_ = h.db.Tx(t.Context(), func(tx *strictkv.Tx) error {
				_, err := tx.Read(h.c, []byte("a"))
				runs = append(runs, err == nil)
				terr := then(h, tx)
				time.Sleep(time.Minute)
				_, again := tx.ReadVersion(h.c, []byte("a"))
				require.NoError(t, again)
				return terr
			})
			assert.Equal(t, []bool{true, false}, runs, name)
		})
	}
}

// A commit write that is on its way when a value becomes due must not take effect after others
// have found the key absent.
func TestDueWhileTheCommitIsOnItsWay(t *testing.T) {
	for _, keys := range [][]string{{"a"}, {"a", "b"}} {
		synctest.Test(t, func(t *testing.T) {
			h := &hourglass{t: t, b: memory.New(memory.WithClock(storeTime))}
			wait := func(_ context.Context, op faulty.Op) error {
				if op.Kind == faulty.Put {
					time.Sleep(time.Second)
				}
				return nil
			}
			slow := faulty.New(h.b, faulty.Options{Before: wait})
			h.db, h.c = openDB(t, slow)
			for i, k := range keys {
				h.write(k, time.Duration(10-i)*time.Second)
			}
			other := *h
			other.db, other.c = openDB(t, h.b)
			var runs []bool
			left := 10*time.Second - time.Duration(len(keys))*time.Second - 500*time.Millisecond
			time.Sleep(left) // all is due in half a second
			require.NoError(t, h.db.Tx(t.Context(), func(tx *strictkv.Tx) error {
				runs = append(runs, false)
				for _, k := range keys {
					_, err := tx.Read(h.c, []byte(k))
					runs[len(runs)-1] = err == nil
					if err := tx.Write(h.c, []byte(k), []byte("renewed")); err != nil {
						return err
					}
				}
				return nil
			}))
			assert.Equal(t, []bool{true, false}, runs, keys)
		})
	}
}

func TestExpiresIsTold(t *testing.T) {
	inHourglass(t, func(h *hourglass) {
		t := h.t
		ctx, a := t.Context(), []byte("a")
		end := storeTime().Add(time.Minute)
		h.write("a", time.Minute)
		h.write("b", time.Minute)
		i, err := h.c.ReadItem(ctx, a)
		require.NoError(t, err)
		assert.True(t, end.Equal(i.Expires), i.Expires)
		for i, err := range h.c.Items(ctx, strictkv.Range{}) {
			require.NoError(t, err)
			assert.True(t, end.Equal(i.Expires))
		}
		require.NoError(t, h.db.Tx(ctx, func(tx *strictkv.Tx) error {
			for i, err := range tx.Scan(h.c, strictkv.Range{}) {
				require.NoError(t, err)
				assert.True(t, end.Equal(i.Expires))
			}
			later := end.Add(time.Minute)
			require.NoError(t, tx.Write(h.c, a, nil, strictkv.ExpireAt(later)))
			i, err := tx.ReadItem(h.c, a)
			assert.True(t, later.Equal(i.Expires), "its own")
			return err
		}))
		require.NoError(t, h.c.Update(ctx, []byte("b"), func(old []byte) ([]byte, error) {
			return append(old, 'x'), nil
		}))
		i, err = h.c.ReadItem(ctx, []byte("b"))
		require.NoError(t, err)
		assert.True(t, end.Equal(i.Expires), "an update leaves it as it is")
		require.NoError(t, h.c.Write(ctx, a, nil, strictkv.ExpireAt(i.Expires),
			strictkv.ExpireAt(time.Time{})))
		i, err = h.c.ReadItem(ctx, a)
		require.NoError(t, err)
		assert.True(t, i.Expires.IsZero(), "the last option counts")
	})
}

func TestSweepDeletesWhatIsDue(t *testing.T) {
	const day = 24 * time.Hour
	inHourglass(t, func(h *hourglass) {
		t := h.t
		ctx := t.Context()
		h.write("a", time.Minute)
		h.write("b", 30*day)
		objects := h.b.Len()
		sweep := func(o strictkv.SweepOptions) strictkv.SweepReport {
			r, err := h.db.Sweep(ctx, o)
			require.NoError(t, err)
			return r
		}
		assert.Zero(t, sweep(strictkv.SweepOptions{}).Expired)
		time.Sleep(ahead + 2*time.Minute) // a dry run goes by this process's clock
		dry := sweep(strictkv.SweepOptions{DryRun: true})
		r := sweep(strictkv.SweepOptions{})
		assert.Equal(t, int64(1), r.Expired)
		assert.Equal(t, r.Expired, dry.Expired)
		assert.Zero(t, r.Settled+r.Changed+dry.Settled+dry.Changed)
		synctest.Wait()
		assert.Equal(t, objects-1, h.b.Len(), "its external value has gone with it")
		for range 2 {
			time.Sleep(day + time.Minute)
			sweep(strictkv.SweepOptions{})
		}
		assert.Equal(t, objects-2, h.b.Len(), "and so has its tombstone")
		assert.True(t, h.seen("b"))
		time.Sleep(30 * day)
		assert.Equal(t, int64(1), sweep(strictkv.SweepOptions{Horizon: -1}).Expired)
		assert.Equal(t, objects-4, h.b.Len())
	}, strictkv.WithInlineMax(0))
}

// Who still counts on a value that a sweep has deleted is refused, be its clock as slow as it may.
func TestSweptWhileItIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hourglass{t: t, b: memory.New(memory.WithClock(storeTime))}
		silent := faulty.New(h.b, faulty.Options{After: func(
			_ context.Context, _ faulty.Op, a *faulty.Answer,
		) {
			a.Object.Time, a.Stamp.Time = time.Time{}, time.Time{}
		}})
		h.db, h.c = openDB(t, h.b)
		slow, c := openDB(t, silent) // goes by this process's clock, an hour behind
		h.write("a", time.Minute)
		time.Sleep(3 * time.Minute)
		var seen []bool
		require.NoError(t, slow.Tx(t.Context(), func(tx *strictkv.Tx) error {
			_, err := tx.Read(c, []byte("a"))
			if seen = append(seen, err == nil); len(seen) == 1 {
				_, err := h.db.Sweep(t.Context(), strictkv.SweepOptions{})
				require.NoError(t, err)
			}
			return tx.Write(c, []byte("b"), nil)
		}))
		assert.Equal(t, []bool{true, false}, seen)
	})
}

func TestCollectionsOfWhatIsDue(t *testing.T) {
	inHourglass(t, func(h *hourglass) {
		t := h.t
		h.write("a", time.Minute)
		names := func() (all []string) {
			for name, err := range h.db.Collections(t.Context()) {
				require.NoError(t, err)
				all = append(all, string(name))
			}
			return all
		}
		assert.Equal(t, []string{"c"}, names())
		time.Sleep(time.Minute)
		assert.Empty(t, names())
		n, err := h.c.Drop(t.Context())
		require.NoError(t, err)
		assert.Zero(t, n, "it has no value any more")
		assert.Empty(t, names())
	})
}

func TestExpireAtRefusesBadTimes(t *testing.T) {
	db, c := openDB(t, memory.New())
	for _, at := range []time.Time{
		time.Unix(0, 0), time.Unix(-1, 0), time.Unix(math.MaxInt64/1_000_000_000+1, 0),
	} {
		err := c.Write(t.Context(), []byte("a"), nil, strictkv.ExpireAt(at))
		require.ErrorIs(t, err, strictkv.ErrInvalid, at)
		require.ErrorContains(t, err, "1970 to 2262")
		err = db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			_ = tx.Insert(c, []byte("a"), nil, strictkv.ExpireAt(at)) // it sticks
			return nil
		})
		require.ErrorIs(t, err, strictkv.ErrInvalid, at)
	}
	require.ErrorIs(t, c.Insert(t.Context(), []byte("a"), nil, nil), strictkv.ErrInvalid)
	last := time.Unix(0, math.MaxInt64)
	require.NoError(t, c.Write(t.Context(), []byte("a"), nil, strictkv.ExpireAt(last)))
	i, err := c.ReadItem(t.Context(), []byte("a"))
	require.NoError(t, err)
	assert.True(t, last.Equal(i.Expires))
}

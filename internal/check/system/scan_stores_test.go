package system_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl/bucketurltest"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/raced"
)

// TestScanOnEveryStore scans hostile keys between hostile bounds, on the stand-in of each
// cloud: the bounds go to the store.
func TestScanOnEveryStore(t *testing.T) {
	check := func(t *testing.T, b backend.Backend, longest int) {
		db, err := strictkv.Open(t.Context(), "scans", b)
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close(t.Context())) }()
		c, keys, model := db.Collection([]byte("c/%")), hostileKeys(), sortedMap{}
		keys = slices.DeleteFunc(keys, func(k []byte) bool { return len(k) > longest })
		require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			for i, k := range keys {
				model[string(k)] = fmt.Sprint(i)
				if err := tx.Write(c, k, fmt.Append(nil, i)); err != nil {
					return err
				}
			}
			return nil
		}))
		require.NoError(t, db.Close(t.Context())) // nothing is being resolved any more
		db, err = strictkv.Open(t.Context(), "scans", b)
		require.NoError(t, err)
		c = db.Collection([]byte("c/%"))
		warm := func() {
			require.NoError(t, db.View(t.Context(), func(tx *strictkv.Tx) error {
				items, err := scanAll(tx, c, strictkv.Range{})
				assert.Equal(t, model.scan(strictkv.Range{}), items)
				return err
			}))
		}
		warm()
		before := db.Stats()
		warm()
		assert.Zero(t, db.Stats().Sub(before).Gets, "listings and reads tell the same versions")
		for i, from := range keys {
			for _, r := range []strictkv.Range{
				{From: from, Limit: 2}, {To: from, Reverse: true, KeysOnly: true},
				{From: from, To: keys[(i+7)%len(keys)]}, strictkv.Prefix(from[:len(from)/2+1]),
			} {
				require.NoError(t, db.View(t.Context(), func(tx *strictkv.Tx) error {
					items, err := scanAll(tx, c, r)
					assert.Equal(t, model.scan(r), items, "%+v", r)
					return err
				}))
			}
		}
	}
	t.Run("folder", func(t *testing.T) { check(t, folder.New(t.TempDir()), 512) })
	for _, s := range bucketurltest.Stores {
		longest := 512
		if s.Name == "versitygw" { // its objects are files, whose names have 255 bytes at most
			longest = 64
		}
		t.Run(s.Name, func(t *testing.T) { check(t, openBucket(t, s.Bucket(t)), longest) })
	}
}

func TestScanRefuses(t *testing.T) {
	bucket := memory.New()
	open := func() *strictkv.DB {
		db, err := strictkv.Open(ctx, "example", bucket)
		require.NoError(t, err)
		return db
	}
	db, long := open(), bytes.Repeat([]byte{1}, 514)
	c := db.Collection([]byte("c"))
	for _, x := range []struct {
		name string
		c    *strictkv.Collection
		r    strictkv.Range
		want error
	}{
		{"a long bound", c, strictkv.Range{From: long}, strictkv.ErrInvalidKey},
		{"a long end", c, strictkv.Range{To: long}, strictkv.ErrInvalidKey},
		{"a negative limit", c, strictkv.Range{Limit: -1}, strictkv.ErrInvalid},
		{"no collection", nil, strictkv.Range{}, strictkv.ErrInvalid},
		{"a bad name", db.Collection(nil), strictkv.Range{}, strictkv.ErrInvalidKey},
		{"another handle's", open().Collection([]byte("c")), strictkv.Range{}, strictkv.ErrInvalid},
	} {
		err := db.Tx(ctx, func(tx *strictkv.Tx) error {
			n := 0
			for i, err := range tx.Scan(x.c, x.r) {
				assert.Zero(t, i, x.name)
				require.ErrorIs(t, err, x.want, x.name)
				n++
			}
			assert.Equal(t, 1, n, "errors, %s", x.name)
			return nil
		})
		assert.ErrorIs(t, err, x.want, "%s: it sticks", x.name)
	}
	var late iter.Seq2[strictkv.Item, error]
	require.NoError(t, db.View(ctx, func(tx *strictkv.Tx) error {
		late = tx.Scan(c, strictkv.Range{})
		return nil
	}))
	for _, err := range late {
		assert.ErrorIs(t, err, strictkv.ErrTxDone)
	}
}

// broken is a store that fails for good where it is told to.
type broken struct {
	backend.Backend
	get, list error
}

func (b *broken) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	if b.get != nil {
		return backend.Object{}, b.get
	}
	return b.Backend.Get(ctx, name, known)
}

func (b *broken) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	if b.list != nil {
		return backend.Page{}, b.list
	}
	return b.Backend.List(ctx, o)
}

// An error ends the loop, and the transaction, even if the function ignores it.
func TestScanFails(t *testing.T) {
	for _, get := range []bool{false, true} {
		bucket := memory.New()
		setup, err := strictkv.Open(ctx, "example", bucket)
		require.NoError(t, err)
		require.NoError(t, setup.Collection([]byte("c")).Write(ctx, []byte("k"), nil))
		b := &broken{Backend: bucket}
		db, err := strictkv.Open(ctx, "example", b)
		require.NoError(t, err)
		if b.list = backend.ErrDenied; get {
			b.get, b.list = backend.ErrDenied, nil
		}
		err = db.View(ctx, func(tx *strictkv.Tx) error {
			n := 0
			for _, err := range tx.Scan(db.Collection([]byte("c")), strictkv.Range{}) {
				n++
				require.ErrorIs(t, err, backend.ErrDenied)
			}
			assert.Equal(t, 1, n)
			return nil
		})
		assert.ErrorIs(t, err, backend.ErrDenied)
		b.get, b.list = nil, nil
		require.NoError(t, db.Close(ctx))
	}
}

// A loop that is left sends nothing any more, however it is left.
func TestScanLeavesNothingBehind(t *testing.T) {
	for name, leave := range map[string]func(tx *strictkv.Tx, c *strictkv.Collection){
		"break": func(tx *strictkv.Tx, c *strictkv.Collection) {
			for _, err := range tx.Scan(c, strictkv.Range{}) {
				assert.NoError(t, err)
				break
			}
		},
		"panic": func(tx *strictkv.Tx, c *strictkv.Collection) {
			for _, err := range tx.Scan(c, strictkv.Range{}) {
				assert.NoError(t, err)
				panic("left")
			}
		},
		"pulled, and never stopped": func(tx *strictkv.Tx, c *strictkv.Collection) {
			next, stop := iter.Pull2(tx.Scan(c, strictkv.Range{From: keyAt(1)}))
			_, _, _ = next()
			*tx.Context().Value(stopKey{}).(*func()) = stop
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scene{t: t, bucket: memory.New()}
				stored(900)(s)
				c, stop := s.dial(), func() {}
				under := &underWay{Backend: c.sim}
				db, err := strictkv.Open(c.ctx, "example", under)
				require.NoError(t, err)
				coll := db.Collection([]byte("collection"))
				ctx := context.WithValue(c.ctx, stopKey{}, &stop)
				func() {
					defer func() { _ = recover() }()
					_ = db.View(ctx, func(tx *strictkv.Tx) error {
						leave(tx, coll)
						return tx.Abort()
					})
				}()
				assert.Zero(t, under.calls.Load(), "requests under way")
				sent := c.sim.Counts()
				time.Sleep(time.Minute)
				assert.Equal(t, sent, c.sim.Counts())
				stop()
			})
		})
	}
}

type stopKey struct{}

// underWay counts the calls that have not returned.
type underWay struct {
	backend.Backend
	calls atomic.Int64
}

func (b *underWay) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	b.calls.Add(1)
	defer b.calls.Add(-1)
	return b.Backend.Get(ctx, name, known)
}

func (b *underWay) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	b.calls.Add(1)
	defer b.calls.Add(-1)
	return b.Backend.List(ctx, o)
}

// bottomless is a store with more keys than one transaction may scan.
type bottomless struct{ backend.Backend }

func (b bottomless) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	const cells = "example/+c/="
	if !strings.HasPrefix(o.Prefix, cells) {
		return b.Backend.List(ctx, o)
	}
	n := 0
	_, _ = fmt.Sscanf(o.After, cells+"%d", &n)
	page := backend.Page{More: true, Objects: make([]backend.Info, 1000)}
	for i := range page.Objects {
		page.Objects[i] = backend.Info{
			Name: fmt.Sprintf(cells+"%09d", n+1+i), Version: "1", Size: 64,
		}
	}
	return page, nil
}

func TestScanTooManyKeys(t *testing.T) {
	if raced.Enabled() {
		t.Skip("one goroutine does it all, and has no race: run it without -race")
	}
	db, err := strictkv.Open(ctx, "example", bottomless{memory.New()})
	require.NoError(t, err)
	n := 0
	err = db.View(ctx, func(tx *strictkv.Tx) error {
		all := strictkv.Range{KeysOnly: true}
		for _, err := range tx.Scan(db.Collection([]byte("c")), all) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	var e *strictkv.SizeError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, 1<<20, e.Limit)
	assert.Equal(t, 1<<20, n)
	require.NoError(t, db.Close(ctx))
}

// What the transaction keeps of the values that it has seen is bounded: then a second run
// reads again.
func TestScanKeepsFewValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, bucket: memory.New()}
		big := s.client()
		for i := range 12 {
			require.NoError(t, big.coll.Write(big.ctx, keyAt(i), make([]byte, 1<<20-100)))
		}
		c := s.dial()
		var err error
		c.db, err = strictkv.Open(c.ctx, "example", c.sim, strictkv.WithCacheSize(0))
		require.NoError(t, err)
		c.coll = c.db.Collection([]byte("collection"))
		runs, before := 0, simulatedGets(c)
		require.NoError(t, c.db.View(c.ctx, func(tx *strictkv.Tx) error {
			items, err := scanAll(tx, c.coll, strictkv.Range{})
			require.Len(t, items, 12)
			if runs++; runs == 1 {
				require.NoError(t, big.coll.Write(c.ctx, keyAt(0), nil))
			}
			return err
		}))
		assert.Equal(t, 2, runs)
		assert.Equal(t, 12+1+4, simulatedGets(c)-before, "8 MiB are kept")
	})
}

func simulatedGets(c *client) int { return c.sim.Counts().Gets }

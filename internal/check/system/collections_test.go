package system_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
)

// oddNames are names, and parts of names, that stores and encodings trip over.
var oddNames = []string{
	"\x00", "\xff", "/", "//", "%", "..", ".", "a", "a-", "a/", "a.", "a..", "a!", "a b", "a/b",
	"=", "+", "*", "+a", "\u00e9", "clock.", "meta", "Z", "z", strings.Repeat("\x00", 300),
	strings.Repeat("x", 300),
}

// tree is what a database must hold: the number of keys with a value, by the collection's
// names, each of which is preceded by a slash and quoted.
type tree struct {
	t    *testing.T
	db   *strictkv.DB
	keys map[string]map[string]bool
}

func newTree(t *testing.T, db *strictkv.DB) *tree {
	return &tree{t: t, db: db, keys: map[string]map[string]bool{}}
}

func pathOf(names []string) (path string) {
	for _, name := range names {
		path += fmt.Sprintf("/%q", name)
	}
	return path
}

func (x *tree) collection(names []string) *strictkv.Collection {
	c := x.db.Collection([]byte(names[0]))
	for _, name := range names[1:] {
		c = c.Collection([]byte(name))
	}
	return c
}

// set writes a key, with a small value or a large one, or deletes it.
func (x *tree) set(names []string, key string, what int) {
	c, path := x.collection(names), pathOf(names)
	err := error(nil)
	if x.keys[path] == nil {
		x.keys[path] = map[string]bool{}
	}
	if what == 0 {
		err = c.Delete(x.t.Context(), []byte(key))
		delete(x.keys[path], key)
	} else {
		err = c.Write(x.t.Context(), []byte(key), make([]byte, what*small))
		x.keys[path][key] = true
	}
	if errors.Is(err, strictkv.ErrInvalidKey) { // all names together are too long
		delete(x.keys[path], key)
		err = nil
	}
	require.NoError(x.t, err)
}

// count is the number of keys in a collection and in those nested in it.
func (x *tree) count(names []string) (n int) {
	path := pathOf(names)
	for p, keys := range x.keys {
		if p == path || strings.HasPrefix(p, path+"/") {
			n += len(keys)
		}
	}
	return n
}

// compare lists the collections below names, and those nested in them.
func (x *tree) compare(names []string) {
	listing := x.db.Collections(x.t.Context())
	if names != nil {
		listing = x.collection(names).Collections(x.t.Context())
	}
	got := []string{}
	for name, err := range listing {
		require.NoError(x.t, err)
		got = append(got, string(name))
	}
	want := []string{}
	for _, name := range oddNames {
		if x.count(append(slices.Clone(names), name)) > 0 {
			want = append(want, name)
		}
	}
	require.ElementsMatch(x.t, want, got, "below %q", names)
	for i := range got {
		for _, later := range got[i+1:] {
			require.True(x.t, got[i] < later || strings.HasPrefix(got[i], later),
				"%q is yielded before %q", got[i], later)
		}
	}
	for _, name := range got {
		if len(names) < 2 {
			x.compare(append(slices.Clone(names), name))
		}
	}
}

// TestCollections compares the listings of random trees of collections, of which some are
// empty again, with what must be there.
func TestCollections(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		db, err := strictkv.Open(t.Context(), "db", memory.New(), strictkv.WithInlineMax(small))
		require.NoError(t, err)
		tree := newTree(t, db)
		for range 60 {
			path := make([]string, 1+random.IntN(3))
			for i := range path {
				path[i] = oddNames[random.IntN(len(oddNames))]
			}
			tree.set(path, oddNames[random.IntN(len(oddNames))], random.IntN(3))
		}
		tree.compare(nil)
		require.NoError(t, db.Close(t.Context()))
	}
}

// TestCollectionsCost: one listing finds the names, and one for each tells whether it is
// empty, many at once; what is yielded last has been asked for last.
func TestCollectionsCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, bucket: memory.New()}
		c := s.client()
		for i := range 1100 {
			require.NoError(t, c.db.Collection(keyAt(i)).Write(t.Context(), []byte("k"), nil))
		}
		require.NoError(t, c.db.Collection(keyAt(7)).Delete(t.Context(), []byte("k")))
		before, begun := c.sim.Counts(), time.Now()
		n := 0
		for _, err := range c.db.Collections(t.Context()) {
			require.NoError(t, err)
			n++
		}
		assert.Equal(t, 1099, n)
		assert.Equal(t, simulated.Counts{Lists: 2 + 1100 + 1}, c.sim.Counts().Sub(before),
			"of the empty one, collections nested in it are looked for")
		assert.LessOrEqual(t, time.Since(begun), 14*latency)

		before, begun = c.sim.Counts(), time.Now()
		for _, err := range c.db.Collections(t.Context()) {
			require.NoError(t, err)
			break
		}
		assert.Equal(t, 2*latency, time.Since(begun), "the first name takes two round trips")
		assert.LessOrEqual(t, c.sim.Counts().Sub(before).Lists, 5, "who leaves asks no more")
		require.NoError(t, c.db.Close(t.Context()))
	})
}

// TestCollectionsWithIntents: what a process that died has left is settled if nothing else
// tells whether a collection is empty.
func TestCollectionsWithIntents(t *testing.T) {
	for _, x := range []struct {
		name  string
		keys  int
		leave func(n int) func(c *client) error
		want  int
	}{{"written", 20, update, 1}, {"deleted", 20, remove, 0}, {"all deleted", 300, remove, 0}} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scene{t: t, bucket: memory.New()}
				c, dying := stored(x.keys)(s), s.client()
				require.NoError(t, x.leave(x.keys)(dying))
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				require.ErrorIs(t, dying.db.Close(ctx), context.Canceled)
				require.Equal(t, x.keys, s.intents())
				n := 0
				for name, err := range c.db.Collections(t.Context()) {
					require.NoError(t, err)
					assert.Equal(t, "collection", string(name))
					n++
				}
				assert.Equal(t, x.want, n)
				require.NoError(t, c.db.Close(t.Context()))
			})
		})
	}
}

// TestCollectionsFullOfTombstones: the listing that looks for a value goes on to it, by
// pages that begin small.
func TestCollectionsFullOfTombstones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, bucket: memory.New()}
		c := s.client()
		for i := range 1500 {
			require.NoError(t, c.coll.Insert(t.Context(), walkKey(i), nil))
		}
		_, err := c.coll.Drop(t.Context())
		require.NoError(t, err)
		require.NoError(t, c.coll.Insert(t.Context(), walkKey(1500), nil))
		before, n := c.sim.Counts(), 0
		for _, err := range c.db.Collections(t.Context()) {
			require.NoError(t, err)
			n++
		}
		assert.Equal(t, 1, n)
		// Of 16, 64, 256 and 1000 names, and of the rest.
		assert.Equal(t, simulated.Counts{Lists: 1 + 5}, c.sim.Counts().Sub(before))
		require.NoError(t, c.db.Close(t.Context()))
	})
}

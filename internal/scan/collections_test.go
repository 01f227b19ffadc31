package scan_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/scan"
)

// in makes the world's keys those of a collection.
func (w *world) in(names ...string) {
	w.path = ""
	for _, name := range names {
		var err error
		w.path, err = w.path.Collection([]byte(name))
		require.NoError(w.T, err)
	}
}

// collections are the names that a listing yields, up to so many, if not 0.
func (w *world) collections(ctx context.Context, most int) (names []string, err error) {
	for name, err := range scan.Collections(ctx, w.st, w.rs, keyspace.Path("")) {
		if err != nil {
			return names, err
		}
		if names = append(names, string(name)); len(names) == most {
			break
		}
	}
	return names, nil
}

// expireMany makes so many keys that are due.
func (w *world) expireMany(n int) {
	for i := range n {
		w.expire(fmt.Sprintf("k%03d", i))
	}
}

// TestCollectionsThatAreNotEmpty: a collection is told if a key in it, or below it, has a value.
func TestCollectionsThatAreNotEmpty(t *testing.T) {
	damage := func(w *world, key string) { w.PutData(w.name(key), []byte("no cell at all")) }
	for name, x := range map[string]struct {
		make func(w *world)
		told bool
	}{
		"value":     {func(w *world) { w.write("k", "v") }, true},
		"tombstone": {func(w *world) { w.write("k", "v"); w.remove("k") }, false},
		"condemned": {func(w *world) { w.write("k", "v"); w.remove("k"); w.condemn("k") }, false},
		"due":       {func(w *world) { w.expire("k") }, false},
		"tombstones, and a value": {func(w *world) {
			w.write("j", "v")
			w.remove("j")
			w.expire("k")
			w.write("l", "v")
		}, true},
		"undecided": {func(w *world) { w.intend("k", "v") }, false},
		"committed": {func(w *world) { w.intend("k", "v"); w.join("k") }, true},
		"behind many that are due": {func(w *world) {
			w.expireMany(20)
			w.intend("l", "v")
			w.join("l")
		}, true},
		"many that are due": {func(w *world) { w.expireMany(300) }, false},
		"many that are due, and one behind": {func(w *world) {
			w.expireMany(300)
			w.intend("l", "v")
			w.join("l")
		}, true},
		"before many that are due": {func(w *world) {
			w.intend("j", "v")
			w.join("j")
			w.expireMany(300)
		}, true},
		"damaged": {func(w *world) { damage(w, "k") }, true},
		"below":   {func(w *world) { w.in("b", "c"); w.write("k", "v") }, true},
		"below, beside what is gone": {func(w *world) {
			w.expire("k")
			w.in("b", "c")
			w.write("k", "v")
		}, true},
		"gone below": {func(w *world) { w.in("b", "c"); w.expire("k") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.in("a")
				w.write("k", "v")
				w.in("z")
				w.write("k", "v")
				w.in("b")
				x.make(w)
				names, err := w.collections(w.ctx, 0)
				require.NoError(t, err)
				want := []string{"a", "z"}
				if x.told {
					want = []string{"a", "b", "z"}
				}
				assert.Equal(t, want, names)
			})
		})
	}
}

// TestCollectionsAhead: as many are asked at once as the consumer has come to want; who leaves
// early pays for few, and an error ends the loop.
func TestCollectionsAhead(t *testing.T) {
	inWorld(t, func(w *world) {
		var all []string
		for i := range 30 {
			all = append(all, fmt.Sprintf("c%02d", i))
			w.in(all[i])
			w.write("k", "v")
		}
		for _, x := range []struct{ leave, lists int }{{1, 5}, {4, 5}, {5, 13}, {12, 13}, {0, 31}} {
			w.net.reset()
			names, err := w.collections(w.ctx, x.leave)
			require.NoError(t, err)
			want := all
			if x.leave > 0 {
				want = all[:x.leave]
			}
			assert.Equal(t, want, names)
			lists, gets := w.net.reset()
			assert.Equal(t, []int{x.lists, 0}, []int{lists, gets}, "leaves after %d", x.leave)
		}
		ended, cancel := context.WithCancel(w.ctx)
		cancel()
		names, err := w.collections(ended, 0)
		assert.Empty(t, names)
		assert.ErrorIs(t, err, context.Canceled)
	})
}

// TestCollectionsThatCannotBeRead: the error of a folder, of a listing or of a cell is told, once,
// and ends the loop; one that stands behind what answers already does not matter.
func TestCollectionsThatCannotBeRead(t *testing.T) {
	for name, x := range map[string]struct {
		make func(w *world)
		fail func(w *world) string
		told []string
	}{
		"folders": {func(*world) {}, func(*world) string { return "db/+" }, nil},
		"listing": {func(w *world) { w.write("k", "v") },
			func(w *world) string { return "db/" + w.path.Cells() }, nil},
		"cell": {func(w *world) { w.expire("k") },
			func(w *world) string { return "db/" + w.name("k") }, nil},
		"cell behind a value": {func(w *world) { w.expire("k"); w.write("j", "v") },
			func(w *world) string { return "db/" + w.name("k") },
			[]string{"a", "b", "c", "d", "e", "f", "g"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				for _, c := range []string{"a", "c", "d", "e", "f", "g"} {
					w.in(c)
					w.write("k", "v")
				}
				w.in("b")
				x.make(w)
				w.net.failing = x.fail(w)
				names, err := w.collections(w.ctx, 0)
				assert.Equal(t, x.told, names)
				if x.told == nil {
					assert.ErrorIs(t, err, backend.ErrDenied)
				} else {
					assert.NoError(t, err)
				}
			})
		})
	}
}

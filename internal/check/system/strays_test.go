package system_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
)

// strays are objects among the cells and collections of "c" that are none of the library's:
// a console's copy, what a tool has left, names of control characters and of bytes that are
// no text, and the longest that there is.
var strays = []string{
	"db/+c/= b", "db/+c/=b (1)", "db/+c/=b/c", "db/+c/=b\n", "db/+c/=b\x00", "db/+c/=",
	"db/+c/=~zz",
	"db/+c/=\xff\xfe", "db/+c/=c!", "db/+c/= ", "db/+c/thumbs.db", "db/+c/+!!/=k", "db/+!!/=k",
	"db/+c/=d" + string(make([]byte, 1024-len("db/+c/=d"))),
}

// strayed is a database with keys a to e, among strays, in a collection c.
func strayed(t *testing.T, opts ...strictkv.Option) (*memory.Backend, *strictkv.DB) {
	t.Helper()
	mem := memory.New()
	db, err := strictkv.Open(t.Context(), "db", mem, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	c := db.Collection([]byte("c"))
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		require.NoError(t, c.Write(t.Context(), []byte(key), []byte("value of "+key)))
	}
	for _, name := range strays {
		create(t, mem, name, "stray")
	}
	return mem, db
}

func create(t *testing.T, b backend.Backend, name, data string) {
	t.Helper()
	_, err := b.Put(t.Context(), name, []byte(data), backend.IfAbsent())
	require.NoError(t, err, "create %q", name)
}

// walking are the keys of a range, each followed by a space, as one of the calls sees them.
type walking func(t *testing.T, db *strictkv.DB, r strictkv.Range) string

// walkers go through collection c.
var walkers = map[string]walking{
	"items": func(t *testing.T, db *strictkv.DB, r strictkv.Range) (keys string) {
		for item, err := range db.Collection([]byte("c")).Items(t.Context(), r) {
			require.NoError(t, err)
			keys += string(item.Key) + " "
		}
		return keys
	},
	"view": func(t *testing.T, db *strictkv.DB, r strictkv.Range) (keys string) {
		require.NoError(t, db.View(t.Context(), func(tx *strictkv.Tx) (err error) {
			keys, err = scanned(tx, db.Collection([]byte("c")), r)
			return err
		}))
		return keys
	},
	"transaction that writes": func(
		t *testing.T, db *strictkv.DB, r strictkv.Range,
	) (keys string) {
		c := db.Collection([]byte("c"))
		require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) (err error) {
			if keys, err = scanned(tx, c, r); err != nil {
				return err
			}
			return tx.Write(db.Collection([]byte("sums")), []byte("sum"), []byte(keys))
		}))
		return keys
	},
}

func scanned(tx *strictkv.Tx, c *strictkv.Collection, r strictkv.Range) (keys string, err error) {
	for item, err := range tx.Scan(c, r) {
		if err != nil {
			return "", err
		}
		keys += string(item.Key) + " "
	}
	return keys, nil
}

// TestStraysAreSkipped: who walks a collection sees its keys, and not what is none of the
// library's; a scan is validated, too.
func TestStraysAreSkipped(t *testing.T) {
	for name, walk := range walkers {
		t.Run(name, func(t *testing.T) {
			_, db := strayed(t)
			assert.Equal(t, "a b c d e ", walk(t, db, strictkv.Range{}))
			assert.Equal(t, "e d c b a ", walk(t, db, strictkv.Range{Reverse: true}))
			assert.Equal(t, "b c ", walk(t, db, strictkv.Range{From: []byte("b"), Limit: 2}))
			assert.Equal(t, "a b ", walk(t, db, strictkv.Range{To: []byte("b\x00")}))
		})
	}
}

// TestStraysConflictWithNobody: one that appears while a scan's transaction runs is no change.
func TestStraysConflictWithNobody(t *testing.T) {
	mem, db := strayed(t)
	runs := 0
	require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		runs++
		keys, err := scanned(tx, db.Collection([]byte("c")), strictkv.Range{})
		if err != nil {
			return err
		}
		if runs == 1 {
			create(t, mem, "db/+c/=c (2)", "stray")
		}
		return tx.Write(db.Collection([]byte("sums")), []byte("sum"), []byte(keys))
	}))
	assert.Equal(t, 1, runs)
}

// TestStraysStayOutOfTheWay: they are no collections; Drop and Sweep leave them alone, and
// Check tells of each.
func TestStraysStayOutOfTheWay(t *testing.T) {
	mem, db := strayed(t)
	var names []string
	for name, err := range db.Collections(t.Context()) {
		require.NoError(t, err)
		names = append(names, string(name))
	}
	assert.Equal(t, []string{"c"}, names)
	for _, err := range db.Collection([]byte("c")).Collections(t.Context()) {
		assert.NoError(t, err, "a collection within c")
		assert.Fail(t, "there is no collection within c")
	}
	r, err := db.Check(t.Context(), strictkv.CheckOptions{})
	require.NoError(t, err)
	var found []string
	for _, p := range r.Problems {
		found = append(found, p.Object)
	}
	assert.ElementsMatch(t, strays, found)
	n, err := db.Collection([]byte("c")).Drop(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 5, n)
	swept, err := db.Sweep(t.Context(), strictkv.SweepOptions{Horizon: -1})
	require.NoError(t, err)
	assert.EqualValues(t, 5, swept.Tombstones)
	assert.EqualValues(t, len(strays), swept.Foreign)
	for _, name := range strays {
		_, err := mem.Get(t.Context(), name, "")
		require.NoError(t, err, name)
	}
}

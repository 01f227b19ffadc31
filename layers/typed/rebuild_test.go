package typed_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/typed"
)

// bare is the collection of users without indexes: what writes to it does not keep them.
func bare(db *strictkv.DB) *typed.Collection[string, user] {
	return typed.New(db.Collection([]byte("users")), typed.String[string](), typed.JSON[user]())
}

func TestRebuild(t *testing.T) {
	ctx := t.Context()
	db := open(t, memory.New())
	u, plain := usersOf(db), bare(db)
	const n = 200
	for i := range n {
		k := fmt.Sprintf("u%03d", i)
		require.NoError(t, plain.Auto().Set(ctx, k, user{
			Mail: k + "@x", Tags: []string{"all", fmt.Sprint("t", i%3)}, N: i,
		}))
	}
	r, err := u.tags.Verify(ctx)
	require.NoError(t, err)
	assert.Equal(t, typed.Report{Values: n, Missing: 2 * n}, r)
	assert.False(t, r.InStep())
	r, err = u.tags.Rebuild(ctx)
	require.NoError(t, err)
	assert.Equal(t, typed.Report{Values: n, Entries: 2 * n, Missing: 2 * n}, r)
	for _, rebuild := range []func() (typed.Report, error){
		func() (typed.Report, error) { return u.mail.Rebuild(ctx) },
		func() (typed.Report, error) { return u.n.Rebuild(ctx) },
	} {
		r, err = rebuild()
		require.NoError(t, err)
		assert.Equal(t, typed.Report{Values: n, Entries: n, Missing: n}, r)
	}
	u.inStep(t)
	inTx(t, db, func(tx *strictkv.Tx) {
		assert.Len(t, strings.Fields(keys(u.tags.Find(tx, "all", typed.Range[string]{}))), n)
	})
}

// TestRebuildOfDamage: values change behind the index's back, go, and their entries are damaged.
func TestRebuildOfDamage(t *testing.T) {
	ctx := t.Context()
	db := open(t, memory.New())
	u, plain := usersOf(db), bare(db)
	for i := range 10 {
		k := fmt.Sprintf("u%03d", i)
		v := user{Mail: k + "@x", Tags: []string{"all", fmt.Sprint("t", i%3)}, N: i}
		require.NoError(t, u.Auto().Set(ctx, k, v))
	}
	require.NoError(t, plain.Auto().Delete(ctx, "u001"))
	require.NoError(t, plain.Auto().Set(ctx, "u002", user{Mail: "new@x", N: 2}))
	in := db.Collection([]byte("users"))
	require.NoError(t, in.Collection([]byte("tags")).Write(ctx, []byte("damage"), nil))
	require.NoError(t, in.Collection([]byte("mail")).Write(ctx, []byte("\x02u004@x\x00"), nil))
	require.NoError(t, in.Collection([]byte("mail")).Write(ctx, []byte("\x02u005@x\x00"),
		make([]byte, 1000)))
	inTx(t, db, func(tx *strictkv.Tx) {
		var stale *typed.IndexError
		var got []string
		for i, err := range u.tags.Find(tx, "t1", typed.Range[string]{}) {
			if errors.As(err, &stale) {
				got = append(got, "stale")
				continue
			}
			require.NoError(t, err)
			got = append(got, i.Key)
		}
		assert.Equal(t, []string{"stale"}, got, "the first is gone")
		assert.Equal(t, "u001", string(stale.Key))
		require.ErrorIs(t, stale, typed.ErrIndex)
		_, _, _, err := u.mail.Get(tx, "u002@x")
		require.ErrorIs(t, err, typed.ErrIndex)
		for _, err := range u.tags.Scan(tx, typed.Range[string]{Reverse: true, From: new("u")}) {
			require.ErrorIs(t, err, typed.ErrDecode)
		}
	})
	inTx(t, db, func(tx *strictkv.Tx) {
		_, _, _, err := u.mail.Get(tx, "u004@x")
		require.ErrorIs(t, err, typed.ErrDecode, "there is no empty key")
	})
	r, err := u.tags.Rebuild(ctx)
	require.NoError(t, err)
	assert.Equal(t, int64(5), r.Stale, "two of u001 and u002 each, and the damage")
	assert.Zero(t, r.Missing)
	r, err = u.mail.Rebuild(ctx)
	require.NoError(t, err)
	assert.Equal(t, int64(2), r.Stale, "of u001 and u002")
	assert.Equal(t, int64(3), r.Missing, "of u002, u004 and u005")
	r, err = u.n.Rebuild(ctx)
	require.NoError(t, err)
	assert.Equal(t, int64(1), r.Stale)
	u.inStep(t)
}

// Values that were there before a unique index was declared need not be unique.
func TestRebuildOfWhatIsNotUnique(t *testing.T) {
	ctx := t.Context()
	db := open(t, memory.New())
	u, plain := usersOf(db), bare(db)
	for _, k := range []string{"a", "b", "c"} {
		require.NoError(t, plain.Auto().Set(ctx, k, user{Mail: "x"}))
	}
	for range 2 {
		r, err := u.mail.Rebuild(ctx)
		require.NoError(t, err)
		require.Len(t, r.Problems, 2)
		for _, p := range r.Problems {
			var taken *typed.UniqueError
			require.ErrorAs(t, p.Err, &taken)
			assert.Equal(t, "a", string(taken.Holder), "the first has it, and keeps it")
		}
	}
	_, err := u.tags.Rebuild(ctx)
	require.NoError(t, err)
	_, err = u.n.Rebuild(ctx)
	require.NoError(t, err)
	require.NoError(t, u.Auto().Set(ctx, "b", user{Mail: "y"}), "it gives up what is not its own")
	require.NoError(t, u.Auto().Delete(ctx, "c"))
	u.inStep(t)
	require.ErrorIs(t, u.Auto().Set(ctx, "b", user{Mail: "x"}), typed.ErrNotUnique)
}

func TestReportHasALimit(t *testing.T) {
	ctx := t.Context()
	db := open(t, memory.New())
	u := usersOf(db)
	for i := range typed.ProblemsMax + 50 {
		require.NoError(t, u.Raw().Write(ctx, fmt.Append(nil, "k", i), []byte("{")))
	}
	r, err := u.tags.Verify(ctx)
	require.NoError(t, err)
	assert.Len(t, r.Problems, typed.ProblemsMax)
}

// TestStorm has several handles write at random, with each other's conflicts, while indexes are
// rebuilt and verified: these find nothing, and in the end there is nothing to be found.
func TestStorm(t *testing.T) {
	ctx := t.Context()
	store := memory.New()
	first := usersOf(open(t, store))
	for i := range 40 { // some were written without the indexes
		require.NoError(t, bare(first.Raw().DB()).Auto().Set(ctx, fmt.Sprint("k", i),
			user{Mail: fmt.Sprint("old", i), Tags: []string{"old"}}))
	}
	var group errgroup.Group
	for h := range 4 {
		u := usersOf(open(t, store))
		group.Go(func() error {
			r := rand.New(rand.NewPCG(7, uint64(h)))
			for range 150 {
				k := fmt.Sprint("k", r.IntN(50))
				err := u.Auto().Update(ctx, k, func(old user, ok bool) (user, error) {
					if ok && r.IntN(4) == 0 {
						return old, strictkv.Remove
					}
					old.Tags = []string{fmt.Sprint(r.IntN(5)), fmt.Sprint(r.IntN(5))}
					old.Mail = fmt.Sprint(r.IntN(30))
					old.N++
					return old, nil
				})
				if err != nil && !errors.Is(err, typed.ErrNotUnique) {
					return err
				}
			}
			return nil
		})
	}
	rebuilder := usersOf(open(t, store))
	group.Go(func() error {
		for range 3 {
			_, err := rebuilder.tags.Rebuild(ctx)
			_, err2 := rebuilder.mail.Rebuild(ctx)
			_, err3 := rebuilder.n.Rebuild(ctx)
			if err := errors.Join(err, err2, err3); err != nil {
				return err
			}
		}
		r, err := rebuilder.tags.Verify(ctx)
		if err == nil && !r.InStep() {
			err = fmt.Errorf("beside running writers: %+v", r)
		}
		return err
	})
	require.NoError(t, group.Wait())
	first.inStep(t)
	first.agrees(t)
}

// agrees compares each index, by a scan, with what the values say: without the code of Verify.
func (u users) agrees(t *testing.T) {
	t.Helper()
	want, got := map[string]bool{}, map[string]bool{}
	inTx(t, u.Raw().DB(), func(tx *strictkv.Tx) {
		clear(want)
		clear(got)
		for i, err := range u.Scan(tx, typed.Range[string]{}) {
			require.NoError(t, err)
			for _, tag := range i.Value.Tags {
				want["tag "+tag+" "+i.Key] = true
			}
			if i.Value.Mail != "" {
				want["mail "+i.Value.Mail+" "+i.Key] = true
			}
			want[fmt.Sprint("n ", i.Value.N, " ", i.Key)] = true
		}
		for e, err := range u.tags.Scan(tx, typed.Range[string]{}) {
			require.NoError(t, err)
			got["tag "+e.Index+" "+e.Key] = true
		}
		for e, err := range u.mail.Scan(tx, typed.Range[string]{}) {
			require.NoError(t, err)
			got["mail "+e.Index+" "+e.Key] = true
		}
		for e, err := range u.n.Scan(tx, typed.Range[int]{}) {
			require.NoError(t, err)
			got[fmt.Sprint("n ", e.Index, " ", e.Key)] = true
		}
	})
	assert.Equal(t, want, got)
	assert.NotEmpty(t, want)
}

// TestValueThatCannotBeIndexed: a value that was there before its index, with keys that no entry
// can have, is a Problem, and not in the way of anything else.
func TestValueThatCannotBeIndexed(t *testing.T) {
	for name, bad := range map[string]string{
		"too long":  strings.Repeat("t", 600),
		"too many":  strings.Repeat("t,", typed.EntriesMax+1),
		"not UTF-8": "x,\xff",
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			db := open(t, memory.New())
			declared := func() *typed.Collection[string, string] {
				return typed.New(db.Collection([]byte("c")), typed.String[string](),
					typed.String[string]())
			}
			for _, k := range []string{"a", "delete", "set", "update", "stays"} {
				v := bad
				if k == "a" {
					v = "x"
				}
				require.NoError(t, declared().Auto().Set(ctx, k, v))
			}
			c := declared()
			index := typed.NewIndex(c, "part", typed.String[string](), func(v string) []string {
				return strings.Split(v, ",")
			})
			require.Error(t, c.Auto().Set(ctx, "a", bad), "it is refused, and changes nothing")
			report, err := index.Rebuild(ctx)
			require.NoError(t, err)
			require.Len(t, report.Problems, 4)
			assert.EqualValues(t, 1, report.Missing)
			for i, k := range []string{"delete", "set", "stays", "update"} {
				assert.Equal(t, k, string(report.Problems[i].Key))
			}
			require.NoError(t, c.Auto().Delete(ctx, "delete"))
			require.NoError(t, c.Auto().Set(ctx, "set", "x"))
			require.NoError(t, c.Auto().Update(ctx, "update",
				func(string, bool) (string, error) { return "x", nil }))
			report, err = index.Verify(ctx)
			require.NoError(t, err)
			require.Len(t, report.Problems, 1)
			assert.Equal(t, "stays", string(report.Problems[0].Key))
			assert.Zero(t, report.Missing+report.Stale)
			inTx(t, db, func(tx *strictkv.Tx) {
				assert.Equal(t, "a set update", keys(index.Find(tx, "x", typed.Range[string]{})))
			})
		})
	}
}

// TestEntryOfAValueThatCannotBeIndexed: such a value has none. What a write without the index
// has left is told of, and removed by a rebuild.
func TestEntryOfAValueThatCannotBeIndexed(t *testing.T) {
	ctx := t.Context()
	db := open(t, memory.New())
	u := usersOf(db)
	require.NoError(t, u.Auto().Set(ctx, "a", user{Mail: "m", Tags: []string{"x"}}))
	long := user{Mail: strings.Repeat("m", 600), Tags: []string{"x", strings.Repeat("t", 600)}}
	require.NoError(t, bare(db).Auto().Set(ctx, "a", long))
	require.ErrorIs(t, db.View(ctx, func(tx *strictkv.Tx) error {
		for _, err := range u.tags.Find(tx, "x", typed.Range[string]{}) {
			return err
		}
		return nil
	}), typed.ErrIndex)
	require.NoError(t, bare(db).Auto().Set(ctx, "b", user{Mail: "m"}))
	report, err := u.tags.Rebuild(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 1, report.Stale)
	assert.Len(t, report.Problems, 1)
	report, err = u.mail.Rebuild(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 1, report.Missing, "who can't be indexed does not hold the address")
	assert.Len(t, report.Problems, 1)
	report, err = u.tags.Verify(ctx)
	require.NoError(t, err)
	assert.Zero(t, report.Missing+report.Stale)
}

package typed_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/typed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a database, which is closed at the test's end.
func open(t testing.TB, b backend.Backend) *strictkv.DB {
	t.Helper()
	db, err := strictkv.Open(t.Context(), "test", b)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close(context.WithoutCancel(t.Context()))) })
	return db
}

// user is what the tests keep.
type user struct {
	Mail string
	Tags []string
	N    int
}

// users is a collection with a unique index and two others.
type users struct {
	*typed.Collection[string, user]
	mail *typed.Unique[string, string, user]
	tags *typed.Index[string, string, user]
	n    *typed.Index[int, string, user]
}

func usersOf(db *strictkv.DB) users {
	c := typed.New(db.Collection([]byte("users")), typed.String[string](), typed.JSON[user]())
	return users{
		c,
		typed.NewUnique(c, "mail", typed.String[string](), func(u user) []string {
			if u.Mail == "" {
				return nil
			}
			return []string{u.Mail}
		}),
		typed.NewIndex(c, "tags", typed.String[string](), func(u user) []string { return u.Tags }),
		typed.NewIndex(c, "n", typed.Int[int](), func(u user) []int { return []int{u.N} }),
	}
}

// inTx runs a function in a transaction.
func inTx(t *testing.T, db *strictkv.DB, fn func(tx *strictkv.Tx)) {
	t.Helper()
	require.NoError(t, db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		fn(tx)
		return nil
	}))
}

// keys are the keys that a loop yields, and the errors.
func keys[V any](loop iter.Seq2[typed.Item[string, V], error]) string {
	var all []string
	for i, err := range loop {
		if err != nil {
			all = append(all, err.Error())
			continue
		}
		all = append(all, i.Key)
	}
	return strings.Join(all, " ")
}

func entries(loop iter.Seq2[typed.Entry[string, string, user], error]) string {
	var all []string
	for e, err := range loop {
		if err != nil {
			all = append(all, err.Error())
			continue
		}
		all = append(all, e.Index+":"+e.Key)
	}
	return strings.Join(all, " ")
}

// inStep wants all indexes to have what the values say.
func (u users) inStep(t *testing.T) {
	t.Helper()
	for name, verify := range map[string]func() (typed.Report, error){
		"mail": func() (typed.Report, error) { return u.mail.Verify(t.Context()) },
		"tags": func() (typed.Report, error) { return u.tags.Verify(t.Context()) },
		"n":    func() (typed.Report, error) { return u.n.Verify(t.Context()) },
	} {
		r, err := verify()
		require.NoError(t, err)
		assert.True(t, r.InStep(), "index %s: %+v", name, r)
	}
}

func TestCalls(t *testing.T) {
	db := open(t, memory.New())
	u := usersOf(db)
	inTx(t, db, func(tx *strictkv.Tx) {
		_, ok, err := u.Get(tx, "a")
		require.NoError(t, err)
		assert.False(t, ok)
		require.NoError(t, u.Set(tx, "a", user{Mail: "a@x", Tags: []string{"red", "red", "blue"}}))
		require.NoError(t, u.Insert(tx, "b", user{Mail: "b@x", Tags: []string{"red"}, N: -1}))
		require.ErrorIs(t, u.Insert(tx, "a", user{}), strictkv.ErrExists)
		got, ok, err := u.Get(tx, "a")
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, "a@x", got.Mail)
	})
	u.inStep(t)
	inTx(t, db, func(tx *strictkv.Tx) {
		assert.Equal(t, "a b", keys(u.Scan(tx, typed.Range[string]{})))
		assert.Equal(t, "a b", keys(u.tags.Find(tx, "red", typed.Range[string]{})))
		last := typed.Range[string]{Reverse: true, Limit: 1}
		assert.Equal(t, "b", keys(u.tags.Find(tx, "red", last)))
		assert.Equal(t, "a", keys(u.tags.Find(tx, "blue", typed.Range[string]{KeysOnly: true})))
		assert.Empty(t, keys(u.tags.Find(tx, "re", typed.Range[string]{})))
		assert.Equal(t, "blue:a red:a red:b", entries(u.tags.Scan(tx, typed.Range[string]{})))
		noValues := typed.Range[string]{KeysOnly: true}
		assert.Equal(t, "a@x:a b@x:b", entries(u.mail.Scan(tx, noValues)))
		for e, err := range u.n.Scan(tx, typed.Range[int]{Limit: 1}) {
			require.NoError(t, err)
			assert.Equal(t, -1, e.Index, "negative numbers come first")
		}
		k, v, ok, err := u.mail.Get(tx, "b@x")
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, "b", k)
		assert.Equal(t, -1, v.N)
		_, _, ok, err = u.mail.Get(tx, "none")
		require.NoError(t, err)
		assert.False(t, ok)
		found, err := u.ReadMulti(tx, "b", "none", "a")
		require.NoError(t, err)
		assert.Equal(t, []bool{true, false, true}, []bool{found[0].OK, found[1].OK, found[2].OK})
		assert.Equal(t, "a@x", found[2].Value.Mail)
	})
	require.NoError(t, u.Auto().Update(t.Context(), "a", func(old user, ok bool) (user, error) {
		assert.True(t, ok)
		old.Tags[0], old.Tags[1], old.Tags[2] = "green", "black", "black" // in place
		return old, nil
	}))
	u.inStep(t)
	inTx(t, db, func(tx *strictkv.Tx) {
		assert.Equal(t, "black:a green:a red:b", entries(u.tags.Scan(tx, typed.Range[string]{})))
		require.NoError(t, u.Delete(tx, "a"))
		require.NoError(t, u.Delete(tx, "none"))
		require.NoError(t, u.Insert(tx, "a", user{Mail: "a@x"}), "its mail was its own")
		require.NoError(t, u.Update(tx, "b", func(user, bool) (user, error) {
			return user{}, strictkv.Remove
		}))
		require.NoError(t, u.Update(tx, "none", func(_ user, ok bool) (user, error) {
			assert.False(t, ok)
			return user{}, strictkv.Remove
		}))
	})
	u.inStep(t)
	own := errors.New("own")
	require.ErrorIs(t, u.Auto().Update(t.Context(), "a", func(user, bool) (user, error) {
		return user{}, own
	}), own)
	assert.Equal(t, "a", keys(u.Auto().Items(t.Context(), typed.Range[string]{})))
}

func TestAuto(t *testing.T) {
	ctx := t.Context()
	u := usersOf(open(t, memory.New()))
	auto := u.Auto()
	require.NoError(t, auto.Insert(ctx, "a", user{Mail: "x"}))
	require.ErrorIs(t, auto.Insert(ctx, "a", user{}), strictkv.ErrExists)
	require.ErrorIs(t, auto.Insert(ctx, "b", user{Mail: "x"}), typed.ErrNotUnique)
	require.NoError(t, auto.Set(ctx, "a", user{Mail: "y"}))
	require.NoError(t, auto.Insert(ctx, "b", user{Mail: "x"}))
	err := auto.Set(ctx, "b", user{Mail: "y"})
	var taken *typed.UniqueError
	require.ErrorAs(t, err, &taken)
	assert.Equal(t, typed.UniqueError{
		Index: "mail", Entry: []byte("\x02y\x00"), Holder: []byte("a"),
	}, *taken)
	assert.EqualError(t, err, `index "mail": key "\x02y\x00" is that of the value of "a"`)
	assert.NotErrorIs(t, err, strictkv.ErrExists)
	v, ok, err := auto.Get(ctx, "b")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, "x", v.Mail)
	require.NoError(t, auto.Delete(ctx, "b"))
	_, ok, err = auto.Get(ctx, "b")
	require.NoError(t, err)
	assert.False(t, ok)
	u.inStep(t)
}

// Whoever ignores that a key is taken must not commit the rest of the change.
func TestIgnoredErrorsCommitNothing(t *testing.T) {
	ctx := t.Context()
	db := open(t, memory.New())
	u := usersOf(db)
	require.NoError(t, u.Auto().Insert(ctx, "a", user{Mail: "x", Tags: []string{"red"}}))
	for _, call := range []func(tx *strictkv.Tx) error{
		func(tx *strictkv.Tx) error { return u.Set(tx, "b", user{Mail: "x"}) },
		func(tx *strictkv.Tx) error { return u.Insert(tx, "b", user{Mail: "x"}) },
	} {
		err := db.Tx(ctx, func(tx *strictkv.Tx) error {
			assert.ErrorIs(t, call(tx), typed.ErrNotUnique)
			return nil
		})
		require.ErrorIs(t, err, strictkv.ErrAborted)
	}
	assert.Equal(t, "a", keys(u.Auto().Items(ctx, typed.Range[string]{})))
	u.inStep(t)

	inTx(t, db, func(tx *strictkv.Tx) {
		many := user{Tags: strings.Split(strings.Repeat("t ", typed.EntriesMax), " ")}
		var size *strictkv.SizeError
		require.ErrorAs(t, u.Set(tx, "a", many), &size)
		assert.Equal(t, typed.EntriesMax, size.Limit)
		require.ErrorIs(t, u.Set(tx, "a", user{Tags: []string{"\xff"}}), typed.ErrEncode)
		require.ErrorIs(t, u.Insert(tx, "\xff", user{}), typed.ErrEncode, "no part of an entry")
	})
	v, _, err := u.Auto().Get(ctx, "a")
	require.NoError(t, err)
	assert.Equal(t, []string{"red"}, v.Tags, "what was refused changed nothing")
	u.inStep(t)

	long := user{Tags: []string{strings.Repeat("t", 600)}}
	require.ErrorIs(t, u.Auto().Set(ctx, "a", long), strictkv.ErrInvalidKey)
	u.inStep(t)
}

func TestDecodeErrors(t *testing.T) {
	ctx := t.Context()
	db := open(t, memory.New())
	c := typed.New(db.Collection([]byte("c")), typed.Int[int](), typed.JSON[user]())
	byN := typed.NewIndex(c, "n", typed.Int[int](), func(u user) []int { return []int{u.N} })
	require.NoError(t, c.Auto().Set(ctx, 1, user{}))
	key, err := typed.Int[int]().Append(nil, 2)
	require.NoError(t, err)
	require.NoError(t, c.Raw().Write(ctx, key, []byte("{")))
	require.NoError(t, c.Raw().Write(ctx, []byte("\xffx"), []byte("{}")))

	_, _, err = c.Auto().Get(ctx, 2)
	var bad *typed.DecodeError
	require.ErrorAs(t, err, &bad)
	require.ErrorIs(t, err, typed.ErrDecode)
	assert.Equal(t, key, bad.Key)
	assert.Equal(t, "JSON", bad.Codec)
	assert.EqualError(t, err, `decode value of "\x80\x00\x00\x00\x00\x00\x00\x02" by JSON: `+
		"unexpected end of JSON input")
	require.ErrorIs(t, c.Auto().Set(ctx, 2, user{}), typed.ErrDecode, "its entries are not known")
	require.ErrorIs(t, c.Auto().Delete(ctx, 2), typed.ErrDecode)
	inTx(t, db, func(tx *strictkv.Tx) {
		_, err := c.ReadMulti(tx, 1, 2)
		assert.ErrorIs(t, err, typed.ErrDecode)
		n := 0
		for i, err := range c.Scan(tx, typed.Range[int]{}) {
			if n++; n == 1 {
				assert.Equal(t, 1, i.Key)
				continue
			}
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, "value", bad.What)
		}
		assert.Equal(t, 2, n, "the loop ends with the error")
		for _, err := range c.Scan(tx, typed.Range[int]{KeysOnly: true, Reverse: true}) {
			if errors.As(err, &bad) {
				n++
				assert.Equal(t, "key", bad.What)
				assert.Equal(t, "int", bad.Codec)
			}
		}
	})
	r, err := byN.Rebuild(ctx)
	require.NoError(t, err)
	assert.Equal(t, int64(3), r.Values)
	assert.Len(t, r.Problems, 2, "%v", r)
	for _, p := range r.Problems {
		assert.ErrorIs(t, p.Err, typed.ErrDecode)
	}
	require.NoError(t, c.Raw().Write(ctx, key, []byte(`{"N":7}`)), "mended without types")
	require.NoError(t, c.Raw().Delete(ctx, []byte("\xffx")))
	r, err = byN.Rebuild(ctx)
	require.NoError(t, err)
	assert.Equal(t, typed.Report{Values: 2, Entries: 2, Missing: 1}, r)
}

func TestBadDeclarations(t *testing.T) {
	ctx := t.Context()
	db := open(t, memory.New())
	raw := db.Collection([]byte("c"))
	fn := func(string) []string { return nil }
	str := typed.String[string]()
	twice := typed.New(raw, str, typed.Codec[string](str))
	typed.NewIndex(twice, "x", str, fn)
	typed.NewUnique(twice, "x", str, fn)
	noCodec := typed.New(raw, str, typed.Codec[string](str))
	typed.NewIndex(noCodec, "x", nil, fn)
	noFn := typed.New(raw, str, typed.Codec[string](str))
	none := typed.NewIndex[string](noFn, "x", str, nil)
	for _, c := range []*typed.Collection[string, string]{
		typed.New[string, string](nil, str, str), typed.New[string, string](raw, nil, str),
		typed.New[string, string](raw, str, nil), twice, noCodec, noFn,
		typed.New(raw, typed.As[string, string](str, nil, nil), typed.Codec[string](str)),
	} {
		require.ErrorIs(t, c.Auto().Set(ctx, "a", "b"), strictkv.ErrInvalid)
		_, _, err := c.Auto().Get(ctx, "a")
		require.ErrorIs(t, err, strictkv.ErrInvalid)
		for _, err := range c.Auto().Items(ctx, typed.Range[string]{}) {
			require.ErrorIs(t, err, strictkv.ErrInvalid)
		}
		x := typed.NewUnique(c, "more", str, fn)
		_, err = x.Rebuild(ctx)
		require.ErrorIs(t, err, strictkv.ErrInvalid)
		inTx(t, db, func(tx *strictkv.Tx) {
			_, _, _, err := x.Get(tx, "a")
			require.ErrorIs(t, err, strictkv.ErrInvalid)
		})
	}
	require.ErrorIs(t, typed.New(raw, str, typed.Codec[string](str)).Auto().Update(ctx, "a", nil),
		strictkv.ErrInvalid)
	inTx(t, db, func(tx *strictkv.Tx) {
		for _, err := range none.Scan(tx, typed.Range[string]{}) {
			require.ErrorIs(t, err, strictkv.ErrInvalid)
		}
		for _, err := range none.Find(tx, "a", typed.Range[string]{}) {
			require.ErrorIs(t, err, strictkv.ErrInvalid)
		}
		_, err := (typed.PairCodec[string, string]{}).Append(nil, typed.Pair[string, string]{})
		require.Error(t, err)
		_, err = (typed.PairCodec[string, string]{}).Prefix("a")
		require.Error(t, err)
		_, err = typed.NewUnique[string, string, string](nil, "x", str, fn).Verify(ctx)
		require.ErrorIs(t, err, strictkv.ErrInvalid)
	})
}

func TestRanges(t *testing.T) {
	ctx := t.Context()
	db := open(t, memory.New())
	c := typed.New(db.Collection([]byte("c")), typed.String[string](), typed.String[string]())
	x := typed.NewIndex(c, "x", typed.String[string](),
		func(v string) []string { return []string{v} })
	one := typed.NewIndex(c, "one", typed.Int[int](), func(string) []int { return []int{0, 1, 2} })
	for _, k := range []string{"a", "b", "ba", "bb", "c", "\ud7ff1", "\ue0001", "\U0010ffff"} {
		require.NoError(t, c.Auto().Set(ctx, k, k))
	}
	for i, r := range []struct {
		r    typed.Range[string]
		want string
	}{
		{typed.Range[string]{To: new("c")}, "a b ba bb"},
		{typed.Range[string]{From: new("b"), To: new("bb")}, "b ba"},
		{typed.Range[string]{From: new("b"), After: new("b"), Limit: 2}, "ba bb"},
		{typed.Range[string]{To: new("c"), After: new("bb"), Reverse: true}, "ba b a"},
		{typed.Range[string]{To: new("")}, ""},
		{typed.Range[string]{From: new("c"), To: new("b")}, ""},
		{typed.StringPrefix("b"), "b ba bb"},
		{typed.StringPrefix("\ud7ff"), "\ud7ff1"},
		{typed.StringPrefix("\U0010ffff"), "\U0010ffff"},
		{typed.StringPrefix(""), "a b ba bb c \ud7ff1 \ue0001 \U0010ffff"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			assert.Equal(t, r.want, keys(c.Auto().Items(ctx, r.r)))
			inTx(t, db, func(tx *strictkv.Tx) {
				assert.Equal(t, r.want, keys(c.Scan(tx, r.r)))
				var all []string
				for e, err := range x.Scan(tx, r.r) {
					require.NoError(t, err)
					assert.Equal(t, e.Index, e.Value)
					all = append(all, e.Key)
				}
				assert.Equal(t, r.want, strings.Join(all, " "))
				assert.Equal(t, r.want, keys(one.Find(tx, 1, r.r)), "all of one index key")
			})
		})
	}
	require.NoError(t, c.Raw().Write(ctx, []byte("\xff\xfe"), nil), "no key of an index")
	assert.Equal(t, "\xff\xfe", keys(c.Auto().Items(ctx, typed.StringPrefix("\xff"))))
}

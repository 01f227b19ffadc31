package typed_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/tuple"
	"github.com/strictkv/strictkv/layers/typed"
)

var ctx = context.Background()

// account is what the examples keep.
type account struct {
	Mail string
	City string
}

// accounts is a collection with two indexes.
type accounts struct {
	*typed.Collection[string, account]
	mail *typed.Unique[string, string, account]
	city *typed.Index[string, string, account]
}

func accountsOf(db *strictkv.DB) accounts {
	c := typed.New(db.Collection([]byte("accounts")), typed.String[string](), typed.JSON[account]())
	return accounts{
		c,
		typed.NewUnique(c, "mail", typed.String[string](),
			func(a account) []string { return []string{a.Mail} }),
		typed.NewIndex(c, "city", typed.String[string](),
			func(a account) []string { return []string{a.City} }),
	}
}

// example opens a database, and fills it.
func example() (accounts, *strictkv.DB) {
	db, err := strictkv.Open(ctx, "example", memory.New())
	if err != nil {
		panic(err)
	}
	all := accountsOf(db)
	err = errors.Join(
		all.Auto().Insert(ctx, "alice", account{"a@example.com", "Rome"}),
		all.Auto().Insert(ctx, "bob", account{"b@example.com", "Oslo"}),
		all.Auto().Insert(ctx, "carol", account{"c@example.com", "Rome"}),
	)
	if err != nil {
		panic(err)
	}
	return all, db
}

// in runs a transaction, and prints its error.
func in(db *strictkv.DB, fn func(tx *strictkv.Tx) error) {
	if err := db.Tx(ctx, fn); err != nil {
		fmt.Println("error:", err)
	}
}

func Example() {
	db, err := strictkv.Open(ctx, "example", memory.New())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close(ctx)
	raw := db.Collection([]byte("users"))
	users := typed.New(raw, typed.String[string](), typed.JSON[account]())
	byMail := typed.NewUnique(users, "mail", typed.String[string](),
		func(a account) []string { return []string{a.Mail} })

	fmt.Println(users.Auto().Insert(ctx, "alice", account{"a@example.com", "Rome"}))
	err = db.Tx(ctx, func(tx *strictkv.Tx) error {
		name, a, ok, err := byMail.Get(tx, "a@example.com")
		if err != nil || !ok {
			return err
		}
		a.City = "Oslo"
		return users.Set(tx, name, a)
	})
	a, ok, err2 := users.Auto().Get(ctx, "alice")
	fmt.Println(a.City, ok, err, err2)
	// Output:
	// <nil>
	// Oslo true <nil> <nil>
}

func ExampleNew() {
	db, _ := strictkv.Open(ctx, "example", memory.New())
	defer db.Close(ctx)
	hits := typed.New(db.Collection([]byte("hits")), typed.String[string](), typed.Int[int]())
	err := hits.Auto().Update(ctx, "/", func(n int, _ bool) (int, error) { return n + 1, nil })
	n, _, _ := hits.Auto().Get(ctx, "/")
	fmt.Println(n, err)
	// Output: 1 <nil>
}

func ExampleCollection_Raw() {
	users, db := example()
	defer db.Close(ctx)
	b, err := users.Raw().Read(ctx, []byte("alice"))
	fmt.Println(string(b), err)
	// Output: {"Mail":"a@example.com","City":"Rome"} <nil>
}

func ExampleCollection_Get() {
	users, db := example()
	defer db.Close(ctx)
	in(db, func(tx *strictkv.Tx) error {
		a, ok, err := users.Get(tx, "alice")
		fmt.Println(a.City, ok, err)
		_, ok, err = users.Get(tx, "nobody")
		fmt.Println(ok, err)
		return err
	})
	// Output:
	// Rome true <nil>
	// false <nil>
}

func ExampleCollection_ReadMulti() {
	users, db := example()
	defer db.Close(ctx)
	in(db, func(tx *strictkv.Tx) error {
		found, err := users.ReadMulti(tx, "bob", "nobody", "alice")
		for _, f := range found {
			fmt.Printf("%v %q\n", f.OK, f.Value.City)
		}
		return err
	})
	// Output:
	// true "Oslo"
	// false ""
	// true "Rome"
}

func ExampleCollection_Set() {
	users, db := example()
	defer db.Close(ctx)
	in(db, func(tx *strictkv.Tx) error {
		return users.Set(tx, "bob", account{"a@example.com", "Oslo"})
	})
	in(db, func(tx *strictkv.Tx) error {
		return users.Set(tx, "bob", account{"bob@example.com", "Oslo"})
	})
	a, _, err := users.Auto().Get(ctx, "bob")
	fmt.Println(a.Mail, err)
	// Output:
	// error: index "mail": key "\x02a@example.com\x00" is that of the value of "alice"
	// bob@example.com <nil>
}

func ExampleCollection_Insert() {
	users, db := example()
	defer db.Close(ctx)
	in(db, func(tx *strictkv.Tx) error {
		err := users.Insert(tx, "bob", account{Mail: "new@example.com"})
		fmt.Println(errors.Is(err, strictkv.ErrExists))
		return users.Insert(tx, "bob2", account{Mail: "new@example.com"})
	})
	// Output: true
}

func ExampleCollection_Delete() {
	users, db := example()
	defer db.Close(ctx)
	in(db, func(tx *strictkv.Tx) error { return users.Delete(tx, "bob") })
	_, ok, err := users.Auto().Get(ctx, "bob")
	fmt.Println(ok, err)
	// Output: false <nil>
}

func ExampleCollection_Update() {
	users, db := example()
	defer db.Close(ctx)
	in(db, func(tx *strictkv.Tx) error {
		return users.Update(tx, "bob", func(old account, ok bool) (account, error) {
			if !ok {
				return old, strictkv.Remove
			}
			old.City = "Bergen"
			return old, nil
		})
	})
	a, _, err := users.Auto().Get(ctx, "bob")
	fmt.Println(a.City, err)
	// Output: Bergen <nil>
}

func ExampleCollection_Scan() {
	users, db := example()
	defer db.Close(ctx)
	in(db, func(tx *strictkv.Tx) error {
		for item, err := range users.Scan(tx, typed.Range[string]{From: new("b"), Reverse: true}) {
			if err != nil {
				return err
			}
			fmt.Println(item.Key, item.Value.City)
		}
		return nil
	})
	// Output:
	// carol Rome
	// bob Oslo
}

// Pages: the next one begins behind the last key of the one before.
func ExampleRange() {
	users, db := example()
	defer db.Close(ctx)
	page := typed.Range[string]{Limit: 2, KeysOnly: true}
	for range 2 {
		for item, err := range users.Auto().Items(ctx, page) {
			fmt.Print(item.Key, " ")
			if err == nil {
				page.After = new(item.Key)
			}
		}
		fmt.Println("|")
	}
	// Output:
	// alice bob |
	// carol |
}

func ExampleStringPrefix() {
	users, db := example()
	defer db.Close(ctx)
	for item, err := range users.Auto().Items(ctx, typed.StringPrefix("ca")) {
		fmt.Println(item.Key, err)
	}
	// Output: carol <nil>
}

func ExampleCollection_Auto() {
	users, db := example()
	defer db.Close(ctx)
	a, ok, err := users.Auto().Get(ctx, "alice")
	fmt.Println(a.City, ok, err)
	// Output: Rome true <nil>
}

func ExampleAuto_Get() {
	users, db := example()
	defer db.Close(ctx)
	_, ok, err := users.Auto().Get(ctx, "nobody")
	fmt.Println(ok, err)
	// Output: false <nil>
}

func ExampleAuto_Set() {
	users, db := example()
	defer db.Close(ctx)
	fmt.Println(users.Auto().Set(ctx, "dave", account{Mail: "d@example.com"}))
	err := users.Auto().Set(ctx, "erin", account{Mail: "d@example.com"})
	var taken *typed.UniqueError
	if errors.As(err, &taken) {
		fmt.Printf("%s has it\n", taken.Holder)
	}
	// Output:
	// <nil>
	// dave has it
}

func ExampleAuto_Insert() {
	users, db := example()
	defer db.Close(ctx)
	err := users.Auto().Insert(ctx, "alice", account{Mail: "other@example.com"})
	fmt.Println(errors.Is(err, strictkv.ErrExists))
	// Output: true
}

func ExampleAuto_Delete() {
	users, db := example()
	defer db.Close(ctx)
	fmt.Println(users.Auto().Delete(ctx, "alice"))
	// Output: <nil>
}

func ExampleAuto_Update() {
	users, db := example()
	defer db.Close(ctx)
	fmt.Println(users.Auto().Update(ctx, "alice", func(old account, ok bool) (account, error) {
		return old, strictkv.Remove
	}))
	_, ok, _ := users.Auto().Get(ctx, "alice")
	fmt.Println(ok)
	// Output:
	// <nil>
	// false
}

func ExampleAuto_Items() {
	users, db := example()
	defer db.Close(ctx)
	for item, err := range users.Auto().Items(ctx, typed.Range[string]{Limit: 1}) {
		fmt.Println(item.Key, item.Value.City, err)
	}
	// Output: alice Rome <nil>
}

// A program that wants to say which key or value is broken, and goes on.
func ExampleDecodeError() {
	users, db := example()
	defer db.Close(ctx)
	if err := users.Raw().Write(ctx, []byte("alice"), []byte("{")); err != nil {
		fmt.Println(err)
	}
	_, _, err := users.Auto().Get(ctx, "alice")
	var bad *typed.DecodeError
	if errors.As(err, &bad) {
		fmt.Printf("%s of %q is no %s\n", bad.What, bad.Key, bad.Codec)
	}
	// Output: value of "alice" is no JSON
}

func ExampleAs() {
	type visit struct {
		User string
		At   time.Time
	}
	type pair = typed.Pair[string, time.Time]
	pairs := typed.PairOf(typed.String[string](), typed.Time())
	keys := typed.As(pairs,
		func(v visit) pair { return pair{First: v.User, Second: v.At} },
		func(p pair) (visit, error) { return visit{p.First, p.Second}, nil })

	db, _ := strictkv.Open(ctx, "example", memory.New())
	defer db.Close(ctx)
	visits := typed.New(db.Collection([]byte("visits")), keys, typed.JSON[string]())
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for _, v := range []visit{{"bob", day}, {"alice", day.Add(time.Hour)}, {"alice", day}} {
		if err := visits.Auto().Insert(ctx, v, "page"); err != nil {
			fmt.Println(err)
		}
	}
	ofAlice, _ := pairs.Prefix("alice")
	for item, err := range visits.Auto().Items(ctx, typed.Range[visit]{Prefix: ofAlice}) {
		fmt.Println(item.Key.User, item.Key.At.Format(time.DateTime), err)
	}
	// Output:
	// alice 2026-01-02 00:00:00 <nil>
	// alice 2026-01-02 01:00:00 <nil>
}

// show prints how a codec stores a key, and what it makes of that.
func show[K any](c typed.KeyCodec[K], k K) {
	b, err := c.Append(nil, k)
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := c.Decode(b)
	fmt.Printf("%x %v %v\n", b, again, err)
}

func ExampleBytes() {
	show(typed.Bytes(), []byte{1, 2})
	// Output: 0102 [1 2] <nil>
}

func ExampleString() {
	type name string
	show(typed.String[name](), "bob")
	// Output: 626f62 bob <nil>
}

func ExampleInt() {
	show(typed.Int[int32](), -1)
	show(typed.Int[int32](), 1)
	// Output:
	// 7fffffffffffffff -1 <nil>
	// 8000000000000001 1 <nil>
}

func ExampleUint() {
	show(typed.Uint[uint8](), 255)
	// Output: 00000000000000ff 255 <nil>
}

func ExampleTime() {
	show(typed.Time(), time.Date(1969, 12, 31, 23, 59, 59, 1, time.UTC))
	// Output: 7fffffffffffffff00000001 1969-12-31 23:59:59.000000001 +0000 UTC <nil>
}

func ExampleUUID() {
	show(typed.UUID[[16]byte](), [16]byte{15: 1})
	// Output: 00000000000000000000000000000001 [0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1] <nil>
}

func ExampleTuple() {
	show(typed.Tuple(), tuple.Tuple{"a", 1})
	// Output: 0261001501 [a 1] <nil>
}

func ExampleJSON() {
	b, err := typed.JSON[account]().Append(nil, account{City: "Rome"})
	fmt.Println(string(b), err)
	// Output: {"Mail":"","City":"Rome"} <nil>
}

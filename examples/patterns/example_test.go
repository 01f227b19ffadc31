package patterns_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/examples/patterns"
)

var ctx = context.Background()

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func open() (*strictkv.DB, *strictkv.Collection) {
	db, err := strictkv.Open(ctx, "example", memory.New())
	must(err)
	return db, db.Collection([]byte("c"))
}

func ExampleAdd() {
	db, counters := open()
	defer db.Close(ctx)
	for range 10 {
		must(patterns.Add(ctx, counters, "hits", 2))
	}
	fmt.Println(patterns.Total(ctx, db, counters, "hits"))
	// Output: 20 <nil>
}

func ExampleUsers() {
	db, _ := open()
	defer db.Close(ctx)
	users := patterns.Users{
		ByName: db.Collection([]byte("users")), ByMail: db.Collection([]byte("mails")),
		ByCity: db.Collection([]byte("cities")),
	}
	put := func(u patterns.User) error {
		return db.Tx(ctx, func(tx *strictkv.Tx) error { return users.Put(tx, u) })
	}
	must(put(patterns.User{Name: "alice", Mail: "a@example.com", City: "Oslo"}))
	must(put(patterns.User{Name: "bob", Mail: "b@example.com", City: "Oslo"}))
	fmt.Println(put(patterns.User{Name: "adam", Mail: "a@example.com", City: "Rome"}))
	must(put(patterns.User{Name: "alice", Mail: "alice@example.com", City: "Rome"}))
	fmt.Println(put(patterns.User{Name: "adam", Mail: "a@example.com", City: "Rome"}))
	must(db.View(ctx, func(tx *strictkv.Tx) error {
		names, err := users.In(tx, "Rome")
		fmt.Println(names)
		return err
	}))
	// Output:
	// insert "a@example.com": key exists
	// <nil>
	// [adam alice]
}

func ExampleOnce() {
	db, answers := open()
	defer db.Close(ctx)
	balance := db.Collection([]byte("balance"))
	for range 3 {
		answer, err := patterns.Once(ctx, db, answers, "request 1",
			func(tx *strictkv.Tx) ([]byte, error) {
				return []byte("paid 10"), tx.Insert(balance, []byte("alice"), []byte("10"))
			})
		fmt.Println(string(answer), err)
	}
	// Output:
	// paid 10 <nil>
	// paid 10 <nil>
	// paid 10 <nil>
}

func ExampleCandidate() {
	now := time.Now()
	store := memory.New(memory.WithClock(func() time.Time { return now }))
	db, err := strictkv.Open(ctx, "example", store)
	must(err)
	defer db.Close(ctx)
	offices := db.Collection([]byte("offices"))
	alice := patterns.NewCandidate(db, offices, "compactor", "alice")
	bob := patterns.NewCandidate(db, offices, "compactor", "bob")

	hers, err := alice.Elect(ctx, now.Add(time.Minute))
	fmt.Println(hers.Number, err)
	_, err = bob.Elect(ctx, now.Add(time.Minute))
	fmt.Println(err)
	now = now.Add(time.Hour) // alice has not been heard of
	his, err := bob.Elect(ctx, now.Add(time.Minute))
	fmt.Println(his.Number, err)
	work := func(tx *strictkv.Tx) error { return tx.Write(offices, []byte("work"), nil) }
	fmt.Println(alice.Lead(ctx, hers, work))
	fmt.Println(bob.Lead(ctx, his, work))
	// Output:
	// 1 <nil>
	// somebody else is the leader
	// 2 <nil>
	// somebody else is the leader
	// <nil>
}

func ExamplePage() {
	db, c := open()
	defer db.Close(ctx)
	for _, name := range []string{"alice", "bob", "carol"} {
		must(c.Write(ctx, []byte(name), nil))
	}
	first, next, err := patterns.Page(ctx, c, nil, 2)
	fmt.Println(len(first), string(next), err)
	second, next, err := patterns.Page(ctx, c, next, 2)
	fmt.Println(string(second[0].Key), next == nil, err)
	// Output:
	// 2 bob <nil>
	// carol true <nil>
}

func ExampleAudit() {
	db, trail := open()
	defer db.Close(ctx)
	now := time.Now()
	for i, what := range []string{"created", "renamed", "archived"} {
		must(db.Tx(ctx, func(tx *strictkv.Tx) error {
			return patterns.Audit(tx, trail, now.Add(time.Duration(i)), what)
		}))
	}
	fmt.Println(patterns.Latest(ctx, trail, 2))
	// Output: [archived renamed] <nil>
}

func ExampleRate() {
	db, buckets := open()
	defer db.Close(ctx)
	now := time.Now()
	for i := range 4 {
		at := now.Add(time.Duration(i) * time.Second / 2)
		err := patterns.Rate{PerSecond: 1, Burst: 2}.Allow(ctx, buckets, "alice", at)
		fmt.Println(errors.Is(err, patterns.ErrTooMany))
	}
	// Output:
	// false
	// false
	// false
	// true
}

func ExampleApply() {
	db, events := open()
	defer db.Close(ctx)
	withdraw := func(past [][]byte) ([]byte, error) {
		if len(past) == 2 {
			return nil, errors.New("nothing left")
		}
		return []byte("withdrawn"), nil
	}
	for range 3 {
		fmt.Println(patterns.Apply(ctx, db, events, "account 1", withdraw))
	}
	// Output:
	// <nil>
	// <nil>
	// nothing left
}

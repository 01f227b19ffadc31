package strictkv_test

import (
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
)

// A collection is there as long as a key in it, or in one nested in it, has a value.
func ExampleDB_Collections() {
	db := openExample()
	defer db.Close(ctx)
	orders, users := db.Collection([]byte("orders")), db.Collection([]byte("users"))
	must(orders.Collection([]byte("2026")).Write(ctx, []byte("1"), []byte("a lamp")))
	must(users.Write(ctx, []byte("alice"), []byte("hello")))
	for range 2 {
		for name, err := range db.Collections(ctx) {
			fmt.Printf("%s %v\n", name, err)
		}
		must(users.Delete(ctx, []byte("alice")))
	}
	// Output:
	// orders <nil>
	// users <nil>
	// orders <nil>
}

// Collections that are nested are found level by level.
func ExampleCollection_Collections() {
	db := openExample()
	defer db.Close(ctx)
	orders := db.Collection([]byte("orders"))
	for _, year := range []string{"2025", "2026"} {
		must(orders.Collection([]byte(year)).Write(ctx, []byte("1"), []byte("a lamp")))
	}
	for year, err := range orders.Collections(ctx) {
		fmt.Printf("%s %v\n", year, err)
	}
	// Output:
	// 2025 <nil>
	// 2026 <nil>
}

// Drop deletes a collection with all that is nested in it.
func ExampleCollection_Drop() {
	db := openExample()
	defer db.Close(ctx)
	orders := db.Collection([]byte("orders"))
	must(orders.Write(ctx, []byte("latest"), []byte("2026/1")))
	must(orders.Collection([]byte("2026")).Write(ctx, []byte("1"), []byte("a lamp")))
	deleted, err := orders.Drop(ctx)
	fmt.Println(deleted, err)
	deleted, err = orders.Drop(ctx)
	fmt.Println(deleted, err)
	// Output:
	// 2 <nil>
	// 0 <nil>
}

// Progress tells a user who waits how far it is.
func ExampleProgress() {
	db := openExample()
	defer db.Close(ctx)
	logs := db.Collection([]byte("logs"))
	for i := range 3 {
		must(logs.Write(ctx, fmt.Append(nil, i), []byte("started")))
	}
	_, err := logs.Drop(ctx, strictkv.Progress(func(p strictkv.WalkProgress) {
		fmt.Println(p.Listed, "keys listed,", p.Done, "deleted")
	}))
	fmt.Println(err)
	// Output:
	// 3 keys listed, 3 deleted
	// <nil>
}

// Items walks a collection of any size. It is not a transaction.
func ExampleCollection_Items() {
	db := openExample()
	defer db.Close(ctx)
	users := db.Collection([]byte("users"))
	for _, name := range []string{"alice", "bob", "carol"} {
		must(users.Write(ctx, []byte(name), []byte("hello "+name)))
	}
	for item, err := range users.Items(ctx, strictkv.Range{From: []byte("b")}) {
		fmt.Printf("%s: %s %v\n", item.Key, item.Value, err)
	}
	// Output:
	// bob: hello bob <nil>
	// carol: hello carol <nil>
}

// A walk that was interrupted goes on behind the last key that it has seen.
func ExampleCollection_Items_resume() {
	db := openExample()
	defer db.Close(ctx)
	users := db.Collection([]byte("users"))
	for _, name := range []string{"alice", "bob", "carol"} {
		must(users.Write(ctx, []byte(name), nil))
	}
	var last []byte
	for item, err := range users.Items(ctx, strictkv.Range{KeysOnly: true}) {
		must(err)
		last = item.Key
		break
	}
	rest := strictkv.Range{From: append(last, 0), KeysOnly: true}
	for item, err := range users.Items(ctx, rest) {
		fmt.Printf("%s %v\n", item.Key, err)
	}
	// Output:
	// bob <nil>
	// carol <nil>
}

// A scan is as strictly serializable as point reads: if another transaction adds an order
// meanwhile, the function is run again.
func ExampleTx_Scan() {
	db := openExample()
	defer db.Close(ctx)
	orders, totals := db.Collection([]byte("orders")), db.Collection([]byte("totals"))
	must(orders.Write(ctx, []byte("alice/1"), []byte("30")))
	must(orders.Write(ctx, []byte("alice/2"), []byte("12")))
	must(orders.Write(ctx, []byte("bob/1"), []byte("99")))

	err := db.Tx(ctx, func(tx *strictkv.Tx) error {
		sum := 0
		for order, err := range tx.Scan(orders, strictkv.Prefix([]byte("alice/"))) {
			if err != nil {
				return err
			}
			n := 0
			if _, err := fmt.Sscan(string(order.Value), &n); err != nil {
				return err
			}
			sum += n
		}
		return tx.Write(totals, []byte("alice"), fmt.Append(nil, sum))
	})
	total, _ := totals.Read(ctx, []byte("alice"))
	fmt.Println(string(total), err)
	// Output: 42 <nil>
}

// The last key: in reverse, one, and without its value.
func ExampleRange() {
	db := openExample()
	defer db.Close(ctx)
	events := db.Collection([]byte("events"))
	for _, day := range []string{"2026-01-30", "2026-01-31", "2026-02-01"} {
		must(events.Write(ctx, []byte(day), []byte("...")))
	}
	err := db.View(ctx, func(tx *strictkv.Tx) error {
		last := strictkv.Range{To: []byte("2026-02"), Reverse: true, Limit: 1, KeysOnly: true}
		for event, err := range tx.Scan(events, last) {
			if err != nil {
				return err
			}
			fmt.Println(string(event.Key))
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// 2026-01-31
	// <nil>
}

func ExamplePrefix() {
	r := strictkv.Prefix([]byte("user/"))
	fmt.Printf("%s to %s\n", r.From, r.To)
	r = strictkv.Prefix([]byte("\xff"))
	fmt.Printf("%q to %q\n", r.From, r.To)
	// Output:
	// user/ to user0
	// "\xff" to ""
}

// A sweep once a day removes what deleted keys and crashed processes have left. Without a
// horizon it does so at once, which is only safe while nobody else uses the database.
func ExampleDB_Sweep() {
	db := openExample()
	defer db.Close(ctx)
	users := db.Collection([]byte("users"))
	must(users.Write(ctx, []byte("alice"), []byte("hello")))
	must(users.Delete(ctx, []byte("alice")))
	for _, horizon := range []time.Duration{24 * time.Hour, -1} {
		report, err := db.Sweep(ctx, strictkv.SweepOptions{Horizon: horizon})
		fmt.Println(report.Waiting, "too young,", report.Tombstones, "removed", err)
	}
	// Output:
	// 1 too young, 0 removed <nil>
	// 0 too young, 1 removed <nil>
}

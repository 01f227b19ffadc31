package strictkv_test

import (
	"fmt"
	"strings"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
)

// Repair moves aside what a console has left among a database's objects.
func ExampleDB_Check_repair() {
	bucket := memory.New()
	db, err := strictkv.Open(ctx, "example", bucket)
	must(err)
	defer db.Close(ctx)
	_, err = bucket.Put(ctx, "example/=key (1)", []byte("a copy"), backend.IfAbsent())
	must(err)

	r, err := db.Check(ctx, strictkv.CheckOptions{Repair: true})
	must(err)
	for _, p := range r.Problems {
		_, name, _ := strings.Cut(strings.TrimPrefix(p.MovedTo, "example/lost/"), "/")
		fmt.Printf("%q was moved, and is called %q there\n", p.Object, name)
	}
	r, err = db.Check(ctx, strictkv.CheckOptions{})
	fmt.Println(len(r.Problems), "problems,", r.Lost, "object aside,", err)
	// Output:
	// "example/=key (1)" was moved, and is called "=key (1)" there
	// 0 problems, 1 object aside, <nil>
}

// Inspect shows what the object of a key holds.
func ExampleCollection_Inspect() {
	bucket := memory.New()
	db, err := strictkv.Open(ctx, "example", bucket)
	must(err)
	defer db.Close(ctx)
	users := db.Collection([]byte("users"))
	must(users.Write(ctx, []byte("alice"), []byte("1")))
	must(users.Write(ctx, []byte("alice"), []byte("2")))

	i, err := users.Inspect(ctx, []byte("alice"))
	must(err)
	fmt.Printf("%s holds %q\n", i.Object, i.Current.Data)
	fmt.Println(len(i.Recent), "versions in its memory, an intent:", i.Intent != nil)
	// Output:
	// example/+users/=alice holds "2"
	// 2 versions in its memory, an intent: false
}

// Usage counts objects without reading them.
func ExampleDB_Usage() {
	db, err := strictkv.Open(ctx, "example", memory.New())
	must(err)
	defer db.Close(ctx)
	users := db.Collection([]byte("users"))
	must(users.Write(ctx, []byte("alice"), []byte("1")))
	must(users.Write(ctx, []byte("bob"), []byte("2")))
	must(users.Delete(ctx, []byte("bob")))

	u, err := db.Usage(ctx, users)
	must(err)
	fmt.Println(u.Values.Objects, "value,", u.Tombstones.Objects, "tombstone")
	// Output: 1 value, 1 tombstone
}

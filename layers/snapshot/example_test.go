package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/snapshot"
)

var ctx = context.Background()

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// example is a collection with two keys, and a store.
func example() (*strictkv.Collection, snapshot.Store) {
	db, err := strictkv.Open(ctx, "example", memory.New())
	must(err)
	users := db.Collection([]byte("users"))
	must(users.Write(ctx, []byte("alice"), []byte("100")))
	must(users.Write(ctx, []byte("bob"), []byte("50")))
	return users, snapshot.Bucket(memory.New(), "snapshots")
}

// saved is a snapshot of an example.
func saved() (*snapshot.Snapshot, snapshot.Store) {
	users, s := example()
	name, err := snapshot.Save(ctx, s, users, snapshot.SaveOptions{})
	must(err)
	snap, err := snapshot.Open(ctx, s, name)
	must(err)
	return snap, s
}

func show(snap *snapshot.Snapshot, r strictkv.Range) {
	var all []string
	for item, err := range snap.Scan(ctx, r) {
		must(err)
		all = append(all, fmt.Sprintf("%s=%s", item.Key, item.Value))
	}
	fmt.Println(strings.Join(all, " "))
}

// A snapshot stays as it is, whatever becomes of the collection.
func ExampleSave() {
	users, s := example()
	name, err := snapshot.Save(ctx, s, users, snapshot.SaveOptions{})
	must(err)
	must(users.Delete(ctx, []byte("alice")))
	snap, err := snapshot.Open(ctx, s, name)
	must(err)
	defer snap.Close()
	show(snap, strictkv.Range{})
	// Output: alice=100 bob=50
}

func ExampleDir() {
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer func() { must(os.RemoveAll(dir)) }()
	users, _ := example()
	s := snapshot.Dir(dir)
	name, err := snapshot.Save(ctx, s, users, snapshot.SaveOptions{})
	must(err)
	_, err = os.Stat(dir + "/" + name + ".snap")
	fmt.Println(err)
	// Output: <nil>
}

func ExampleBucket() {
	s := snapshot.Bucket(memory.New(), "daily") // or of gcs.New, s3.New
	users, _ := example()
	_, err := snapshot.Save(ctx, s, users, snapshot.SaveOptions{})
	fmt.Println(err)
	// Output: <nil>
}

// What has changed since is saved as a layer.
func ExampleDiff() {
	users, s := example()
	base, err := snapshot.Save(ctx, s, users, snapshot.SaveOptions{})
	must(err)
	must(users.Write(ctx, []byte("carol"), []byte("7")))
	must(users.Delete(ctx, []byte("bob")))
	name, err := snapshot.Diff(ctx, s, base, users, snapshot.SaveOptions{})
	must(err)
	snap, err := snapshot.Open(ctx, s, name)
	must(err)
	defer snap.Close()
	show(snap, strictkv.Range{})
	fmt.Println(len(snap.Layers()), snap.Layers()[1] == base)
	// Output:
	// alice=100 carol=7
	// 2 true
}

// Merged layers are the file that a Save of the same content makes.
func ExampleCompact() {
	users, s := example()
	base, err := snapshot.Save(ctx, s, users, snapshot.SaveOptions{})
	must(err)
	must(users.Delete(ctx, []byte("bob")))
	name, err := snapshot.Diff(ctx, s, base, users, snapshot.SaveOptions{})
	must(err)
	name, err = snapshot.Compact(ctx, s, name)
	must(err)
	anew, err := snapshot.Save(ctx, s, users, snapshot.SaveOptions{})
	fmt.Println(name == anew, err)
	// Output: true <nil>
}

// Keys come in any order, here that of a map.
func ExampleBuild() {
	_, s := example()
	name, err := snapshot.Build(ctx, s, func(yield func(key, value []byte) bool) {
		for k, v := range map[string]string{"b": "2", "a": "1", "c": "3"} {
			if !yield([]byte(k), []byte(v)) {
				return
			}
		}
	})
	must(err)
	snap, err := snapshot.Open(ctx, s, name)
	must(err)
	defer snap.Close()
	show(snap, strictkv.Range{Reverse: true})
	// Output: c=3 b=2 a=1
}

func ExampleSaveDB() {
	users, s := example()
	name, err := snapshot.SaveDB(ctx, s, users.DB(), snapshot.SaveOptions{})
	must(err)
	snap, err := snapshot.Open(ctx, s, name)
	must(err)
	defer snap.Close()
	v, err := snap.Get(ctx, snapshot.DatabaseKey([][]byte{[]byte("users")}, []byte("bob")))
	fmt.Printf("%s %v\n", v, err)
	// Output: 50 <nil>
}

func ExampleDiffDB() {
	users, s := example()
	base, err := snapshot.SaveDB(ctx, s, users.DB(), snapshot.SaveOptions{})
	must(err)
	must(users.DB().Collection([]byte("mail")).Write(ctx, []byte("1"), []byte("hello")))
	name, err := snapshot.DiffDB(ctx, s, base, users.DB(), snapshot.SaveOptions{})
	must(err)
	snap, err := snapshot.Open(ctx, s, name)
	must(err)
	defer snap.Close()
	fmt.Println(snap.Len(ctx))
	// Output: 3 <nil>
}

// All keys of a collection begin with what DatabaseKey makes of none.
func ExampleDatabaseKey() {
	key := snapshot.DatabaseKey([][]byte{[]byte("users"), []byte("mail")}, []byte("1"))
	fmt.Printf("%q\n", key)
	// Output: "users\x00\x01mail\x00\x01\x00\x001"
}

func ExampleParseDatabaseKey() {
	path, key, err := snapshot.ParseDatabaseKey([]byte("users\x00\x01mail\x00\x01\x00\x001"))
	fmt.Printf("%q %q %v\n", path, key, err)
	// Output: ["users" "mail"] "1" <nil>
}

// To read most of a snapshot in a bucket, copy it to a disk.
func ExampleCopy() {
	snap, bucket := saved()
	defer snap.Close()
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer func() { must(os.RemoveAll(dir)) }()
	must(snapshot.Copy(ctx, snapshot.Dir(dir), bucket, snap.Name()))
	local, err := snapshot.Open(ctx, snapshot.Dir(dir), snap.Name())
	must(err)
	defer local.Close()
	show(local, strictkv.Range{})
	// Output: alice=100 bob=50
}

func ExampleGC() {
	users, s := example()
	_, err := snapshot.Save(ctx, s, users, snapshot.SaveOptions{})
	must(err)
	must(users.Delete(ctx, []byte("bob")))
	last, err := snapshot.Save(ctx, s, users, snapshot.SaveOptions{})
	must(err)
	r, err := snapshot.GC(ctx, s, snapshot.GCOptions{Keep: []string{last}, Age: -1})
	fmt.Println(r.Kept, r.Removed, err)
	// Output: 1 1 <nil>
}

func ExampleNames() {
	snap, s := saved()
	defer snap.Close()
	names, err := snapshot.Names(ctx, s)
	fmt.Println(len(names), names[0] == snap.Name(), err)
	// Output: 1 true <nil>
}

func ExampleOpen() {
	_, s := saved()
	_, err := snapshot.Open(ctx, s, fmt.Sprintf("%064x", 1))
	fmt.Println(errors.Is(err, snapshot.ErrNotFound))
	// Output: true
}

func ExampleSnapshot_Get() {
	snap, _ := saved()
	defer snap.Close()
	v, err := snap.Get(ctx, []byte("alice"))
	fmt.Printf("%s %v\n", v, err)
	_, err = snap.Get(ctx, []byte("nobody"))
	fmt.Println(errors.Is(err, snapshot.ErrNotFound))
	// Output:
	// 100 <nil>
	// true
}

func ExampleSnapshot_Scan() {
	snap, _ := saved()
	defer snap.Close()
	for item, err := range snap.Scan(ctx, strictkv.Prefix([]byte("a"))) {
		fmt.Printf("%s %s %v\n", item.Key, item.Value, err)
	}
	// Output: alice 100 <nil>
}

func ExampleSnapshot_Len() {
	snap, _ := saved()
	defer snap.Close()
	fmt.Println(snap.Len(ctx))
	// Output: 2 <nil>
}

func ExampleSnapshot_Name() {
	a, _ := saved()
	defer a.Close()
	b, _ := saved()
	defer b.Close()
	fmt.Println(a.Name() == b.Name(), "as their content is equal")
	// Output: true as their content is equal
}

func ExampleSnapshot_Layers() {
	snap, _ := saved()
	defer snap.Close()
	fmt.Println(len(snap.Layers()))
	// Output: 1
}

func ExampleSnapshot_Instant() {
	snap, _ := saved()
	defer snap.Close()
	fmt.Println(snap.Instant().IsZero())
	fmt.Println(snap.With([]byte("k"), nil).Instant().IsZero())
	// Output:
	// false
	// true
}

func ExampleSnapshot_ItemWise() {
	users, s := example()
	name, err := snapshot.Save(ctx, s, users, snapshot.SaveOptions{ItemWise: true})
	must(err)
	snap, err := snapshot.Open(ctx, s, name)
	must(err)
	defer snap.Close()
	fmt.Println(snap.ItemWise())
	// Output: true
}

func ExampleSnapshot_Verify() {
	snap, _ := saved()
	defer snap.Close()
	fmt.Println(snap.Verify(ctx))
	// Output: <nil>
}

// A change makes another snapshot, and leaves the one that it is made of as it is.
func ExampleSnapshot_With() {
	snap, _ := saved()
	defer snap.Close()
	richer := snap.With([]byte("bob"), []byte("1000"))
	show(snap, strictkv.Range{})
	show(richer, strictkv.Range{})
	// Output:
	// alice=100 bob=50
	// alice=100 bob=1000
}

func ExampleSnapshot_Without() {
	snap, _ := saved()
	defer snap.Close()
	show(snap.Without([]byte("bob")), strictkv.Range{})
	// Output: alice=100
}

func ExampleSnapshot_Save() {
	snap, s := saved()
	defer snap.Close()
	name, err := snap.With([]byte("carol"), []byte("7")).Save(ctx)
	must(err)
	layer, err := snapshot.Open(ctx, s, name)
	must(err)
	defer layer.Close()
	show(layer, strictkv.Range{})
	// Output: alice=100 bob=50 carol=7
}

func ExampleSnapshot_Close() {
	snap, _ := saved()
	fmt.Println(snap.Close())
	// Output: <nil>
}

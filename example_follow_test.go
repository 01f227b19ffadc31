package strictkv_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

// A cache of rendered pages is told which of them to render anew. It follows from the Position
// that it has kept.
func ExampleCollection_Follow() {
	db := openExample()
	defer db.Close(ctx)
	articles := db.Collection([]byte("articles"))
	must(articles.Write(ctx, []byte("a"), []byte("An article")))
	must(articles.Write(ctx, []byte("b"), []byte("Another")))

	var kept strictkv.Position
	render := func() {
		for c, err := range articles.Follow(ctx, kept, strictkv.FollowOnce()) {
			switch {
			case err != nil:
				fmt.Println(err) // the loop goes on
			case c.Pass != nil:
				fmt.Println("that was all")
			case c.Deleted:
				fmt.Printf("%s is gone\n", c.Key)
			default:
				fmt.Printf("%s: %s\n", c.Key, c.Value)
			}
			kept = c.Position
		}
	}
	render()
	must(articles.Write(ctx, []byte("b"), []byte("Another one")))
	must(articles.Delete(ctx, []byte("a")))
	render()
	// Output:
	// a: An article
	// b: Another
	// that was all
	// a is gone
	// b: Another one
	// that was all
}

// All collections are followed by one loop.
func ExampleDB_Follow() {
	db := openExample()
	defer db.Close(ctx)
	orders := db.Collection([]byte("orders"))
	must(orders.Collection([]byte("2026")).Write(ctx, []byte("1"), []byte("a lamp")))
	must(db.Collection([]byte("users")).Write(ctx, []byte("alice"), []byte("hello")))
	for c, err := range db.Follow(ctx, strictkv.Position{}, strictkv.FollowOnce()) {
		must(err)
		if c.Pass == nil {
			fmt.Printf("%q %s: %s\n", c.Collection.Path(), c.Key, c.Value)
		}
	}
	// Output:
	// ["orders" "2026"] 1: a lamp
	// ["users"] alice: hello
}

// Two collections, and what is in them at one instant.
func ExampleFollowInstant() {
	db := openExample()
	defer db.Close(ctx)
	savings, loans := db.Collection([]byte("savings")), db.Collection([]byte("loans"))
	must(db.Tx(ctx, func(tx *strictkv.Tx) error {
		must(tx.Write(savings, []byte("alice"), []byte("100")))
		return tx.Write(loans, []byte("alice"), []byte("-100"))
	}))
	balance := map[string]string{} // as of the instant of the latest Pass
	var changes []strictkv.Change  // since then
	for c, err := range db.Follow(ctx, strictkv.Position{}, strictkv.FollowInstant(),
		strictkv.FollowCollections(savings, loans)) {
		must(err)
		if c.Pass == nil {
			changes = append(changes, c)
			continue
		}
		for _, c := range changes {
			balance[fmt.Sprintf("%s %s", c.Collection.Path()[0], c.Key)] = string(c.Value)
		}
		break
	}
	fmt.Println(balance)
	// Output: map[loans alice:-100 savings alice:100]
}

// See ExampleFollowInstant.
func ExampleFollowCollections() {
	db := openExample()
	defer db.Close(ctx)
	a, b := db.Collection([]byte("a")), db.Collection([]byte("b"))
	must(a.Write(ctx, []byte("k"), []byte("1")))
	must(b.Write(ctx, []byte("k"), []byte("2")))
	must(db.Collection([]byte("c")).Write(ctx, []byte("k"), []byte("3")))
	for c, err := range db.Follow(ctx, strictkv.Position{}, strictkv.FollowOnce(),
		strictkv.FollowCollections(a, b)) {
		must(err)
		if c.Pass == nil {
			fmt.Printf("%s %s\n", c.Key, c.Value)
		}
	}
	// Output:
	// k 1
	// k 2
}

// What other processes write is there within a second, for a request each second and a thousand
// keys; what this one writes is there at once.
func ExampleFollowEvery() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	for change, err := range c.Follow(ctx, strictkv.Position{},
		strictkv.FollowEvery(time.Second)) {
		must(err)
		if change.Pass != nil { // nothing yet
			must(c.Write(ctx, []byte("k"), []byte("v")))
			continue
		}
		fmt.Printf("%s: %s\n", change.Key, change.Value)
		break
	}
	// Output: k: v
}

// FollowOnce makes Follow an incremental export: what has changed since the last one.
func ExampleFollowOnce() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("k"), []byte("v")))
	for change, err := range c.Follow(ctx, strictkv.Position{}, strictkv.FollowOnce()) {
		must(err)
		if p := change.Pass; p != nil {
			fmt.Println("listed", p.Listed)
		}
	}
	// Output: listed 1
}

// Only the keys of one user are followed.
func ExampleFollowRange() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("mails"))
	must(c.Write(ctx, []byte("alice/1"), []byte("hello")))
	must(c.Write(ctx, []byte("bob/1"), []byte("hi")))
	alices := strictkv.FollowRange(strictkv.Prefix([]byte("alice/")))
	for change, err := range c.Follow(ctx, strictkv.Position{}, alices, strictkv.FollowOnce()) {
		must(err)
		if change.Pass == nil {
			fmt.Printf("%s\n", change.Key)
		}
	}
	// Output: alice/1
}

// mirror is a copy of a collection that knows what it has seen.
type mirror map[string]strictkv.Change

func (m mirror) States(
	_ *strictkv.Collection, from []byte,
) iter.Seq2[strictkv.KeyState, error] {
	return func(yield func(strictkv.KeyState, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if key >= string(from) && !yield(m.state(key), nil) {
				return
			}
		}
	}
}

func (m mirror) state(key string) strictkv.KeyState {
	c := m[key]
	return strictkv.KeyState{
		Key: []byte(key), State: c.State, Version: c.Version, Expires: c.Expires,
		Deleted: c.Version.IsZero(),
	}
}

func (m mirror) Lookup(_ *strictkv.Collection, key []byte) (strictkv.KeyState, error) {
	return m.state(string(key)), nil
}

func (m mirror) Restate(_ *strictkv.Collection, key []byte, s strictkv.State) error {
	c := m[string(key)]
	c.State, m[string(key)] = s, c
	return nil
}

// A copy of a collection keeps with each value what Follow needs to know of it, so that there is
// nothing else to keep. A copy on disk does the same.
func ExampleFollowSeen() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	m := mirror{}
	update := func() (changes int) {
		for change, err := range c.Follow(ctx, strictkv.Position{}, strictkv.FollowSeen(m),
			strictkv.FollowOnce()) {
			must(err)
			switch key := string(change.Key); {
			case change.Pass != nil:
				continue
			case change.Deleted:
				delete(m, key)
			default:
				m[key] = change
			}
			changes++
		}
		return changes
	}
	must(c.Write(ctx, []byte("a"), []byte("1")))
	must(c.Write(ctx, []byte("b"), []byte("2")))
	fmt.Println(update(), len(m))
	must(c.Delete(ctx, []byte("a")))
	fmt.Println(update(), len(m))
	fmt.Println(update(), len(m))
	// Output:
	// 2 2
	// 1 1
	// 0 1
}

// A Position outlives the process.
func ExamplePosition_MarshalBinary() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("k"), []byte("v")))
	var at strictkv.Position
	for change, err := range c.Follow(ctx, at, strictkv.FollowOnce()) {
		must(err)
		at = change.Position
	}
	data, err := at.MarshalBinary()
	must(err)

	var again strictkv.Position
	must(again.UnmarshalBinary(data))
	for change, err := range c.Follow(ctx, again, strictkv.FollowOnce()) {
		must(err)
		fmt.Println("nothing new:", change.Pass != nil)
	}
	// Output: nothing new: true
}

// What is not a Position is refused.
func ExamplePosition_UnmarshalBinary() {
	var p strictkv.Position
	fmt.Println(p.UnmarshalBinary([]byte("something else")))
	// Output: position: not a position: corrupt object
}

// The zero Position is the beginning.
func ExamplePosition_IsZero() {
	var p strictkv.Position
	fmt.Println(p.IsZero())
	// Output: true
}

func ExampleCollection_Path() {
	db := openExample()
	defer db.Close(ctx)
	year := db.Collection([]byte("orders")).Collection([]byte("2026"))
	fmt.Printf("%q\n", year.Path())
	// Output: ["orders" "2026"]
}

// A process waits until another one has changed its configuration.
func ExampleCollection_Watch() {
	db := openExample()
	defer db.Close(ctx)
	config := db.Collection([]byte("config"))
	must(config.Write(ctx, []byte("theme"), []byte("dark")))
	for c, err := range config.Watch(ctx, []byte("theme")) {
		must(err)
		fmt.Printf("%s\n", c.Value)
		if string(c.Value) == "light" {
			break
		}
		must(config.Write(ctx, []byte("theme"), []byte("light")))
	}
	// Output:
	// dark
	// light
}

// A long poll: the client says which version it has, and gets the next one.
func ExampleWatchFrom() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("k"), []byte("first")))
	first, err := c.ReadItem(ctx, []byte("k"))
	must(err)
	must(c.Write(ctx, []byte("k"), []byte("second")))
	for change, err := range c.Watch(ctx, []byte("k"), strictkv.WatchFrom(first.Version),
		strictkv.FollowOnce()) {
		must(err)
		fmt.Printf("%s\n", change.Value)
	}
	// Output: second
}

// The members of a group come and go.
func ExampleCollection_WatchRange() {
	db := openExample()
	defer db.Close(ctx)
	members := db.Collection([]byte("members"))
	must(members.Write(ctx, []byte("web/1"), []byte("10.0.0.1")))
	for c, err := range members.WatchRange(ctx, strictkv.Prefix([]byte("web/"))) {
		must(err)
		switch {
		case c.Deleted:
			fmt.Printf("%s has left\n", c.Key)
			return
		case c.Pass == nil:
			fmt.Printf("%s is at %s\n", c.Key, c.Value)
		default:
			must(members.Delete(ctx, []byte("web/1")))
		}
	}
	// Output:
	// web/1 is at 10.0.0.1
	// web/1 has left
}

// With a feed, what others write is there within two seconds, for one list request a second; all
// is listed now and then, as a feed may miss something.
func ExampleFollowFullEvery() {
	db, err := strictkv.Open(ctx, "shop", memory.New(), strictkv.WithFeed(strictkv.FeedOptions{}))
	must(err)
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("k"), []byte("v")))
	for change, err := range c.Follow(ctx, strictkv.Position{},
		strictkv.FollowFullEvery(time.Hour)) {
		must(err)
		fmt.Printf("%s: %s\n", change.Key, change.Value)
		break
	}
	// Output: k: v
}

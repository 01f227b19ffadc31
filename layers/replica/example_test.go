package replica_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/replica"
)

var ctx = context.Background()

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// shop is a database with a collection of prices, and a replica of that, which is ready.
type shop struct {
	db     *strictkv.DB
	prices *strictkv.Collection
	dir    string
	r      *replica.Replica
}

func openShop(m replica.Mode) *shop {
	db, err := strictkv.Open(ctx, "shop", memory.New()) // or a bucket in the cloud
	must(err)
	s := &shop{db: db, prices: db.Collection([]byte("prices"))}
	for _, kv := range [][2]string{{"apple", "3"}, {"pear", "4"}, {"plum", "2"}} {
		must(s.prices.Write(ctx, []byte(kv[0]), []byte(kv[1])))
	}
	s.dir, err = os.MkdirTemp("", "replica-")
	must(err)
	s.r, err = replica.Open(ctx, db, s.dir, replica.Options{
		Collections: []*strictkv.Collection{s.prices}, Mode: m, Every: 10 * time.Millisecond,
	})
	must(err)
	must(s.r.Ready(ctx))
	return s
}

func (s *shop) close() {
	must(s.r.Close())
	must(s.db.Close(ctx))
	must(os.RemoveAll(s.dir))
}

func ExampleOpen() {
	db, err := strictkv.Open(ctx, "shop", memory.New()) // or a bucket in the cloud
	must(err)
	defer db.Close(ctx)
	prices := db.Collection([]byte("prices"))
	must(prices.Write(ctx, []byte("apple"), []byte("3")))

	dir, err := os.MkdirTemp("", "replica-") // a program keeps its directory
	must(err)
	defer func() { must(os.RemoveAll(dir)) }()
	r, err := replica.Open(ctx, db, dir, replica.Options{
		Collections: []*strictkv.Collection{prices},
	})
	must(err)
	defer r.Close()
	must(r.Ready(ctx)) // at once, if the directory has a copy
	price, err := r.Read(prices, []byte("apple"))
	fmt.Printf("%s %v\n", price, err)
	// Output: 3 <nil>
}

func ExampleReplica_Read() {
	s := openShop(replica.PerKey)
	defer s.close()
	price, err := s.r.Read(s.prices, []byte("pear"))
	fmt.Printf("%s %v\n", price, err)
	_, err = s.r.Read(s.prices, []byte("melon"))
	fmt.Println(err)
	// Output:
	// 4 <nil>
	// read "melon": not found
}

func ExampleReplica_Scan() {
	s := openShop(replica.PerKey)
	defer s.close()
	for i, err := range s.r.Scan(s.prices, strictkv.Prefix([]byte("p"))) {
		must(err)
		fmt.Printf("%s %s\n", i.Key, i.Value)
	}
	// Output:
	// pear 4
	// plum 2
}

// All that a View reads belongs together.
func ExampleReplica_View() {
	s := openShop(replica.Instant)
	defer s.close()
	must(s.r.View(func(v *replica.View) error {
		sum := 0
		for i, err := range v.Scan(s.prices, strictkv.Range{}) {
			if err != nil {
				return err
			}
			sum += int(i.Value[0] - '0')
		}
		fmt.Println("all together", sum)
		return nil
	}))
	// Output: all together 9
}

func ExampleView_Read() {
	s := openShop(replica.PerKey)
	defer s.close()
	must(s.r.View(func(v *replica.View) error {
		price, err := v.Read(s.prices, []byte("pear"))
		fmt.Printf("%s\n", price)
		return err
	}))
	// Output: 4
}

// A decision that was prepared by the replica is taken in a transaction, if what it was made of
// is still there.
func ExampleView_ReadItem() {
	s := openShop(replica.PerKey)
	defer s.close()
	must(s.r.View(func(v *replica.View) error {
		seen, err := v.ReadItem(s.prices, []byte("pear"))
		must(err)
		return s.db.Tx(ctx, func(tx *strictkv.Tx) error {
			if err := tx.Require(s.prices, seen.Key, seen.Version()); err != nil {
				return err // it has changed meanwhile
			}
			return tx.Write(s.prices, seen.Key, append(seen.Value, '0'))
		})
	}))
	price, err := s.prices.Read(ctx, []byte("pear"))
	fmt.Printf("%s %v\n", price, err)
	// Output: 40 <nil>
}

func ExampleView_Scan() {
	s := openShop(replica.PerKey)
	defer s.close()
	must(s.r.View(func(v *replica.View) error {
		for i, err := range v.Scan(s.prices, strictkv.Range{Reverse: true, Limit: 2}) {
			must(err)
			fmt.Printf("%s %s\n", i.Key, i.Value)
		}
		return nil
	}))
	// Output:
	// plum 2
	// pear 4
}

func ExampleItem_Version() {
	s := openShop(replica.PerKey)
	defer s.close()
	for i, err := range s.r.Scan(s.prices, strictkv.Range{Limit: 1}) {
		must(err)
		there, err := s.prices.ReadItem(ctx, i.Key)
		fmt.Println(i.Version() == there.Version, err)
	}
	// Output: true <nil>
}

// An index of prices is brought up to date by what has changed since it was made.
func ExampleReplica_Changes() {
	s := openShop(replica.PerKey)
	defer s.close()
	index := map[string]string{} // from prices to fruits
	var kept replica.Position    // a program keeps it with the index
	must(s.r.View(func(v *replica.View) error {
		kept = v.Position()
		for i, err := range v.Scan(s.prices, strictkv.Range{}) {
			must(err)
			index[string(i.Value)] = string(i.Key)
		}
		return nil
	}))
	must(s.prices.Write(ctx, []byte("melon"), []byte("7")))
	for c, err := range s.r.Changes(ctx, kept) {
		must(err) // if it is ErrTrimmed, the index is made anew
		index[string(c.Value)] = string(c.Key)
		kept = c.Position
		break // or wait for the next
	}
	fmt.Println(index)
	// Output: map[2:plum 3:apple 4:pear 7:melon]
}

// A View that scans, and the changes since.
func ExampleView_Position() {
	s := openShop(replica.PerKey)
	defer s.close()
	var at replica.Position
	must(s.r.View(func(v *replica.View) error {
		at = v.Position()
		return nil
	}))
	must(s.prices.Delete(ctx, []byte("plum")))
	for c, err := range s.r.Changes(ctx, at) {
		fmt.Printf("%s deleted: %v %v\n", c.Key, c.Deleted, err)
		break
	}
	// Output: plum deleted: true <nil>
}

func ExampleReplica_Ready() {
	s := openShop(replica.PerKey)
	defer s.close()
	fmt.Println(s.r.Ready(ctx))
	// Output: <nil>
}

// Whatever anybody has committed before the call is there behind it.
func ExampleReplica_Wait() {
	s := openShop(replica.PerKey)
	defer s.close()
	must(s.prices.Delete(ctx, []byte("apple"))) // or another process does
	must(s.r.Wait(ctx))
	_, err := s.r.Read(s.prices, []byte("apple"))
	fmt.Println(err)
	// Output: read "apple": not found
}

// A program reads what it has written.
func ExampleReplica_WaitFor() {
	s := openShop(replica.PerKey)
	defer s.close()
	apple := []byte("apple")
	must(s.prices.Write(ctx, apple, []byte("5")))
	written, err := s.prices.ReadItem(ctx, apple) // from memory: the handle has just written it
	must(err)
	must(s.r.WaitFor(ctx, s.prices, apple, written.Version))
	price, err := s.r.Read(s.prices, apple)
	fmt.Printf("%s %v\n", price, err)
	// Output: 5 <nil>
}

// A health check.
func ExampleReplica_Lag() {
	s := openShop(replica.PerKey)
	defer s.close()
	fmt.Println(s.r.Lag() < time.Minute)
	// Output: true
}

func ExampleReplica_Instant() {
	s := openShop(replica.Instant)
	defer s.close()
	at, ok := s.r.Instant()
	fmt.Println(time.Since(at) < time.Minute, ok)
	// Output: true true
}

func ExampleReplica_Err() {
	s := openShop(replica.PerKey)
	defer s.close()
	fmt.Println(s.r.Err())
	// Output: <nil>
}

func ExampleReplica_Rebuilt() {
	s := openShop(replica.PerKey)
	defer s.close()
	fmt.Println("thrown away:", s.r.Rebuilt())
	// Output: thrown away: 0
}

// Closing twice is fine.
func ExampleReplica_Close() {
	s := openShop(replica.PerKey)
	fmt.Println(s.r.Close(), s.r.Close())
	_, err := s.r.Read(s.prices, []byte("apple"))
	fmt.Println(err)
	must(s.db.Close(ctx))
	must(os.RemoveAll(s.dir))
	// Output:
	// <nil> <nil>
	// replica: strictkv: database is closed
}

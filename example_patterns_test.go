package strictkv_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/cache"
)

// Pagination: each page goes on behind the last key of the one before. The key is all that has
// to be kept in between, in a cookie for example.
func ExampleRange_After() {
	db := openExample()
	defer db.Close(ctx)
	users := db.Collection([]byte("users"))
	for _, name := range []string{"alice", "bob", "carol", "dave", "erin"} {
		must(users.Write(ctx, []byte(name), nil))
	}
	next := strictkv.Range{Limit: 2, KeysOnly: true}
	for page, more := 1, true; more; page++ {
		more = false
		for item, err := range users.Items(ctx, next) {
			must(err)
			fmt.Printf("page %d: %s\n", page, item.Key)
			next, more = next.After(item.Key), true
		}
	}
	// Output:
	// page 1: alice
	// page 1: bob
	// page 2: carol
	// page 2: dave
	// page 3: erin
}

// Newest first: keys that begin with the time, big endian, sort by it, and a range in reverse
// begins with the last.
func ExampleRange_newestFirst() {
	db := openExample()
	defer db.Close(ctx)
	events := db.Collection([]byte("events"))
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, what := range []string{"created", "renamed", "archived"} {
		at := day.Add(time.Duration(i) * time.Hour)
		key := binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano()))
		must(events.Write(ctx, key, []byte(what)))
	}
	for item, err := range events.Items(ctx, strictkv.Range{Reverse: true, Limit: 2}) {
		must(err)
		at := time.Unix(0, int64(binary.BigEndian.Uint64(item.Key))).UTC()
		fmt.Println(at.Format(time.TimeOnly), string(item.Value))
	}
	// Output:
	// 02:00:00 archived
	// 01:00:00 renamed
}

// Unique index: a second collection has the user's name by the address, and both are written
// in one transaction. Insert makes sure that nobody else has the address.
func ExampleTx_Insert_uniqueIndex() {
	db := openExample()
	defer db.Close(ctx)
	users, byMail := db.Collection([]byte("users")), db.Collection([]byte("users by mail"))
	signUp := func(name, mail string) error {
		return db.Tx(ctx, func(tx *strictkv.Tx) error {
			if err := tx.Insert(byMail, []byte(mail), []byte(name)); err != nil {
				return err
			}
			return tx.Insert(users, []byte(name), []byte(mail))
		})
	}
	fmt.Println(signUp("alice", "a@example.com"))
	fmt.Println(signUp("adam", "a@example.com"))
	_, err := users.Read(ctx, []byte("adam"))
	fmt.Println(err)
	// Output:
	// <nil>
	// insert "a@example.com": key exists
	// read "adam": not found
}

// Idempotency: who is in doubt, or was restarted, does the same once more. The request's id is
// written in the same transaction, so that it takes effect once.
func ExampleDB_Tx_idempotent() {
	db := openExample()
	defer db.Close(ctx)
	done, accounts := db.Collection([]byte("done")), db.Collection([]byte("accounts"))
	deposit := func(request string, amount byte) error {
		err := db.Tx(ctx, func(tx *strictkv.Tx) error {
			if err := tx.Insert(done, []byte(request), nil); err != nil {
				return err
			}
			balance, err := tx.Read(accounts, []byte("alice"))
			if errors.Is(err, strictkv.ErrNotFound) {
				balance, err = []byte{0}, nil
			}
			if err != nil {
				return err
			}
			return tx.Write(accounts, []byte("alice"), []byte{balance[0] + amount})
		})
		if errors.Is(err, strictkv.ErrExists) {
			return nil // it was done before
		}
		return err
	}
	for range 3 {
		must(deposit("request 1", 50))
	}
	balance, err := accounts.Read(ctx, []byte("alice"))
	fmt.Println(balance[0], err)
	// Output: 50 <nil>
}

func ExampleTx_Attempt() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(db.Tx(ctx, func(tx *strictkv.Tx) error {
		if tx.Attempt() > 10 {
			return errors.New("too busy")
		}
		fmt.Println("run", tx.Attempt())
		return tx.Write(c, []byte("key"), nil)
	}))
	// Output: run 1
}

func ExampleTx_RetryCause() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(db.Tx(ctx, func(tx *strictkv.Tx) error {
		fmt.Println(tx.RetryCause())
		if _, err := tx.Read(c, []byte("key")); !errors.Is(err, strictkv.ErrNotFound) {
			return err
		}
		if tx.Attempt() == 1 { // somebody else comes between
			must(c.Write(context.Background(), []byte("other"), nil))
		}
		return tx.Write(c, []byte("key"), nil)
	}))
	// Output: first run
}

func ExampleRetryCause_String() {
	fmt.Println(strictkv.WriteConflict)
	// Output: write conflict
}

func ExampleWithProbe() {
	db := openExample(strictkv.WithProbe(strictkv.ProbeAgain)) // the bucket was copied
	defer db.Close(ctx)
	fmt.Println(db.Stats().KeepsTombstones)
	// Output: false
}

// A cache that two databases of a process share.
func ExampleWithCache_default() {
	shared := cache.New(cache.DefaultSize())
	db := openExample(strictkv.WithCache(shared))
	defer db.Close(ctx)
	must(db.Collection([]byte("c")).Write(ctx, []byte("key"), []byte("value")))
	fmt.Println(shared.Size() > 0)
	// Output: true
}

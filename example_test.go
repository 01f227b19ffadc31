package strictkv_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/cache"
)

var ctx = context.Background()

// openExample opens an empty database in memory.
func openExample(opts ...strictkv.Option) *strictkv.DB {
	db, err := strictkv.Open(ctx, "example", memory.New(), opts...)
	must(err)
	return db
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func Example() {
	db, err := strictkv.Open(ctx, "example", memory.New())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close(ctx)

	coll := db.Collection([]byte("my-collection"))
	key := []byte("key")
	for range 2 {
		err := db.Tx(ctx, func(tx *strictkv.Tx) error {
			b, err := tx.Read(coll, key)
			if err != nil && !errors.Is(err, backend.ErrNotFound) {
				return err
			}
			if string(b) == "Hello" {
				return tx.Write(coll, key, []byte("world!"))
			}
			return tx.Write(coll, key, []byte("Hello"))
		})
		b, rerr := coll.Read(ctx, key)
		fmt.Println(string(b), err, rerr)
	}
	// Output:
	// Hello <nil> <nil>
	// world! <nil> <nil>
}

func ExampleOpen() {
	bucket := memory.New() // or folder.New, gcs.New
	one, err := strictkv.Open(ctx, "one", bucket)
	must(err)
	two, err := strictkv.Open(ctx, "two", bucket, strictkv.WithPatience(time.Second))
	must(err)

	must(one.Collection([]byte("c")).Write(ctx, []byte("key"), []byte("in one")))
	_, err = two.Collection([]byte("c")).Read(ctx, []byte("key"))
	fmt.Println(err)

	_, err = strictkv.Open(ctx, "not/allowed", bucket)
	fmt.Println(errors.Is(err, strictkv.ErrInvalid))
	// Output:
	// read "key": not found
	// true
}

func ExampleDB_Tx() {
	db := openExample()
	defer db.Close(ctx)
	accounts := db.Collection([]byte("accounts"))
	must(accounts.Write(ctx, []byte("alice"), []byte{100}))
	must(accounts.Write(ctx, []byte("bob"), []byte{50}))

	poor := errors.New("not enough")
	transfer := func(amount byte) error {
		return db.Tx(ctx, func(tx *strictkv.Tx) error {
			r := tx.ReadMulti(accounts.Key([]byte("alice")), accounts.Key([]byte("bob")))
			if err := errors.Join(r[0].Err, r[1].Err); err != nil {
				return err
			}
			alice, bob := r[0].Value[0], r[1].Value[0]
			if alice < amount {
				return poor // no effect
			}
			if err := tx.Write(accounts, []byte("alice"), []byte{alice - amount}); err != nil {
				return err
			}
			return tx.Write(accounts, []byte("bob"), []byte{bob + amount})
		})
	}
	fmt.Println(transfer(70), transfer(70))
	bob, err := accounts.Read(ctx, []byte("bob"))
	fmt.Println(bob, err)
	// Output:
	// <nil> not enough
	// [120] <nil>
}

func ExampleDB_View() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("a"), []byte("1")))

	err := db.View(ctx, func(tx *strictkv.Tx) error {
		for _, r := range tx.ReadMulti(c.Key([]byte("a")), c.Key([]byte("b"))) {
			fmt.Printf("%q %v\n", r.Value, r.Err)
		}
		return nil
	})
	fmt.Println(err)
	err = db.View(ctx, func(tx *strictkv.Tx) error {
		return tx.Write(c, []byte("a"), []byte("2"))
	})
	fmt.Println(errors.Is(err, strictkv.ErrReadOnly))
	// Output:
	// "1" <nil>
	// "" read "b": not found
	// <nil>
	// true
}

func ExampleMaxStaleness() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("key"), []byte("value")))

	before := db.Stats()
	err := db.View(ctx, func(tx *strictkv.Tx) error {
		_, err := tx.Read(c, []byte("key"))
		return err
	}, strictkv.MaxStaleness(time.Minute))
	fmt.Println(err, db.Stats().Sub(before).Gets, "requests")
	// Output: <nil> 0 requests
}

func ExampleMaxAttempts() {
	bucket := memory.New()
	db, err := strictkv.Open(ctx, "shop", bucket)
	must(err)
	defer db.Close(ctx)
	elsewhere, err := strictkv.Open(ctx, "shop", bucket)
	must(err)
	defer elsewhere.Close(ctx)
	ours, theirs := db.Collection([]byte("c")), elsewhere.Collection([]byte("c"))

	err = db.Tx(ctx, func(tx *strictkv.Tx) error {
		_, err := tx.Read(ours, []byte("key"))
		if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
			return err
		}
		// Somebody else is always faster.
		must(theirs.Write(ctx, []byte("key"), []byte("theirs")))
		return tx.Write(ours, []byte("key"), []byte("ours"))
	}, strictkv.MaxAttempts(3))
	fmt.Println(errors.Is(err, strictkv.ErrConflict), err)
	// Output: true conflict: gave up after 3 attempts
}

func ExampleDo() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))

	take := func() (byte, error) {
		return strictkv.Do(ctx, db, func(tx *strictkv.Tx) (byte, error) {
			next := byte(1)
			switch v, err := tx.Read(c, []byte("next")); {
			case err == nil:
				next = v[0]
			case !errors.Is(err, strictkv.ErrNotFound):
				return 0, err
			}
			return next, tx.Write(c, []byte("next"), []byte{next + 1})
		})
	}
	fmt.Println(take())
	fmt.Println(take())
	// Output:
	// 1 <nil>
	// 2 <nil>
}

func ExampleDoView() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("a"), []byte("1")))

	found, err := strictkv.DoView(ctx, db, func(tx *strictkv.Tx) (n int, err error) {
		for _, r := range tx.ReadMulti(c.Key([]byte("a")), c.Key([]byte("b"))) {
			switch {
			case r.Err == nil:
				n++
			case !errors.Is(r.Err, strictkv.ErrNotFound):
				return 0, r.Err
			}
		}
		return n, nil
	})
	fmt.Println(found, err)
	// Output: 1 <nil>
}

func ExampleDB_Collection() {
	db := openExample()
	defer db.Close(ctx)
	users := db.Collection([]byte("users")) // needs no creation
	fmt.Println(users.Write(ctx, []byte("alice"), []byte("admin")))

	bad := db.Collection([]byte("")) // shows at the first use
	fmt.Println(errors.Is(bad.Write(ctx, []byte("key"), nil), strictkv.ErrInvalidKey))
	// Output:
	// <nil>
	// true
}

func ExampleCollection_Collection() {
	db := openExample()
	defer db.Close(ctx)
	users := db.Collection([]byte("users"))
	alice := users.Collection([]byte("alice"))
	must(users.Write(ctx, []byte("alice"), []byte("a user")))
	must(alice.Write(ctx, []byte("theme"), []byte("dark")))

	v, err := alice.Read(ctx, []byte("theme"))
	fmt.Printf("%s %v\n", v, err)
	_, err = users.Read(ctx, []byte("theme"))
	fmt.Println(err)
	// Output:
	// dark <nil>
	// read "theme": not found
}

func ExampleCollection_DB() {
	db := openExample()
	defer db.Close(ctx)
	users := db.Collection([]byte("users"))
	err := users.DB().Tx(ctx, func(tx *strictkv.Tx) error {
		return tx.Write(users, []byte("alice"), nil)
	})
	fmt.Println(users.DB() == db, err)
	// Output: true <nil>
}

func ExampleCollection_Key() {
	db := openExample()
	defer db.Close(ctx)
	users, teams := db.Collection([]byte("users")), db.Collection([]byte("teams"))
	must(users.Write(ctx, []byte("alice"), []byte("red")))
	must(teams.Write(ctx, []byte("red"), []byte("3 points")))

	must(db.View(ctx, func(tx *strictkv.Tx) error {
		for _, r := range tx.ReadMulti(users.Key([]byte("alice")), teams.Key([]byte("red"))) {
			fmt.Printf("%s %v\n", r.Value, r.Err)
		}
		return nil
	}))
	// Output:
	// red <nil>
	// 3 points <nil>
}

func ExampleCollection_Read() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("key"), nil))

	v, err := c.Read(ctx, []byte("key"))
	fmt.Println(v, err) // a nil value is stored as an empty one
	_, err = c.Read(ctx, []byte("other"))
	fmt.Println(errors.Is(err, strictkv.ErrNotFound))
	// Output:
	// [] <nil>
	// true
}

func ExampleCollection_ReadWeak() {
	bucket := memory.New()
	ours, err := strictkv.Open(ctx, "example", bucket)
	must(err)
	theirs, err := strictkv.Open(ctx, "example", bucket)
	must(err)
	key := []byte("key")
	must(ours.Collection([]byte("c")).Write(ctx, key, []byte("old")))
	must(theirs.Collection([]byte("c")).Write(ctx, key, []byte("new")))

	v, err := ours.Collection([]byte("c")).ReadWeak(ctx, key, time.Minute)
	fmt.Printf("%s %v\n", v, err)
	v, err = ours.Collection([]byte("c")).ReadWeak(ctx, key, 0)
	fmt.Printf("%s %v\n", v, err)
	// Output:
	// old <nil>
	// new <nil>
}

func ExampleCollection_Write() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	fmt.Println(c.Write(ctx, []byte("key"), []byte("value")))
	fmt.Println(c.Write(ctx, []byte("key"), make([]byte, 65<<20)))
	// Output:
	// <nil>
	// write "key": value too large: 68157440, limit 67108864
}

func ExampleCollection_Insert() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	fmt.Println(c.Insert(ctx, []byte("key"), []byte("first")))
	err := c.Insert(ctx, []byte("key"), []byte("second"))
	fmt.Println(errors.Is(err, strictkv.ErrExists), err)
	// Output:
	// <nil>
	// true insert "key": key exists
}

func ExampleCollection_Delete() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("key"), []byte("value")))
	fmt.Println(c.Delete(ctx, []byte("key")), c.Delete(ctx, []byte("key")))
	// Output: <nil> <nil>
}

func ExampleCollection_Update() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	visit := func(old []byte) ([]byte, error) {
		return append(old, '|'), nil // old is nil at first
	}
	must(c.Update(ctx, []byte("visits"), visit))
	must(c.Update(ctx, []byte("visits"), visit))
	v, err := c.Read(ctx, []byte("visits"))
	fmt.Printf("%s %v\n", v, err)

	must(c.Update(ctx, []byte("visits"), func([]byte) ([]byte, error) {
		return nil, strictkv.Remove
	}))
	_, err = c.Read(ctx, []byte("visits"))
	fmt.Println(err)
	// Output:
	// || <nil>
	// read "visits": not found
}

func ExampleTx_Read() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(db.Tx(ctx, func(tx *strictkv.Tx) error {
		if _, err := tx.Read(c, []byte("key")); !errors.Is(err, strictkv.ErrNotFound) {
			return fmt.Errorf("unexpected: %w", err)
		}
		if err := tx.Write(c, []byte("key"), []byte("mine")); err != nil {
			return err
		}
		v, err := tx.Read(c, []byte("key")) // sees what the transaction has written
		fmt.Printf("%s %v\n", v, err)
		return nil
	}))
	// Output: mine <nil>
}

func ExampleTx_ReadMulti() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("b"), []byte("2")))
	must(db.View(ctx, func(tx *strictkv.Tx) error {
		// In parallel: two round trips with the validation, however many keys.
		for _, r := range tx.ReadMulti(c.Key([]byte("a")), c.Key([]byte("b"))) {
			if errors.Is(r.Err, strictkv.ErrNotFound) {
				fmt.Println("absent")
				continue
			}
			fmt.Printf("%s %v\n", r.Value, r.Err)
		}
		return nil
	}))
	// Output:
	// absent
	// 2 <nil>
}

func ExampleTx_Write() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	before := db.Stats()
	must(db.Tx(ctx, func(tx *strictkv.Tx) error {
		value := []byte("one")
		err := tx.Write(c, []byte("a"), value)
		copy(value, "two") // values may be reused after the call
		return errors.Join(err, tx.Write(c, []byte("b"), value))
	}))
	fmt.Println(db.Stats().Sub(before).Committed, "commit")
	a, _ := c.Read(ctx, []byte("a"))
	b, _ := c.Read(ctx, []byte("b"))
	fmt.Printf("%s %s\n", a, b)
	// Output:
	// 1 commit
	// one two
}

func ExampleTx_Insert() {
	db := openExample()
	defer db.Close(ctx)
	users, emails := db.Collection([]byte("users")), db.Collection([]byte("emails"))
	register := func(name, email string) error {
		return db.Tx(ctx, func(tx *strictkv.Tx) error {
			if err := tx.Insert(emails, []byte(email), []byte(name)); err != nil {
				return err
			}
			return tx.Insert(users, []byte(name), []byte(email))
		})
	}
	fmt.Println(register("alice", "a@example.com"))
	fmt.Println(register("bob", "a@example.com"))
	// Output:
	// <nil>
	// insert "a@example.com": key exists
}

// A transaction that leaves the id of its request can be run again after ErrInDoubt: it
// happens once.
func ExampleTx_Insert_idempotent() {
	db := openExample()
	defer db.Close(ctx)
	done, sums := db.Collection([]byte("done")), db.Collection([]byte("sums"))
	add := func(requestID string) error {
		return db.Tx(ctx, func(tx *strictkv.Tx) error {
			err := tx.Insert(done, []byte(requestID), nil)
			if errors.Is(err, strictkv.ErrExists) {
				return nil // it has committed before
			} else if err != nil {
				return err
			}
			sum, err := tx.Read(sums, []byte("sum"))
			if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
				return err
			}
			return tx.Write(sums, []byte("sum"), append(sum, '|'))
		})
	}
	fmt.Println(add("request 1"), add("request 1"), add("request 2"))
	sum, err := sums.Read(ctx, []byte("sum"))
	fmt.Printf("%s %v\n", sum, err)
	// Output:
	// <nil> <nil> <nil>
	// || <nil>
}

func ExampleTx_Delete() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("old name"), []byte("value")))
	must(db.Tx(ctx, func(tx *strictkv.Tx) error {
		v, err := tx.Read(c, []byte("old name"))
		if err != nil {
			return err
		}
		if err := tx.Delete(c, []byte("old name")); err != nil {
			return err
		}
		return tx.Write(c, []byte("new name"), v)
	}))
	_, err := c.Read(ctx, []byte("old name"))
	fmt.Println(err)
	// Output: read "old name": not found
}

func ExampleTx_Lock() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("limit"), []byte{3}))
	must(c.Write(ctx, []byte("used"), []byte{1}))

	before := db.Stats()
	must(db.Tx(ctx, func(tx *strictkv.Tx) error {
		// The limit is read and not written. Locked, it costs writes instead of rounds.
		if err := tx.Lock(c, []byte("limit")); err != nil {
			return err
		}
		limit, err := tx.Read(c, []byte("limit"))
		if err != nil {
			return err
		}
		used, err := tx.Read(c, []byte("used"))
		if err != nil || used[0] == limit[0] {
			return err
		}
		return tx.Write(c, []byte("used"), []byte{used[0] + 1})
	}))
	did := db.Stats().Sub(before)
	fmt.Println(did.Parallel, "parallel commit,", did.Validated, "validated")
	// Output: 1 parallel commit, 0 validated
}

func ExampleTx_Abort() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	err := db.Tx(ctx, func(tx *strictkv.Tx) error {
		if err := tx.Write(c, []byte("key"), []byte("value")); err != nil {
			return err
		}
		return tx.Abort()
	})
	_, rerr := c.Read(ctx, []byte("key"))
	fmt.Println(errors.Is(err, strictkv.ErrAborted), rerr)
	// Output: true read "key": not found
}

func ExampleTx_Context() {
	db := openExample()
	defer db.Close(ctx)
	type traceKey struct{}
	traced := context.WithValue(ctx, traceKey{}, "trace 7")
	must(db.View(traced, func(tx *strictkv.Tx) error {
		fmt.Println(tx.Context().Value(traceKey{}))
		return nil
	}))
	// Output: trace 7
}

func ExampleDB_Stats() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Insert(ctx, []byte("key"), []byte("value")))
	_, err := c.Read(ctx, []byte("key"))
	must(err)

	s := db.Stats() // with the requests by which Open has created the database
	fmt.Println(s.Committed, "committed,", s.ReadOnly, "read only")
	fmt.Println(s.Gets, "reads,", s.NotModified, "of them not modified,", s.Puts, "writes")
	// Output:
	// 1 committed, 1 read only
	// 7 reads, 1 of them not modified, 10 writes
}

func ExampleStats_Sub() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	before := db.Stats()
	must(c.Insert(ctx, []byte("key"), []byte("value")))
	fmt.Println(db.Stats().Sub(before).Puts, "write, without that of opening")
	// Output: 1 write, without that of opening
}

func ExampleDB_Check() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	must(c.Write(ctx, []byte("a"), []byte("1")))
	must(c.Write(ctx, []byte("b"), []byte("2")))
	must(c.Delete(ctx, []byte("b")))

	r, err := db.Check(ctx, strictkv.CheckOptions{})
	fmt.Println(r.Values, "value,", r.Tombstones, "tombstone,", len(r.Problems), "problems", err)
	// Output: 1 value, 1 tombstone, 0 problems <nil>
}

func ExampleDB_Close() {
	db := openExample()
	fmt.Println(db.Close(ctx), db.Close(ctx))
	err := db.View(ctx, func(*strictkv.Tx) error { return nil })
	fmt.Println(errors.Is(err, strictkv.ErrClosed))
	// Output:
	// <nil> <nil>
	// true
}

func ExampleWithCacheSize() {
	db := openExample(strictkv.WithCacheSize(64 << 20)) // 64 MiB
	fmt.Println(db.Close(ctx))
	// Output: <nil>
}

func ExampleWithCache() {
	bucket, shared := memory.New(), cache.New(64<<20)
	one, err := strictkv.Open(ctx, "one", bucket, strictkv.WithCache(shared))
	must(err)
	two, err := strictkv.Open(ctx, "two", bucket, strictkv.WithCache(shared))
	must(err)
	must(one.Collection([]byte("c")).Write(ctx, []byte("key"), []byte("one's")))
	must(two.Collection([]byte("c")).Write(ctx, []byte("key"), []byte("two's")))
	fmt.Println(shared.Size() > 0, one.Close(ctx), two.Close(ctx))
	// Output: true <nil> <nil>
}

func ExampleWithPatience() {
	// Keys of a crashed process are free sooner.
	db := openExample(strictkv.WithPatience(500 * time.Millisecond))
	fmt.Println(db.Close(ctx))
	// Output: <nil>
}

func ExampleWithConcurrency() {
	db := openExample(strictkv.WithConcurrency(16))
	fmt.Println(db.Close(ctx))
	// Output: <nil>
}

func ExampleWithRequests() {
	db := openExample(strictkv.WithRequests(strictkv.Requests{
		Timeout: 5 * time.Second, Retries: 3,
	}))
	defer db.Close(ctx)
	fmt.Println(db.Collection([]byte("c")).Write(ctx, []byte("key"), []byte("value")))
	// Output: <nil>
}

func ExampleDefaultRequests() {
	r := strictkv.DefaultRequests()
	fmt.Println(r.Timeout, r.Retries, r.BackoffMin, r.BackoffMax)
	// Output: 30s 8 50ms 5s
}

func ExampleWithInlineMax() {
	db := openExample(strictkv.WithInlineMax(64 << 10))
	defer db.Close(ctx)
	c := db.Collection([]byte("c"))
	fmt.Println(c.Write(ctx, []byte("key"), make([]byte, 1<<20))) // an object of its own
	v, err := c.Read(ctx, []byte("key"))
	fmt.Println(len(v), err)
	// Output:
	// <nil>
	// 1048576 <nil>
}

func ExampleWithLogger() {
	h := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})
	db := openExample(strictkv.WithLogger(slog.New(h)))
	fmt.Println(db.Close(ctx))
	// Output:
	// level=INFO msg=opened database=example read_only=false keeps_tombstones=false
	// <nil>
}

func ExampleInDoubtError() {
	// The caller leaves while the commit is on its way, and the answer is lost.
	leaving, leave := context.WithCancel(ctx)
	store := faulty.New(memory.New(), faulty.Options{
		After: func(_ context.Context, op faulty.Op, a *faulty.Answer) {
			if strings.HasSuffix(op.Name, "=key") && op.Write() {
				leave()
				a.Err = backend.ErrOutcomeUnknown
			}
		},
	})
	db, err := strictkv.Open(ctx, "example", store)
	must(err)
	c := db.Collection([]byte("c"))
	err = c.Insert(leaving, []byte("key"), []byte("value"))
	fmt.Println(errors.Is(err, strictkv.ErrInDoubt), errors.Is(err, context.Canceled))

	var doubt *strictkv.InDoubtError
	if errors.As(err, &doubt) {
		for _, k := range doubt.Keys {
			v, err := k.Collection.Read(ctx, k.Key) // it may have committed: it has
			fmt.Printf("%s: %s %v\n", k.Key, v, err)
		}
	}
	// Output:
	// true true
	// key: value <nil>
}

func ExampleKeyError() {
	db := openExample()
	defer db.Close(ctx)
	err := db.Collection([]byte("c")).Write(ctx, make([]byte, 600), nil)
	var bad *strictkv.KeyError
	if errors.As(err, &bad) {
		fmt.Println(bad)
		fmt.Println(bad.Len, bad.Limit, errors.Is(err, strictkv.ErrInvalidKey))
	}
	// Output:
	// invalid key: the key has 600 bytes; at most 512 are allowed
	// 600 512 true
}

func ExampleSizeError() {
	db := openExample()
	defer db.Close(ctx)
	err := db.Collection([]byte("c")).Write(ctx, []byte("key"), make([]byte, 64<<20+1))
	var large *strictkv.SizeError
	if errors.As(err, &large) {
		fmt.Println(large.What, large.Size, large.Limit, errors.Is(err, strictkv.ErrTooLarge))
	}
	// Output: value 67108865 67108864 true
}

func ExampleCorruptError() {
	bucket := memory.New()
	_, err := bucket.Put(ctx, "example/meta", []byte("something else"), backend.IfAbsent())
	must(err)
	_, err = strictkv.Open(ctx, "example", bucket)
	var corrupt *strictkv.CorruptError
	if errors.As(err, &corrupt) {
		fmt.Println(corrupt.Object, errors.Is(err, strictkv.ErrCorrupt))
		fmt.Println(corrupt.Err)
	}
	// Output:
	// example/meta true
	// not the meta object of a StrictKV database
}

func ExampleOpen_folder() {
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := strictkv.Open(ctx, "example", folder.New(dir))
	must(err)
	fmt.Println(db.Close(ctx))
	// Output: <nil>
}

// Drop removes a database, and leaves its neighbours in the bucket alone.
func ExampleDB_Drop() {
	bucket := memory.New()
	for _, name := range []string{"staging", "staging-2"} {
		db, err := strictkv.Open(ctx, name, bucket)
		must(err)
		must(db.Collection([]byte("users")).Write(ctx, []byte("alice"), []byte("here")))
		must(db.Close(ctx))
	}
	db, err := strictkv.Open(ctx, "staging", bucket, strictkv.MustExist())
	must(err)
	fmt.Println(db.Drop(ctx))
	fmt.Println(bucket.Len(), "objects are left")
	// Output:
	// 2 <nil>
	// 2 objects are left
}

// A database that is expected to be there is not created by a typo.
func ExampleMustExist() {
	bucket := memory.New()
	_, err := strictkv.Open(ctx, "exampel", bucket, strictkv.MustExist())
	fmt.Println(errors.Is(err, strictkv.ErrNoDatabase), errors.Is(err, strictkv.ErrNotFound))
	// Output: true false
}

// A dashboard needs no permission to write.
func ExampleReadOnly() {
	bucket := memory.New()
	db, err := strictkv.Open(ctx, "example", bucket)
	must(err)
	defer db.Close(ctx)
	must(db.Collection([]byte("users")).Write(ctx, []byte("alice"), []byte("here")))

	reader, err := strictkv.Open(ctx, "example", bucket, strictkv.ReadOnly())
	must(err)
	defer reader.Close(ctx)
	users := reader.Collection([]byte("users"))
	v, err := users.Read(ctx, []byte("alice"))
	fmt.Println(string(v), err)
	fmt.Println(errors.Is(users.Delete(ctx, []byte("alice")), strictkv.ErrReadOnly))
	// Output:
	// here <nil>
	// true
}

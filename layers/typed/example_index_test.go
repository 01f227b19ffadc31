package typed_test

import (
	"errors"
	"fmt"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/typed"
)

type pair = typed.Pair[string, int]

var pairs = typed.PairOf(typed.String[string](), typed.Int[int]())

func ExamplePairOf() {
	show[pair](pairs, pair{First: "a", Second: 1})
	// Output: 0261001501 {a 1} <nil>
}

func ExamplePairCodec_Prefix() {
	b, err := pairs.Prefix("a")
	fmt.Printf("%x %v\n", b, err)
	// Output: 026100 <nil>
}

func ExamplePairCodec_Name() {
	fmt.Println(pairs.Name())
	// Output: pair of string and int
}

func ExamplePairCodec_Append() {
	b, err := pairs.Append(nil, pair{First: "a", Second: -1})
	fmt.Printf("%x %v\n", b, err)
	// Output: 02610013fe <nil>
}

func ExamplePairCodec_Decode() {
	p, err := pairs.Decode([]byte("\x02a\x00\x13\xfe"))
	fmt.Println(p, err)
	// Output: {a -1} <nil>
}

func ExamplePairCodec_AppendPart() {
	b, err := pairs.AppendPart([]byte("x"), pair{First: "a"})
	fmt.Printf("%q %v\n", b, err)
	// Output: "x\x02a\x00\x14" <nil>
}

func ExamplePairCodec_DecodePart() {
	p, rest, err := pairs.DecodePart([]byte("\x02a\x00\x14rest"))
	fmt.Printf("%v %q %v\n", p, rest, err)
	// Output: {a 0} "rest" <nil>
}

// A part that holds a zero is not taken for one that ends there.
func ExampleRange_prefix() {
	_, db := example()
	defer db.Close(ctx)
	c := typed.New(db.Collection([]byte("pairs")), pairs, typed.JSON[bool]())
	for _, p := range []pair{{"a", 2}, {"a\x00b", 1}, {"a", 1}, {"b", 1}} {
		if err := c.Auto().Set(ctx, p, true); err != nil {
			fmt.Println(err)
		}
	}
	ofA, _ := pairs.Prefix("a")
	for item, err := range c.Auto().Items(ctx, typed.Range[pair]{Prefix: ofA}) {
		fmt.Println(item.Key, err)
	}
	// Output:
	// {a 1} <nil>
	// {a 2} <nil>
}

// Values may have several index keys, or none.
func ExampleNewIndex() {
	users, db := example()
	defer db.Close(ctx)
	typed.NewIndex(users.Collection, "mail domain", typed.String[string](),
		func(a account) []string {
			for i, r := range a.Mail {
				if r == '@' {
					return []string{a.Mail[i+1:]}
				}
			}
			return nil
		})
	fmt.Println(users.Auto().Insert(ctx, "dave", account{Mail: "d@example.org"}))
	// Output: <nil>
}

func ExampleNewUnique() {
	users, db := example()
	defer db.Close(ctx)
	err := users.Auto().Insert(ctx, "dave", account{Mail: "a@example.com"})
	fmt.Println(errors.Is(err, typed.ErrNotUnique))
	// Output: true
}

func ExampleIndex_Find() {
	users, db := example()
	defer db.Close(ctx)
	in(db, func(tx *strictkv.Tx) error {
		for item, err := range users.city.Find(tx, "Rome", typed.Range[string]{}) {
			if err != nil {
				return err
			}
			fmt.Println(item.Key, item.Value.Mail)
		}
		return nil
	})
	// Output:
	// alice a@example.com
	// carol c@example.com
}

func ExampleIndex_Scan() {
	users, db := example()
	defer db.Close(ctx)
	in(db, func(tx *strictkv.Tx) error {
		for e, err := range users.city.Scan(tx, typed.Range[string]{KeysOnly: true}) {
			if err != nil {
				return err
			}
			fmt.Println(e.Index, e.Key)
		}
		return nil
	})
	// Output:
	// Oslo bob
	// Rome alice
	// Rome carol
}

func ExampleUnique_Get() {
	users, db := example()
	defer db.Close(ctx)
	in(db, func(tx *strictkv.Tx) error {
		name, a, ok, err := users.mail.Get(tx, "b@example.com")
		fmt.Println(name, a.City, ok)
		return err
	})
	// Output: bob Oslo true
}

func ExampleUnique_Scan() {
	users, db := example()
	defer db.Close(ctx)
	in(db, func(tx *strictkv.Tx) error {
		for e, err := range users.mail.Scan(tx, typed.StringPrefix("b")) {
			if err != nil {
				return err
			}
			fmt.Println(e.Index, e.Key, e.Value.City)
		}
		return nil
	})
	// Output: b@example.com bob Oslo
}

// A new index of a collection that has values: rebuild it once, beside programs that write.
func ExampleIndex_Rebuild() {
	users, db := example()
	defer db.Close(ctx)
	byInitial := typed.NewIndex(users.Collection, "initial", typed.String[string](),
		func(a account) []string { return []string{a.Mail[:1]} })
	report, err := byInitial.Rebuild(ctx)
	fmt.Println(report.Values, report.Missing, report.Problems, err)
	// Output: 3 3 [] <nil>
}

func ExampleIndex_Verify() {
	users, db := example()
	defer db.Close(ctx)
	report, err := users.city.Verify(ctx)
	fmt.Println(report.InStep(), err)
	// Output: true <nil>
}

func ExampleUnique_Rebuild() {
	users, db := example()
	defer db.Close(ctx)
	byCity := typed.NewUnique(users.Collection, "one of each city", typed.String[string](),
		func(a account) []string { return []string{a.City} })
	report, err := byCity.Rebuild(ctx)
	for _, p := range report.Problems {
		fmt.Printf("%s: %v\n", p.Key, errors.Is(p.Err, typed.ErrNotUnique))
	}
	fmt.Println(report.Missing, err)
	// Output:
	// carol: true
	// 2 <nil>
}

func ExampleUnique_Verify() {
	users, db := example()
	defer db.Close(ctx)
	if err := users.Raw().Delete(ctx, []byte("bob")); err != nil { // without its entries
		fmt.Println(err)
	}
	report, err := users.mail.Verify(ctx)
	fmt.Println(report.InStep(), report.Stale, err)
	// Output: false 1 <nil>
}

func ExampleReport_InStep() {
	fmt.Println(typed.Report{Values: 3, Entries: 3}.InStep(), typed.Report{Stale: 1}.InStep())
	// Output: true false
}

package typed_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/typed"
)

// benchKeys is how many values a benchmark has, and reads in one scan.
const benchKeys = 100

// BenchmarkTyped compares the calls of this package with what a user would write by hand: the
// calls of strictkv, with the same encoding of keys and values.
func BenchmarkTyped(b *testing.B) {
	ctx := b.Context()
	db := open(b, memory.New())
	raw := db.Collection([]byte("c"))
	c := typed.New(raw, typed.Int[int](), typed.JSON[user]())
	v := user{Mail: "alice@example.com", Tags: []string{"red", "blue"}, N: 1}
	for i := range benchKeys {
		require.NoError(b, c.Auto().Set(ctx, i, v))
	}
	keyOf := func(i int) []byte {
		return binary.BigEndian.AppendUint64(nil, uint64(i)^1<<63)
	}
	readTx := func(tx *strictkv.Tx, i int) (u user, err error) {
		v, err := tx.Read(raw, keyOf(i))
		if err == nil {
			err = json.Unmarshal(v, &u)
		}
		return u, err
	}
	writeTx := func(tx *strictkv.Tx, i int, u user) error {
		v, err := json.Marshal(u)
		if err != nil {
			return err
		}
		return tx.Write(raw, keyOf(i), v)
	}
	compare(b, "get", func(i int) error {
		v, err := raw.Read(ctx, keyOf(i))
		if err != nil {
			return err
		}
		var u user
		return json.Unmarshal(v, &u)
	}, func(i int) error {
		_, _, err := c.Auto().Get(ctx, i)
		return err
	})
	compare(b, "set", func(i int) error {
		return db.Tx(ctx, func(tx *strictkv.Tx) error { return writeTx(tx, i, v) })
	}, func(i int) error {
		return c.Auto().Set(ctx, i, v)
	})
	compare(b, "update", func(i int) error {
		return db.Tx(ctx, func(tx *strictkv.Tx) error {
			u, err := readTx(tx, i)
			if err != nil {
				return err
			}
			u.N++
			return writeTx(tx, i, u)
		})
	}, func(i int) error {
		return c.Auto().Update(ctx, i, func(u user, _ bool) (user, error) {
			u.N++
			return u, nil
		})
	})
}

// BenchmarkScan is the same of scans.
func BenchmarkScan(b *testing.B) {
	ctx := b.Context()
	db := open(b, memory.New())
	raw := db.Collection([]byte("c"))
	c := typed.New(raw, typed.Int[int](), typed.JSON[user]())
	for i := range benchKeys {
		v := user{Mail: "alice@example.com", Tags: []string{"red", "blue"}, N: 1}
		require.NoError(b, c.Auto().Set(ctx, i, v))
	}
	compare(b, "scan", func(int) error {
		return db.View(ctx, func(tx *strictkv.Tx) error {
			for i, err := range tx.Scan(raw, strictkv.Range{}) {
				if err != nil {
					return err
				}
				var u user
				if err := json.Unmarshal(i.Value, &u); err != nil {
					return err
				}
				_ = int(binary.BigEndian.Uint64(i.Key) ^ 1<<63)
			}
			return nil
		})
	}, func(int) error {
		return db.View(ctx, func(tx *strictkv.Tx) error {
			for _, err := range c.Scan(tx, typed.Range[int]{}) {
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// BenchmarkIndexed is a change of an indexed value, and the same two cells written by hand.
func BenchmarkIndexed(b *testing.B) {
	ctx := b.Context()
	db := open(b, memory.New())
	raw, byMail := db.Collection([]byte("c")), db.Collection([]byte("by mail"))
	hand := func(i int) error {
		key := fmt.Append(nil, "key", i)
		return db.Tx(ctx, func(tx *strictkv.Tx) error {
			v, err := tx.Read(raw, key)
			if err != nil {
				return err
			}
			var u user
			if err := json.Unmarshal(v, &u); err != nil {
				return err
			}
			if err := tx.Delete(byMail, append([]byte(u.Mail), key...)); err != nil {
				return err
			}
			u.N++
			u.Mail = fmt.Sprint(u.N, "@example.com")
			if v, err = json.Marshal(u); err != nil {
				return err
			}
			if err := tx.Write(raw, key, v); err != nil {
				return err
			}
			return tx.Insert(byMail, append([]byte(u.Mail), key...), nil)
		})
	}
	c := typed.New(db.Collection([]byte("t")), typed.String[string](), typed.JSON[user]())
	typed.NewIndex(c, "mail", typed.String[string](), func(u user) []string {
		return []string{u.Mail}
	})
	for i := range benchKeys {
		require.NoError(b, raw.Write(ctx, fmt.Append(nil, "key", i), []byte("{}")))
		require.NoError(b, c.Auto().Set(ctx, fmt.Sprint("key", i), user{}))
	}
	compare(b, "update", hand, func(i int) error {
		return c.Auto().Update(ctx, fmt.Sprint("key", i), func(u user, _ bool) (user, error) {
			u.N++
			u.Mail = fmt.Sprint(u.N, "@example.com")
			return u, nil
		})
	})
}

// compare runs both, on keys in turn.
func compare(b *testing.B, name string, raw, typed func(i int) error) {
	for kind, call := range map[string]func(i int) error{"raw": raw, "typed": typed} {
		b.Run(name+"/"+kind, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := call(i % benchKeys); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

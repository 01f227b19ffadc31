package strictkv_test

import (
	"bytes"
	"fmt"

	"github.com/strictkv/strictkv"
)

func ExampleCollection_ReadShared() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("pages"))
	must(c.Write(ctx, []byte("/"), []byte("<h1>Hello</h1>")))

	page, err := c.ReadShared(ctx, []byte("/"), 0)
	must(err)
	fmt.Printf("%s\n", page) // which only reads it
	// Output: <h1>Hello</h1>
}

func ExampleTx_ReadShared() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("settings"))
	must(c.Write(ctx, []byte("mode"), []byte("fast")))
	must(db.Tx(ctx, func(tx *strictkv.Tx) error {
		mode, err := tx.ReadShared(c, []byte("mode"))
		if err != nil {
			return err
		}
		fmt.Println(bytes.Equal(mode, []byte("fast"))) // which only reads it
		return nil
	}))
	// Output: true
}

func ExampleTx_WriteShared() {
	db := openExample()
	defer db.Close(ctx)
	c := db.Collection([]byte("pages"))
	page := bytes.Repeat([]byte("<p>Hello</p>"), 1000) // which nobody changes from now on
	must(db.Tx(ctx, func(tx *strictkv.Tx) error {
		return tx.WriteShared(c, []byte("/"), page)
	}))
	stored, err := c.Read(ctx, []byte("/"))
	must(err)
	fmt.Println(len(stored))
	// Output: 12000
}

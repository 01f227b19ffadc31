package main

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/cmd/strictkv/internal/keys"
)

func (a *app) ls() *cobra.Command {
	var limit int
	c := a.command(cobra.Command{
		Use: "ls [COLLECTION]", Short: "List collections and keys",
		Args: cobra.MaximumNArgs(1),
		Long: `Ls lists the collections of the database, or those in a collection, which end
with a slash, and then its keys. Collections are listed that have keys.`,
		Example: `  strictkv ls
  strictkv ls users/alice --limit 100`,
	}, func(ctx context.Context, args []string) error {
		return a.read(ctx, func(db *strictkv.DB) error { return a.list(ctx, db, args, limit) })
	})
	c.Flags().IntVar(&limit, "limit", 0, "at most this `number` of entries; 0 is all")
	return c
}

// list carries out an ls.
func (a *app) list(ctx context.Context, db *strictkv.DB, args []string, limit int) error {
	inner, items := db.Collections(ctx), iter.Seq2[strictkv.Item, error](nil)
	if len(args) > 0 {
		c, err := collection(db, args[0])
		if err != nil {
			return err
		}
		inner, items = c.Collections(ctx), c.Items(ctx, strictkv.Range{KeysOnly: true})
	}
	left := limit
	for name, err := range inner {
		if err != nil {
			return err
		}
		fields := map[string]any{}
		bytesOf(fields, "collection", name)
		if err := a.print(fields, "%s/\n", keys.ShowPath([][]byte{name})); err != nil {
			return err
		}
		if left--; left == 0 {
			return nil
		}
	}
	if items == nil {
		return nil
	}
	for item, err := range items {
		if err != nil {
			return err
		}
		if err := a.print(fieldsOf(item, true), "%s\n", keys.Show(item.Key)); err != nil {
			return err
		}
		if left--; left == 0 {
			return nil
		}
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/dump"
	"github.com/strictkv/strictkv/internal/keytext"
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
	if limit < 0 {
		return fmt.Errorf("%w: --limit %d", errUsage, limit)
	}
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
		path := keytext.ShowPath([][]byte{name})
		if err := a.print(dump.Row{Collection: path}, "%s/\n", path); err != nil {
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
		if err := a.print(dump.Of("", item), "%s\n", keytext.Show(item.Key)); err != nil {
			return err
		}
		if left--; left == 0 {
			return nil
		}
	}
	return nil
}

// within are the flags of a range.
type within struct {
	prefix, from, to   string
	reverse, keys, one bool
	limit              int
}

func (w *within) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&w.prefix, "prefix", "", "keys that begin with this `key`")
	f.StringVar(&w.from, "from", "", "from this `key` on")
	f.StringVar(&w.to, "to", "", "up to this `key`, which is not among them")
	f.BoolVar(&w.reverse, "reverse", false, "from the last key to the first")
	f.IntVar(&w.limit, "limit", 0, "at most this `number` of keys; 0 is all")
	f.BoolVar(&w.keys, "keys-only", false, "no values")
	c.MarkFlagsMutuallyExclusive("prefix", "from")
	c.MarkFlagsMutuallyExclusive("prefix", "to")
}

// parse is the range that the flags mean.
func (w *within) parse() (strictkv.Range, error) {
	r := strictkv.Range{}
	for _, x := range []struct {
		flag string
		set  func([]byte)
	}{
		{w.prefix, func(key []byte) { r = strictkv.Prefix(key) }},
		{w.from, func(key []byte) { r.From = key }},
		{w.to, func(key []byte) { r.To = key }},
	} {
		if x.flag == "" {
			continue
		}
		key, err := keytext.Parse(x.flag)
		if err != nil {
			return r, err
		}
		x.set(key)
	}
	r.Reverse, r.Limit, r.KeysOnly = w.reverse, w.limit, w.keys
	return r, nil
}

func (a *app) scan() *cobra.Command {
	var w within
	c := a.command(cobra.Command{
		Use: "scan COLLECTION", Short: "Print keys with their values",
		Args: cobra.ExactArgs(1),
		Long: `Scan prints keys with their values, in their order, with a tab between. It may
take any number of keys, and is no transaction, unless --snapshot says so.`,
		Example: `  strictkv scan users --from alice --limit 10
  strictkv scan orders --prefix '("2026")' --reverse
  strictkv scan users --keys-only --json`,
	}, func(ctx context.Context, args []string) error {
		r, err := w.parse()
		if err != nil {
			return err
		}
		return a.read(ctx, func(db *strictkv.DB) error {
			c, err := collection(db, args[0])
			if err != nil {
				return err
			}
			for item, err := range dump.Items(ctx, c, r, w.one) {
				if err == nil && w.keys {
					err = a.print(dump.Of("", item), "%s\n", keytext.Show(item.Key))
				} else if err == nil {
					err = a.print(dump.Of("", item), "%s\t%s\n",
						keytext.Show(item.Key), keytext.Value(item.Value))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
	w.register(c)
	snapshot(c, &w.one)
	return c
}

func snapshot(c *cobra.Command, one *bool) {
	c.Flags().BoolVar(one, "snapshot", false,
		"all of one instant: read by a transaction, and kept in memory until it is over")
}

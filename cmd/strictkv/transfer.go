package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/dump"
	"github.com/strictkv/strictkv/internal/keytext"
)

// formatFlag adds a command's --format.
func formatFlag(c *cobra.Command, format *string) {
	c.Flags().StringVar(format, "format", dump.JSON, "`format` of the rows: jsonl or csv")
	_ = c.RegisterFlagCompletionFunc("format",
		cobra.FixedCompletions([]string{dump.JSON, dump.CSV}, cobra.ShellCompDirectiveNoFileComp))
}

func (a *app) dump() *cobra.Command {
	var o dump.Options
	c := a.command(cobra.Command{
		Use: "dump [COLLECTION]", Short: "Write out a collection, or all of the database",
		Args: cobra.MaximumNArgs(1),
		Long: `Dump writes a collection's keys with their values to standard output, as JSON
lines or CSV, or those of all collections, each with its path. What load reads
from that is the same, byte by byte. Versions are written for people: load
makes new ones. Without --snapshot each key is of an instant of its own.`,
		Example: `  strictkv dump users >users.jsonl
  strictkv dump --format csv | gzip >all.csv.gz`,
	}, func(ctx context.Context, args []string) error {
		if o.Snapshot && len(args) == 0 {
			return fmt.Errorf("%w: --snapshot is of one COLLECTION", errUsage)
		}
		var done func()
		o.Progress, done = a.progress("keys written", true)
		defer done()
		return a.read(ctx, func(db *strictkv.DB) error {
			c, err := part(db, args)
			switch {
			case err != nil:
				return err
			case c == nil:
				return dump.Database(ctx, a.out, db, o)
			}
			return dump.Collection(ctx, a.out, c, o)
		})
	})
	formatFlag(c, &o.Format)
	snapshot(c, &o.Snapshot)
	return c
}

func (a *app) load() *cobra.Command {
	var o dump.Options
	c := a.command(cobra.Command{
		Use: "load [COLLECTION]", Short: "Insert the keys of a dump, or of other files",
		Args: cobra.MaximumNArgs(1),
		Long: `Load inserts the keys that it reads from standard input, many at once: into the
collection, or each into the one that its row names, below the given one. A key
that is there with the same value is fine, so that a load can be repeated; one
with another value is left as it is, and told of. A line that is malformed ends
the load: what stands before it is loaded.

JSON lines are objects with key and value, or key_base64 and value_base64 for
what is no text, and perhaps expires and collection. CSV has a line with these
names first. Values that have expired are passed over.`,
		Example: `  strictkv load users <users.jsonl
  gzip -dc all.csv.gz | strictkv load --format csv --create`,
	}, func(ctx context.Context, args []string) error {
		return a.write(ctx, func(db *strictkv.DB) error {
			var into [][]byte
			if len(args) > 0 {
				names, err := keytext.ParsePath(args[0])
				if err != nil {
					return err
				}
				into = names
			}
			var done func()
			o.Progress, done = a.progress("keys loaded", false)
			r, err := dump.Load(ctx, db, into, a.in, o)
			done()
			return cmp.Or(err, a.loaded(r)) // an error is more than problems
		})
	})
	formatFlag(c, &o.Format)
	a.creates(c)
	return c
}

// in leads to a key of a collection, if it is not the one of the call.
func in(path string) string {
	if path == "" {
		return ""
	}
	return keytext.Safe(path) + " "
}

// loaded tells what a load has done.
func (a *app) loaded(r dump.Report) error {
	if !a.json {
		for _, f := range r.Failures {
			fmt.Fprintf(a.err, "strictkv: %s%s: %s\n",
				in(f.Collection), f.Key, keytext.Safe(f.Error))
		}
		if more := r.Failed - int64(len(r.Failures)); more > 0 {
			fmt.Fprintf(a.err, "strictkv: and %d more\n", more)
		}
	}
	err := a.print(r, "%d inserted, %d there before, %d expired, %d failed; %d bytes\n",
		r.Inserted, r.Present, r.Expired, r.Failed, r.Bytes)
	if err == nil && r.Failed > 0 {
		err = fmt.Errorf("%d keys could not be loaded: %w", r.Failed, errProblems)
	}
	return err
}

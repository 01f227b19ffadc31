package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/keytext"
)

func (a *app) inspect() *cobra.Command {
	return a.command(cobra.Command{
		Use: "inspect COLLECTION KEY", Short: "Show what the object of a key holds",
		Args: cobra.ExactArgs(2),
		Long: `Inspect decodes the object of a key: the value with its version and those
before it; the intent of a transaction under way, or of one whose process has
died, with what has become of it and what its members show; the marks of
transactions that have committed. It changes nothing.`,
		Example: `  strictkv inspect users alice
  strictkv inspect orders '("2026", 42)' --json`,
	}, func(ctx context.Context, args []string) error {
		return a.read(ctx, func(db *strictkv.DB) error {
			c, key, err := place(db, args)
			if err != nil {
				return err
			}
			i, err := c.Inspect(ctx, key)
			switch {
			case err != nil:
				return err
			case i.ObjectVersion == "":
				return fmt.Errorf("object %s: %w", i.Object, strictkv.ErrNotFound)
			case a.json:
				return a.print(keytext.Fields(i), "")
			}
			return a.table(describe(i))
		})
	})
}

// describe tells what there is to see, in two columns.
func describe(i strictkv.Inspection) [][]string {
	out := [][]string{
		{"object", keytext.Safe(i.Object)},
		{"store's version", keytext.Value([]byte(i.ObjectVersion))},
	}
	out = append(out, describeValue("", i.Value)...)
	if i.Condemned {
		out = append(out, []string{"condemned", "a sweep will remove the object"})
	}
	for n, v := range i.Recent {
		out = append(out, []string{fmt.Sprintf("history %d", n+1), v.String()})
	}
	if in := i.Intent; in != nil {
		out = append(out,
			[]string{"intent", in.Outcome + ": " + in.Action + ", " + in.Mode},
			[]string{"  attempt", in.Attempt},
			[]string{"  begun", in.Since.UTC().Format(time.RFC3339)})
		if in.Action == "put" {
			out = append(out, describeValue("  ", in.Value)...)
		}
		for _, m := range in.Members {
			out = append(out, []string{"  member", describeMember(m) + ": " + m.Shows})
		}
		out = append(out, describeValue("read as ", i.Current)[:1]...)
	}
	for _, m := range i.Marks {
		out = append(out, []string{"mark", m.Attempt})
		for _, x := range m.Members {
			out = append(out, []string{"  member", describeMember(x)})
		}
	}
	return out
}

func describeMember(m strictkv.InspectedMember) string {
	return keytext.ShowPath(m.Collection) + " " + keytext.Show(m.Key)
}

func describeValue(lead string, v strictkv.InspectedValue) [][]string {
	shown := keytext.Value(v.Data)
	switch {
	case !v.Present:
		shown = "none"
	case v.External != "":
		shown = fmt.Sprintf("%d bytes in %s", v.Size, keytext.Safe(v.External))
	}
	out := [][]string{{lead + "value", shown}}
	if !v.Version.IsZero() {
		out = append(out, []string{lead + "version", v.Version.String()})
	}
	if !v.Expires.IsZero() {
		out = append(out, []string{lead + "expires", v.Expires.UTC().Format(time.RFC3339)})
	}
	return out
}

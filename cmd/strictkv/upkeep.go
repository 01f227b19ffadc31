package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/keytext"
)

// counted is one line of a report.
type counted struct {
	what  string
	n     int64
	bytes int64 // 0: not told
}

// counts prints a report, or else v as JSON.
func (a *app) counts(v any, list []counted) error {
	if a.json {
		return a.print(keytext.Fields(v), "")
	}
	lines := make([][]string, 0, len(list))
	for _, c := range list {
		line := []string{c.what, fmt.Sprint(c.n)}
		if c.bytes > 0 {
			line = append(line, fmt.Sprint(c.bytes, " bytes"))
		}
		lines = append(lines, line)
	}
	return a.table(lines)
}

// part is the collection that the arguments name, nil without any.
func part(db *strictkv.DB, args []string) (*strictkv.Collection, error) {
	if len(args) == 0 {
		return nil, nil
	}
	return collection(db, args[0])
}

func (a *app) stats() *cobra.Command {
	return a.command(cobra.Command{
		Use: "stats [COLLECTION]", Short: "Count objects and bytes by kind",
		Args: cobra.MaximumNArgs(1),
		Long: `Stats lists the objects of the database, or of a collection and what is nested
in it, and counts them by kind. It reads none: a list request for each 1000.
Which of the external values are garbage, check tells, and sweep removes.`,
		Example: "  strictkv stats\n  strictkv stats users --json",
	}, func(ctx context.Context, args []string) error {
		return a.read(ctx, func(db *strictkv.DB) error {
			c, err := part(db, args)
			if err != nil {
				return err
			}
			set, done := a.progress("objects listed", false)
			u, err := db.Usage(ctx, c, strictkv.Progress(func(p strictkv.WalkProgress) {
				set(p.Listed)
			}))
			done()
			if err != nil {
				return err
			}
			var list []counted
			for _, x := range []struct {
				what string
				strictkv.Count
			}{
				{"keys with a value", u.Values},
				{"keys with an intent, or that expire", u.Unread},
				{"external values", u.External},
				{"deleted keys", u.Tombstones},
				{"deleted keys, to be removed", u.Condemned},
				{"moved aside by repairs", u.Lost},
				{"foreign", u.Foreign},
				{"damaged", u.Damaged},
				{"hints for followers", u.Feed},
				{"the database's own", u.Other},
			} {
				list = append(list, counted{x.what, x.Objects, x.Bytes})
			}
			return a.counts(u, list)
		})
	})
}

func (a *app) check() *cobra.Command {
	var o strictkv.CheckOptions
	c := a.command(cobra.Command{
		Use: "check [COLLECTION]", Short: "Examine every object, and repair what can be",
		Args: cobra.MaximumNArgs(1),
		Long: `Check reads every object of the database, or of a collection and what is nested
in it, and tells what must not be. It exits with 4 if there is anything. With
--repair it moves aside, to DB/lost/, what does not belong where it is; a copy
is made first.`,
		Example: `  strictkv check
  strictkv check --repair --dry-run`,
	}, func(ctx context.Context, args []string) error {
		if (o.DryRun || o.Alone) && !o.Repair {
			return fmt.Errorf("%w: --dry-run and --alone are for --repair", errUsage)
		}
		use := a.read
		if o.Repair && !o.DryRun {
			use = a.write
		}
		return use(ctx, func(db *strictkv.DB) (err error) {
			if o.Collection, err = part(db, args); err != nil {
				return err
			}
			set, done := a.progress("objects examined", false)
			o.Progress = func(r strictkv.CheckReport) { set(r.Objects) }
			r, err := db.Check(ctx, o)
			done()
			return cmp.Or(err, a.checked(r)) // an error is more than problems
		})
	})
	c.Flags().BoolVar(&o.Repair, "repair", false, "move aside what does not belong where it is")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "tell what a repair would do")
	c.Flags().BoolVar(&o.Alone, "alone", false,
		"nobody else uses the database: repair also what others might depend on")
	return c
}

// checked tells what a check has found.
func (a *app) checked(r strictkv.CheckReport) error {
	err := a.counts(r, []counted{
		{"objects", r.Objects, r.Bytes}, {"keys with a value", r.Values, 0},
		{"external values", r.External, 0}, {"deleted keys", r.Tombstones, 0},
		{"deleted keys, to be removed", r.Condemned, 0},
		{"intents of committed transactions", r.Committed, 0},
		{"intents of dead transactions", r.Dead, 0},
		{"intents of undecided transactions", r.Undecided, 0},
		{"marks", r.Marks, 0}, {"external values without a key", r.Orphans, r.OrphanBytes},
		{"moved aside before", r.Lost, 0}, {"moved aside now", r.Moved, 0},
		{"problems", int64(len(r.Problems)), 0},
	})
	for _, p := range r.Problems {
		if err != nil || a.json {
			break
		}
		line := fmt.Sprintf("%s: %s", p.Object, p.What)
		if p.MovedTo != "" {
			line += ": moved to " + p.MovedTo
		}
		if p.Left != "" {
			line += ": left: " + strings.TrimPrefix(p.Left, "left: ")
		}
		_, err = fmt.Fprintln(a.out, keytext.Safe(line))
	}
	if err == nil && len(r.Problems) > 0 {
		err = fmt.Errorf("%d %w", len(r.Problems), errProblems)
	}
	return err
}

func (a *app) sweep() *cobra.Command {
	var o strictkv.SweepOptions
	var alone bool
	c := a.command(cobra.Command{
		Use: "sweep [COLLECTION]", Short: "Remove garbage", Args: cobra.MaximumNArgs(1),
		Long: `Sweep settles what processes have left that died, and removes values that have
expired, external values that no key refers to, and what is left of deleted
keys, in two sweeps a horizon apart. Others may use the database meanwhile.
Once a day is enough.`,
		Example: `  strictkv sweep --dry-run
  strictkv sweep --horizon 6h
  strictkv sweep --alone --yes`,
	}, func(ctx context.Context, args []string) error {
		if o.Horizon <= 0 {
			return fmt.Errorf("%w: --horizon %v: want a time, such as 24h", errUsage, o.Horizon)
		}
		use := a.read
		if !o.DryRun {
			use = a.write
		}
		if alone {
			o.Horizon = -1
			err := a.confirm("Does nobody else use the database, and remove all garbage?")
			if err != nil {
				return err
			}
		}
		return use(ctx, func(db *strictkv.DB) (err error) {
			if o.Collection, err = part(db, args); err != nil {
				return err
			}
			set, done := a.progress("objects listed", false)
			o.Progress = func(r strictkv.SweepReport) { set(r.Objects) }
			r, err := db.Sweep(ctx, o)
			done()
			return cmp.Or(err, a.swept(r))
		})
	})
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "tell what a sweep would do, and write nothing")
	c.Flags().DurationVar(&o.Horizon, "horizon", strictkv.DefaultHorizon,
		"the `age` from which on garbage is removed: longer than any transaction takes")
	c.Flags().BoolVar(&alone, "alone", false,
		"nobody else uses the database: remove all garbage at once")
	c.Flags().BoolVarP(&a.yes, "yes", "y", false, "don't ask, with --alone")
	c.MarkFlagsMutuallyExclusive("alone", "horizon")
	return c
}

// swept tells what a sweep has done.
func (a *app) swept(r strictkv.SweepReport) error {
	return a.counts(r, []counted{
		{"objects", r.Objects, r.Bytes}, {"intents settled", r.Settled, 0},
		{"values expired", r.Expired, 0}, {"deleted keys announced", r.Condemned, 0},
		{"deleted keys removed", r.Tombstones, 0},
		{"external values removed", r.Values, r.ValueBytes}, {"waiting", r.Waiting, 0},
		{"changed meanwhile", r.Changed, 0}, {"foreign", r.Foreign, 0},
		{"damaged", r.Damaged, 0}, {"failed", r.Failed, 0},
	})
}

func (a *app) drop() *cobra.Command {
	var all bool
	c := a.command(cobra.Command{
		Use: "drop [COLLECTION]", Short: "Delete a collection, or the whole database",
		Args: cobra.MaximumNArgs(1),
		Long: `Drop deletes all keys of a collection and of those nested in it, or, with --all,
the whole database with every object of it: stop all programs that use it
before. It asks. It can be interrupted, and called again.`,
		Example: `  strictkv drop users/alice
  strictkv drop --all --db old --yes`,
	}, func(ctx context.Context, args []string) error {
		// A script whose variable is empty must not delete everything.
		if all == (len(args) > 0) {
			return fmt.Errorf("%w: want a COLLECTION, or --all for the database", errUsage)
		}
		question := fmt.Sprintf("Delete the database %s, with all that is in it?", a.database)
		if len(args) > 0 {
			question = fmt.Sprintf("Delete the collection %s, with all that is in it?", args[0])
		}
		if err := a.confirm(keytext.Safe(question)); err != nil {
			return err
		}
		return a.write(ctx, func(db *strictkv.DB) error {
			c, err := part(db, args)
			if err != nil {
				return err
			}
			set, done := a.progress("deleted", false)
			tell := strictkv.Progress(func(p strictkv.WalkProgress) { set(p.Done) })
			deleted, what := int64(0), "objects"
			if c == nil {
				deleted, err = db.Drop(ctx, tell)
			} else {
				deleted, err = c.Drop(ctx, tell)
				what = "keys"
			}
			done()
			report := map[string]int64{"deleted": deleted}
			return cmp.Or(err, a.print(report, "%d %s deleted\n", deleted, what))
		})
	})
	c.Flags().BoolVar(&all, "all", false, "the whole database")
	c.Flags().BoolVarP(&a.yes, "yes", "y", false, "don't ask")
	return c
}

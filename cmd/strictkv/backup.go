package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/internal/keytext"
	"github.com/strictkv/strictkv/layers/backup"
)

// repository is where backups are, as flags say.
type repository struct {
	url, identity, recipient string
	compress                 bool
	rate                     int64
}

// flags adds the flags that open a repository; to is of a command that writes to it.
func (r *repository) flags(c *cobra.Command, to bool) {
	name := "from"
	if to {
		name = "to"
		c.Flags().BoolVar(&r.compress, "compress", false, "compress by zstd")
		c.Flags().StringVar(&r.recipient, "recipient", "", "encrypt for these `keys`: age1...,...")
	}
	c.Flags().StringVar(&r.url, name, "", "`URL` of the bucket, or folder, of the backups")
	_ = c.MarkFlagRequired(name)
	c.Flags().StringVar(&r.identity, "identity", "", "`file` with the keys of age that decrypt")
	c.Flags().Int64Var(&r.rate, "rate", 0, "move at most so many `bytes` a second")
}

// inRepository opens the repository, and closes it when f has returned.
func (a *app) inRepository(
	ctx context.Context, r repository, f func(*backup.Repository) error,
) error {
	o := backup.Options{Compress: r.compress, Rate: r.rate}
	if err := o.Keys(r.recipient, r.identity); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return at(ctx, r.url, func(b *bucketurl.Bucket) error {
		var done func()
		o.Progress, done = a.progress("bytes moved", false)
		defer done()
		repo, err := backup.Open(b, o)
		if err != nil {
			return err
		}
		return f(repo)
	})
}

func (a *app) backup() *cobra.Command {
	var r repository
	var o backup.BackupOptions
	c := a.command(cobra.Command{
		Use: "backup", Short: "Back up the database", Args: cobra.NoArgs,
		Long: `Backup saves all collections as they are at one instant into a folder, or a
bucket of any cloud, which holds any number of backups and shares what they have
in common. A call that was stopped can be made again: what is there is not sent
again. Where writes never pause, --item-wise takes each key as of an instant of
its own.`,
		Example: `  strictkv backup --to gs://backups/mine --incremental
  strictkv backup --to ./backups --compress --recipient age1...`,
	}, func(ctx context.Context, _ []string) error {
		return a.read(ctx, func(db *strictkv.DB) error {
			return a.inRepository(ctx, r, func(repo *backup.Repository) error {
				info, err := repo.Backup(ctx, db, o)
				if err != nil {
					return err
				}
				return a.print(info, "%s: %d keys in %d layers\n", info.Name, info.Keys,
					info.Layers)
			})
		})
	})
	r.flags(c, true)
	c.Flags().BoolVar(&o.Incremental, "incremental", false,
		"save what has changed since the last one")
	c.Flags().BoolVar(&o.Save.ItemWise, "item-wise", false,
		"take each key at an instant of its own")
	return c
}

func (a *app) restore() *cobra.Command {
	var r repository
	var o backup.RestoreOptions
	var name, only string
	c := a.command(cobra.Command{
		Use: "restore", Short: "Restore a backup into an empty database", Args: cobra.NoArgs,
		Long: `Restore inserts the keys of a backup into a database that is empty, or into one
collection that is. It checks every hash, and never overwrites a key. A call
that was stopped goes on by --resume. Nobody should use the database meanwhile.`,
		Example: `  strictkv restore --from gs://backups/mine --db copy --create
  strictkv restore --from ./backups --only users --resume`,
	}, func(ctx context.Context, _ []string) (err error) {
		if only != "" {
			if o.Only, err = keytext.ParsePath(only); err != nil {
				return err
			}
		}
		return a.write(ctx, func(db *strictkv.DB) error {
			return a.inRepository(ctx, r, func(repo *backup.Repository) error {
				report, err := repo.Restore(ctx, name, db, o)
				if err == nil || errors.Is(err, backup.ErrOther) {
					err = errors.Join(err, a.counts(report, []counted{
						{"inserted", report.Inserted, report.Bytes},
						{"there before", report.Present, 0}, {"expired", report.Expired, 0},
						{"there with another value", report.Other, 0},
					}))
				}
				return err
			})
		})
	})
	r.flags(c, false)
	a.creates(c)
	c.Flags().StringVar(&name, "backup", "", "`name` of the backup; else it is the last")
	c.Flags().StringVar(&only, "only", "", "restore this `collection` alone, with those in it")
	c.Flags().BoolVar(&o.Resume, "resume", false, "go on: keys that are there already stay")
	return c
}

func (a *app) backups() *cobra.Command {
	var r repository
	c := a.command(cobra.Command{
		Use: "backups", Short: "List backups, or remove old ones", Args: cobra.NoArgs,
		Example: `  strictkv backups --from gs://backups/mine
  strictkv backups prune --from gs://backups/mine --daily 7`,
	}, func(ctx context.Context, _ []string) error {
		return a.inRepository(ctx, r, func(repo *backup.Repository) error {
			all, err := repo.List(ctx)
			return errors.Join(err, a.infos(all))
		})
	})
	r.flags(c, false)
	c.AddCommand(a.prune())
	return c
}

// infos prints backups.
func (a *app) infos(all []backup.Info) error {
	for _, info := range all {
		err := a.print(info, "%s  %s  %d keys  %d layers\n", info.Name,
			info.Instant.Format(time.RFC3339), info.Keys, info.Layers)
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) prune() *cobra.Command {
	var r repository
	o := backup.PruneOptions{Rule: backup.DefaultRule()}
	c := a.command(cobra.Command{
		Use: "prune", Short: "Remove backups that a rule does not keep", Args: cobra.NoArgs,
		Example: "  strictkv backups prune --from ./backups --daily 7 --weekly 4 --dry-run",
	}, func(ctx context.Context, _ []string) error {
		return a.inRepository(ctx, r, func(repo *backup.Repository) error {
			removed, err := repo.Prune(ctx, o)
			return errors.Join(err, a.infos(removed))
		})
	})
	r.flags(c, false)
	c.Flags().IntVar(&o.Rule.Daily, "daily", o.Rule.Daily, "keep the last one of so many days")
	c.Flags().IntVar(&o.Rule.Weekly, "weekly", o.Rule.Weekly, "keep the last one of so many weeks")
	c.Flags().IntVar(&o.Rule.Monthly, "monthly", o.Rule.Monthly,
		"keep the last one of so many months")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "remove nothing, and tell what would be")
	return c
}

func (a *app) verify() *cobra.Command {
	var r repository
	var name string
	c := a.command(cobra.Command{
		Use: "verify", Short: "Read a backup, and check every hash", Args: cobra.NoArgs,
		Example: "  strictkv verify --from gs://backups/mine",
	}, func(ctx context.Context, _ []string) error {
		return a.inRepository(ctx, r, func(repo *backup.Repository) error {
			info, err := repo.Verify(ctx, name)
			if err != nil {
				return err
			}
			return a.print(info, "%s: %d keys, all right\n", info.Name, info.Keys)
		})
	})
	r.flags(c, false)
	c.Flags().StringVar(&name, "backup", "", "`name` of the backup; else it is the last")
	return c
}

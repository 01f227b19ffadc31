package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/dump"
	"github.com/strictkv/strictkv/internal/keytext"
)

func (a *app) get() *cobra.Command {
	return a.command(cobra.Command{
		Use: "get COLLECTION KEY", Short: "Print the value of a key", Args: cobra.ExactArgs(2),
		Long: `Get prints the value of a key: its bytes as they are, and nothing else, unless
it goes to a terminal. JSON has its version and when it expires as well.`,
		Example: `  strictkv get users alice
  strictkv get orders '("2026", 42)' --json
  strictkv get images logo >logo.png`,
	}, func(ctx context.Context, args []string) error {
		return a.read(ctx, func(db *strictkv.DB) error {
			c, key, err := place(db, args)
			if err != nil {
				return err
			}
			item, err := c.ReadItem(ctx, key)
			switch {
			case err != nil:
				return err
			case a.json:
				return a.print(dump.Of("", item), "")
			case a.out.terminal:
				return a.print(nil, "%s\n", keytext.Value(item.Value))
			}
			_, err = a.out.Write(item.Value)
			return err
		})
	})
}

// putFlags are those of put. Of a version or a time that was given, an empty one is wrong: it may
// come from a variable that has none, and must not mean that there is no condition, or no end.
type putFlags struct {
	absent             bool
	version            string
	expire             time.Duration
	versioned, expires bool
}

func (a *app) put() *cobra.Command {
	var f putFlags
	var c *cobra.Command
	c = a.command(cobra.Command{
		Use: "put COLLECTION KEY [VALUE]", Short: "Set the value of a key",
		Args: cobra.RangeArgs(2, 3),
		Long: `Put sets the value of a key to the text of the third argument or, without that,
to what it reads from standard input: any bytes, up to 64 MiB.`,
		Example: `  strictkv put users alice '{"age": 42}'
  strictkv put images logo <logo.png
  strictkv put sessions 0x8c01 open --expire-in 30m
  strictkv put settings limit 10 --if-version 0190c5e2f0a07b3c9d4e5f60718293a4`,
	}, func(ctx context.Context, args []string) error {
		f.versioned, f.expires = c.Flags().Changed("if-version"), c.Flags().Changed("expire-in")
		return a.set(ctx, args, f)
	})
	c.Flags().BoolVar(&f.absent, "if-absent", false, "only if the key has no value")
	c.Flags().StringVar(&f.version, "if-version", "",
		"only if the key has this `version`, as get --json tells it")
	c.Flags().DurationVar(&f.expire, "expire-in", 0,
		"the value expires after this `time`, such as 90s or 24h")
	a.creates(c)
	c.MarkFlagsMutuallyExclusive("if-absent", "if-version")
	return c
}

// set carries out a put.
func (a *app) set(ctx context.Context, args []string, f putFlags) error {
	want, err := strictkv.ParseVersion(f.version)
	switch {
	case err != nil:
		return err
	case f.versioned && want.IsZero():
		return fmt.Errorf("%w: --if-version is empty; --if-absent is for no value", errUsage)
	case f.expires && f.expire <= 0:
		return fmt.Errorf("%w: --expire-in %v: want more than 0s", errUsage, f.expire)
	}
	value, err := a.value(args[2:])
	if err != nil {
		return err
	}
	return a.write(ctx, func(db *strictkv.DB) error {
		c, key, err := place(db, args)
		if err != nil {
			return err
		}
		return db.Tx(ctx, func(tx *strictkv.Tx) error {
			var until time.Time
			if f.expires {
				until = time.Now().Add(f.expire)
			}
			if f.absent {
				return tx.Insert(c, key, value, strictkv.ExpireAt(until))
			}
			if f.versioned {
				if err := tx.Require(c, key, want); err != nil {
					return err
				}
			}
			return tx.Write(c, key, value, strictkv.ExpireAt(until))
		})
	})
}

// value is that of the argument, if there is one, or else what is read.
func (a *app) value(args []string) ([]byte, error) {
	if len(args) > 0 {
		return []byte(args[0]), nil
	}
	value, err := io.ReadAll(io.LimitReader(a.in, strictkv.ValueMax+1))
	if err != nil {
		return nil, fmt.Errorf("read the value: %w", err)
	}
	if len(value) > strictkv.ValueMax {
		return nil, fmt.Errorf("%w: standard input has more than the %d bytes of a value",
			errUsage, strictkv.ValueMax)
	}
	return value, nil
}

func (a *app) rm() *cobra.Command {
	c := a.command(cobra.Command{
		Use: "rm COLLECTION KEY...", Short: "Delete keys", Args: cobra.MinimumNArgs(2),
		Long: `Rm deletes keys, in one transaction: all of them, or, if one of them has no
value, none. It asks before.`,
		Example: `  strictkv rm users alice bob
  strictkv rm sessions 0x8c01 --yes`,
	}, func(ctx context.Context, args []string) error {
		if len(args) > 2 {
			return a.remove(ctx, args, fmt.Sprintf("Delete %d keys of %s?", len(args)-1, args[0]))
		}
		return a.remove(ctx, args, fmt.Sprintf("Delete %s of %s?", args[1], args[0]))
	})
	c.Flags().BoolVarP(&a.yes, "yes", "y", false, "don't ask")
	return c
}

// remove carries out an rm.
func (a *app) remove(ctx context.Context, args []string, question string) error {
	if err := a.confirm(keytext.Safe(question)); err != nil {
		return err
	}
	return a.write(ctx, func(db *strictkv.DB) error {
		c, err := collection(db, args[0])
		if err != nil {
			return err
		}
		doomed := make([][]byte, 0, len(args)-1)
		for _, arg := range args[1:] {
			key, err := keytext.Parse(arg)
			if err != nil {
				return err
			}
			doomed = append(doomed, key)
		}
		return db.Tx(ctx, func(tx *strictkv.Tx) error {
			for _, key := range doomed {
				if v, err := tx.ReadVersion(c, key); err != nil {
					return err
				} else if v.IsZero() {
					return fmt.Errorf("%s: %w", keytext.Show(key), strictkv.ErrNotFound)
				}
				if err := tx.Delete(c, key); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/cmd/strictkv/console"
	"github.com/strictkv/strictkv/internal/activity"
	"github.com/strictkv/strictkv/internal/loopback"
)

func (a *app) console() *cobra.Command {
	var listen string
	var write, remote bool
	c := a.command(cobra.Command{
		Use: "console", Short: "Serve a page to look at the database with a browser",
		Args: cobra.NoArgs,
		Long: `Console serves a page on which to browse collections and keys, to see what is
behind a value, to watch what the store answers, to check, and to see what a
sweep would do. It prints the URL to open, which has a token: who has that can
read all of the database. It ends on Ctrl-C.`,
		Example: `  strictkv console
  strictkv console --listen 127.0.0.1:8080 --write`,
	}, func(ctx context.Context, _ []string) error {
		l, err := loopback.Listen(ctx, listen, remote)
		if errors.Is(err, loopback.ErrRemote) {
			err = fmt.Errorf("%w: --listen %w: use --remote if that is meant", errUsage, err)
		}
		if err != nil {
			return err
		}
		defer l.Close()
		if remote {
			fmt.Fprintln(a.err, "Warning: others can connect, and whoever is on the way can read "+
				"the token and all that is shown.")
		}
		mode := strictkv.ReadOnly()
		if write {
			mode = strictkv.MustExist()
		}
		m := &activity.Monitor{}
		return a.use(ctx, func(db *strictkv.DB) error {
			token := loopback.Token()
			url := loopback.URL(l.Addr().String(), token)
			err := errors.Join(
				a.print(map[string]string{"url": url}, "listening on %s\n", url), a.out.Flush())
			if err != nil {
				return err
			}
			return loopback.Serve(ctx, l, console.New(db, console.Options{
				Name: a.database, Token: token, Write: write, Monitor: m,
			}))
		}, mode, strictkv.WithObserver(m.Observer()))
	})
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "the `address` to serve at")
	c.Flags().BoolVar(&write, "write", false, "have the page put and delete keys, too")
	c.Flags().BoolVar(&remote, "remote", false, "listen where other machines can connect")
	return c
}

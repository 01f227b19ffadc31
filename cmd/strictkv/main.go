// Command strictkv shows what is in a database of StrictKV, and operates it: docs/cli.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/keytext"
	"github.com/strictkv/strictkv/layers/backup"
)

// The codes that the command exits with.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitProblems    = 4
	exitInDoubt     = 5
	exitRefused     = 6
	exitUnavailable = 7
	exitInterrupted = 130
	exitPipe        = 141
)

const exits = `Exit codes:
  0    done
  1    failed
  2    called wrongly
  3    the key, the database or the bucket is not there
  4    done, and problems were found: check, probe, load
  5    in doubt: what was to be written may be there, or not
  6    not done: the key has a value, or another version
  7    the store is not available: try again
  130  interrupted
  141  whoever reads the output has stopped reading`

var (
	// errUsage is of a call that is wrong.
	errUsage = errors.New("usage")
	// errProblems is of a call that was carried through, and has found problems.
	errProblems = errors.New("problems were found")
)

func main() {
	// A write to whom nobody reads is an error like any other, so that handles are closed.
	signal.Ignore(syscall.SIGPIPE)
	// Whoever is interrupted ends what is under way; the second time, the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	a := &app{
		in: interruptible{ctx, os.Stdin}, asks: isTerminal(os.Stdin),
		out: newOutput(os.Stdout), err: os.Stderr,
	}
	os.Exit(a.run(ctx, os.Args[1:]))
}

// run runs the command that the arguments name, and returns the code to exit with.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if flush := a.out.Flush(); err == nil {
		err = flush
	}
	// What a flag in error stands before was not parsed.
	a.json = a.json || !a.started && jsonIn(args)
	return a.exit(ctx, err)
}

// jsonIn reports whether one of the arguments is the flag --json.
func jsonIn(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json")
}

// app is one run of the command.
type app struct {
	in   io.Reader
	asks bool // a person is at the other end of it
	out  *output
	err  io.Writer

	bucket, database string // flags
	json             bool
	yes, create      bool
	started          bool // what is wrong from here on is not the call
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "strictkv",
		Short: "Look at a database of StrictKV in a bucket, and operate it",
		Long: `strictkv looks at databases of StrictKV in a bucket, and operates them.

` + places + `

` + exits,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	flags := root.PersistentFlags()
	flags.StringVar(&a.bucket, "bucket", os.Getenv("STRICTKV_BUCKET"),
		"`URL` of the bucket, or $STRICTKV_BUCKET")
	flags.StringVar(&a.database, "db", os.Getenv("STRICTKV_DB"),
		"`name` of the database, or $STRICTKV_DB")
	flags.Lookup("bucket").DefValue, flags.Lookup("db").DefValue = "", "" // not the environment's
	flags.BoolVar(&a.json, "json", false, "print JSON, one object on each line")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if strings.HasPrefix(err.Error(), "unknown") {
			err = fmt.Errorf("%w: what begins with a dash and is no flag stands behind --", err)
		}
		return err
	})
	root.AddCommand(a.ls(), a.get(), a.put(), a.rm(), a.scan(), a.load(), a.dump(),
		a.stats(), a.check(), a.sweep(), a.inspect(), a.drop(),
		a.backup(), a.restore(), a.backups(), a.verify(),
		a.probe(), a.bench(), a.console(), a.redis(), a.version())
	return root
}

// command makes a command of what it is called by and what it does.
func (a *app) command(c cobra.Command, do func(context.Context, []string) error) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a.started = true
		return do(cmd.Context(), args)
	}
	c.DisableFlagsInUseLine = true
	return &c
}

// exit tells what went wrong, and returns the code of it.
func (a *app) exit(ctx context.Context, err error) int {
	code := a.code(ctx, err)
	switch {
	case err == nil || code == exitPipe:
	case a.json:
		text, _ := keytext.JSON(map[string]any{"error": err.Error(), "code": code})
		fmt.Fprintf(a.err, "%s\n", text)
	default:
		fmt.Fprintf(a.err, "strictkv: %s\n", keytext.Safe(err.Error()))
	}
	return code
}

func (a *app) code(ctx context.Context, err error) int {
	if err == nil {
		return 0
	}
	if !a.started {
		return exitUsage
	}
	for _, x := range []struct {
		code int
		of   []error
	}{
		{exitPipe, []error{errPipe}},
		{exitInDoubt, []error{strictkv.ErrInDoubt}},
		{exitUsage, []error{
			errUsage, keytext.ErrSyntax, strictkv.ErrInvalid, strictkv.ErrInvalidKey,
		}},
		{exitProblems, []error{errProblems}},
		{exitNotFound, []error{
			strictkv.ErrNotFound, strictkv.ErrNoDatabase, backend.ErrBucketNotFound,
			backup.ErrNotFound,
		}},
		{exitRefused, []error{
			strictkv.ErrExists, strictkv.ErrVersion, backup.ErrNotEmpty, backup.ErrOther,
		}},
	} {
		for _, target := range x.of {
			if errors.Is(err, target) {
				return x.code
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.Is(err, strictkv.ErrUnavailable):
		return exitUnavailable
	}
	return exitFailed
}

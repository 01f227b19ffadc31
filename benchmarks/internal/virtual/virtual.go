// Package virtual lets a program run parts of itself in virtual time, in which waiting
// costs nothing: hours of a store's latencies pass as fast as the processor can follow.
//
// Virtual time is that of package testing/synctest, which asks for a test. So a program
// runs as one.
package virtual

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
)

// Program is a command with its arguments, where its results go, and where it tells of its
// progress.
type Program func(t *testing.T, args []string, out, progress io.Writer) error

// Main runs a program as a test, with the arguments and the outputs of this process, and exits:
// with 0 if it returns nil or has been asked for help, else with 1 after it has printed the
// error. What it asks the test to clean up is done before.
func Main(program Program) {
	// The test's own flags keep their defaults: the arguments are the program's.
	testing.Init()
	_ = flag.CommandLine.Parse(nil)
	run := func(t *testing.T) {
		err, skipped := errors.New("the program has stopped"), false
		t.Run("main", func(t *testing.T) {
			t.Cleanup(func() { skipped = t.Skipped() })
			err = program(t, os.Args[1:], os.Stdout, os.Stderr)
		})
		if skipped {
			err = errors.New("something that it needs is not on this machine: see docs/testing.md")
		}
		if err != nil && !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "program", F: run}}, nil, nil)
}

// Run runs f in virtual time, which begins in the year 2000, and returns its error. f must
// not wait for anything outside, such as a network, and all goroutines that it starts must
// end with it.
func Run(t *testing.T, f func(ctx context.Context) error) (err error) {
	synctest.Test(t, func(t *testing.T) { err = f(t.Context()) })
	return err
}

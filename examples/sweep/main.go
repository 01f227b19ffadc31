// Sweep removes the garbage of a database: what deleted keys and crashed processes have
// left. Run it once a day, as a cron job does:
//
//	go run ./examples/sweep -database example
//	go run -tags cloud ./examples/sweep -database example -bucket gs://NAME
//	go run -tags cloud ./examples/sweep -database example -bucket gs://NAME -dry-run
//
// With the tag, the bucket may be any that package bucketurl opens. Others may use the
// database meanwhile, and it can be stopped at any time: the next run goes on. It exits with
// status 1 if something went wrong, after doing what it could.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/internal/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "sweep:", err)
		os.Exit(1)
	}
}

// sweep is what the flags say.
type sweep struct {
	database, dir, bucket, collection string
	strictkv.SweepOptions
}

func parse(args []string, errs io.Writer) (s sweep, err error) {
	f := flag.NewFlagSet("sweep", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&s.database, "database", "example", "the name of the database")
	f.StringVar(&s.dir, "dir", "./data", "the folder that it is in")
	f.StringVar(&s.bucket, "bucket", "", "the URL of the bucket that it is in instead")
	f.DurationVar(&s.Horizon, "horizon", strictkv.DefaultHorizon, "the age from which on garbage "+
		"is removed; if it is negative,\nall is: nobody else may use the database")
	f.BoolVar(&s.DryRun, "dry-run", false, "tell what would be done, and do nothing")
	f.StringVar(&s.collection, "collection", "",
		"sweep this collection alone; slashes lead to nested ones")
	f.IntVar(&s.Concurrency, "concurrency", strictkv.DefaultConcurrency,
		"how many objects are worked on at once")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("%q: no such argument", f.Args())
	}
	return s, nil
}

// run sweeps, telling the progress to errs, and prints the report.
func run(ctx context.Context, args []string, out, errs io.Writer) (err error) {
	s, err := parse(args, errs)
	if err != nil {
		return err
	}
	bucket, err := store.Open(ctx, s.dir, s.bucket)
	if err != nil {
		return err
	}
	defer bucket.Close()
	db, err := strictkv.Open(ctx, s.database, bucket, strictkv.WithConcurrency(s.Concurrency))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	if s.collection != "" {
		s.Collection = collection(db, s.collection)
	}
	begun, next := time.Now(), time.Now()
	s.Progress = func(r strictkv.SweepReport) {
		if now := time.Now(); !now.Before(next) {
			next = now.Add(10 * time.Second)
			fmt.Fprintf(errs, "%v: %d objects listed, %d removed\n",
				now.Sub(begun).Round(time.Second), r.Objects, r.Tombstones+r.Values)
		}
	}
	r, err := db.Sweep(ctx, s.SweepOptions)
	report(out, r, s.DryRun)
	return err
}

// collection finds a collection by the names that lead to it.
func collection(db *strictkv.DB, path string) *strictkv.Collection {
	names := strings.Split(path, "/")
	c := db.Collection([]byte(names[0]))
	for _, name := range names[1:] {
		c = c.Collection([]byte(name))
	}
	return c
}

func report(out io.Writer, r strictkv.SweepReport, dry bool) {
	did := ""
	if dry {
		did = " would be"
	}
	fmt.Fprintf(out, "%d objects of %d bytes were listed\n", r.Objects, r.Bytes)
	for _, line := range []struct {
		n    int64
		what string
	}{
		{r.Settled, "abandoned intents%s settled"},
		{r.Expired, "values that have expired%s deleted"},
		{r.Tombstones, "tombstones%s removed"},
		{r.Condemned, "tombstones%s condemned, to be removed a horizon later"},
		{r.Values, "external values%s removed"},
		{r.ValueBytes, "bytes of external values%s freed"},
		{r.Clocks, "clocks of earlier sweeps%s removed"},
		{r.Hints, "hints for followers%s removed"},
	} {
		fmt.Fprintf(out, "%8d "+line.what+"\n", line.n, did)
	}
	fmt.Fprintf(out, "%8d tombstones and intents are too young\n", r.Waiting)
	fmt.Fprintf(out, "%8d objects were changed by others meanwhile\n", r.Changed)
	fmt.Fprintf(out, "%8d foreign objects were left alone\n", r.Foreign)
	fmt.Fprintf(out, "%8d objects failed\n", r.Failed)
}

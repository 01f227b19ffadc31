// Settings keeps one value per user, which many processes update, as a service would that
// scales to zero. It then works out what a month of that costs on Cloud Storage, from the
// requests that it has sent:
//
//	go run ./examples/settings
//	go run -tags cloud ./examples/settings -bucket gs://NAME -updates-per-day 500
//
// With the tag, the bucket may be any that package bucketurl opens; the prices are Cloud Storage's.
// Several of them may run at the same time. It exits with status 1 if an update is lost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/internal/store"
)

func main() {
	var s service
	var m month
	dir := flag.String("dir", "./data", "the folder to keep the settings in")
	bucket := flag.String("bucket", "", "the URL of a bucket to keep them in instead")
	flag.IntVar(&s.users, "users", 50, "the number of users")
	flag.IntVar(&s.instances, "instances", 4, "the number of instances of the service")
	flag.IntVar(&s.updates, "updates", 100, "the updates that each instance makes")
	flag.IntVar(&s.reads, "reads", 200, "the reads that each instance makes")
	flag.IntVar(&m.starts, "starts-per-day", 300, "starts of an instance, for the bill")
	flag.IntVar(&m.updates, "updates-per-day", 10_000, "updates, for the bill")
	flag.IntVar(&m.reads, "reads-per-day", 100_000, "reads, for the bill")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := open(ctx, *dir, *bucket, s, m); err != nil {
		fmt.Fprintln(os.Stderr, "settings:", err)
		os.Exit(1)
	}
}

// open lets the service work in a folder, or on the bucket at a URL.
func open(ctx context.Context, dir, url string, s service, m month) error {
	bucket, err := store.Open(ctx, dir, url)
	if err != nil {
		return err
	}
	defer bucket.Close()
	s.store = bucket
	return run(ctx, os.Stdout, s, m)
}

// run lets the service work, checks it, and prints the bill.
func run(ctx context.Context, out io.Writer, s service, m month) (err error) {
	if s.users < 1 || s.instances < 1 || s.updates < 1 || s.reads < 1 {
		return errors.New("users, instances, updates and reads must be 1 at least")
	}
	db, err := strictkv.Open(ctx, "settings", s.store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	before, err := s.revisions(ctx, db)
	if err != nil {
		return err
	}
	use, err := s.serve(ctx)
	if err != nil {
		return err
	}
	after, err := s.revisions(ctx, db)
	if err != nil {
		return err
	}
	if made := s.instances * s.updates; after-before < made {
		return fmt.Errorf("VIOLATION: %d updates were acknowledged, %d are there",
			made, after-before)
	}
	fmt.Fprintf(out, "%d instances served %d users: %d updates, %d reads, none lost\n\n",
		s.instances, s.users, s.instances*s.updates, s.instances*s.reads)
	return bill(out, use, m)
}

// Bank transfers money between accounts from several processes at once, and checks that
// none is lost or made:
//
//	go run ./examples/bank
//	go run ./examples/bank -workers 8 -kill
//	go run ./examples/bank -bucket gs://NAME -kills 50
//
// The bucket may be any that package bucketurl opens, except for the memory of a process.
// With -kill it kills workers at random points (SIGKILL), starts new ones in their place,
// and checks that what they had acknowledged is there. It exits with status 1 if anything
// is wrong.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/bucketurl"
)

func main() {
	serveIfWorker()
	b := &bank{out: os.Stdout}
	flag.StringVar(&b.place.Dir, "dir", "./data", "the folder to keep the accounts in")
	flag.StringVar(&b.place.Bucket, "bucket", "", "the URL of a bucket to keep them in instead")
	flag.IntVar(&b.workers, "workers", 4, "the number of processes")
	flag.IntVar(&b.place.Accounts, "accounts", 16, "the number of accounts, at least 2")
	flag.DurationVar(&b.time, "time", 10*time.Second, "how long it runs")
	flag.BoolVar(&b.kill, "kill", false, "kill random workers while it runs")
	flag.IntVar(&b.kills, "kills", 0, "run until so many workers have been killed instead")
	flag.DurationVar(&b.place.Patience, "patience", strictkv.DefaultPatience,
		"how long a worker waits for another")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bank:", err)
		os.Exit(1)
	}
}

// place is where the accounts are, and what workers must know of them.
type place struct {
	Dir, Bucket string
	Accounts    int
	Patience    time.Duration
}

// database is a database and the bucket that it is in.
type database struct {
	*strictkv.DB
	bucket *bucketurl.Bucket
}

// Close closes both.
func (d database) Close(ctx context.Context) error {
	return errors.Join(d.DB.Close(ctx), d.bucket.Close())
}

// open opens the database.
func (p place) open(ctx context.Context) (database, error) {
	bucket, err := bucketurl.Open(ctx, cmp.Or(p.Bucket, bucketurl.File(p.Dir)))
	if err != nil {
		return database{}, err
	}
	db, err := strictkv.Open(ctx, "bank", bucket, strictkv.WithPatience(p.Patience))
	if err != nil {
		return database{}, errors.Join(err, bucket.Close())
	}
	return database{db, bucket}, nil
}

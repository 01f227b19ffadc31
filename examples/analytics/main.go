// Analytics appends events from several processes at once, while others roll them up into
// sums, each event exactly once, and checks that both sides come to the same:
//
//	go run ./examples/analytics
//	go run ./examples/analytics -ingesters 8 -compactors 2 -kill
//	go run ./examples/analytics -bucket gs://NAME -kills 50
//
// The bucket may be any that package bucketurl opens, except for the memory of a process.
// With -kill it kills processes at random points (SIGKILL), and starts new ones in their
// place. It exits with status 1 if an event was lost or counted twice.
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
	a := &analytics{out: os.Stdout}
	flag.StringVar(&a.place.Dir, "dir", "./data", "the folder to keep the events in")
	flag.StringVar(&a.place.Bucket, "bucket", "", "the URL of a bucket to keep them in instead")
	flag.IntVar(&a.ingesters, "ingesters", 4, "the number of processes that append events")
	flag.IntVar(&a.compactors, "compactors", 1, "the number of processes that roll them up")
	flag.DurationVar(&a.time, "time", 10*time.Second, "how long events are appended")
	flag.BoolVar(&a.kill, "kill", false, "kill random processes meanwhile")
	flag.IntVar(&a.kills, "kills", 0, "go on until so many have been killed instead")
	flag.DurationVar(&a.place.Patience, "patience", strictkv.DefaultPatience,
		"how long a process waits for another")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := a.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "analytics:", err)
		os.Exit(1)
	}
}

// place is where the events are, and what processes must know of it.
type place struct {
	Dir, Bucket string
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
	db, err := strictkv.Open(ctx, "analytics", bucket, strictkv.WithPatience(p.Patience))
	if err != nil {
		return database{}, errors.Join(err, bucket.Close())
	}
	return database{db, bucket}, nil
}

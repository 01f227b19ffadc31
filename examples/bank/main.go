// Bank transfers money between accounts from several processes at once, and checks that
// none is lost or made:
//
//	go run ./examples/bank
//	go run ./examples/bank -workers 8 -kill
//	go run ./examples/bank -bucket gs://NAME -kills 50
//
// With -kill it kills workers at random points (SIGKILL), starts new ones in their place,
// and checks that what they had acknowledged is there. It exits with status 1 if anything
// is wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"cloud.google.com/go/storage"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/gcs"
)

func main() {
	serveIfWorker()
	b := &bank{out: os.Stdout}
	flag.StringVar(&b.place.Dir, "dir", "./data", "the folder to keep the accounts in")
	flag.StringVar(&b.place.Bucket, "bucket", "", "the bucket instead, as gs://NAME")
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

// open opens the database.
func (p place) open(ctx context.Context) (*strictkv.DB, error) {
	store, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	return strictkv.Open(ctx, "bank", store, strictkv.WithPatience(p.Patience))
}

func (p place) connect(ctx context.Context) (backend.Backend, error) {
	if p.Bucket == "" {
		return folder.New(p.Dir), nil
	}
	name, ok := strings.CutPrefix(p.Bucket, "gs://")
	if !ok || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("bucket %q: want gs://NAME", p.Bucket)
	}
	client, err := storage.NewClient(ctx, storage.WithJSONReads())
	if err != nil {
		return nil, fmt.Errorf("bucket %q: %w", p.Bucket, err)
	}
	return gcs.New(client.Bucket(name)), nil
}

// Package crew lets examples work in several processes: it starts the program itself again
// as workers, listens to what they report, kills some, and tells where they all work.
package crew

import (
	"context"
	"errors"
	"flag"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/internal/store"
)

// Place is where a crew works: the URL of a bucket, or else a folder.
type Place struct {
	Dir, Bucket string
	Patience    time.Duration
}

// Flags defines the flags of a place that is to keep something.
func (p *Place) Flags(what string) {
	flag.StringVar(&p.Dir, "dir", "./data", "the folder to keep "+what+" in")
	flag.StringVar(&p.Bucket, "bucket", "", "the URL of a bucket to keep them in instead")
	flag.DurationVar(&p.Patience, "patience", strictkv.DefaultPatience,
		"how long a worker waits for another")
}

// Database is a database and the bucket that it is in.
type Database struct {
	*strictkv.DB
	bucket store.Store
}

// Close closes both.
func (d Database) Close(ctx context.Context) error {
	return errors.Join(d.DB.Close(ctx), d.bucket.Close())
}

// Open opens a database there. It is an error if processes cannot share the place.
func (p Place) Open(ctx context.Context, name string) (Database, error) {
	if strings.HasPrefix(p.Bucket, "mem:") {
		err := errors.New("workers are processes, which share no memory: want another bucket")
		return Database{}, err
	}
	bucket, err := store.Open(ctx, p.Dir, p.Bucket)
	if err != nil {
		return Database{}, err
	}
	db, err := strictkv.Open(ctx, name, bucket, strictkv.WithPatience(p.Patience))
	if err != nil {
		return Database{}, errors.Join(err, bucket.Close())
	}
	return Database{db, bucket}, nil
}

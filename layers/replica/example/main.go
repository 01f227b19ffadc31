// Example runs nine processes, each of which has a copy of a land register on its own disk, fresh
// from one bucket, which is all that they share.
//
//	go run ./example                            # in layers/replica; 106 178 records, in a folder
//	go run ./example -quick
//	go run ./example -bucket "s3://bucket?..."  # or gs://, azblob://: see backend/bucketurl
//
// One process loads the records, all others write updates, and all the while one after the other is
// killed and started again. In the end all nine copies must equal the database.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"github.com/strictkv/strictkv/backend/bucketurl"
)

// config is what the flags say.
type config struct {
	bucket, dir                 string
	records, nodes, updates     int
	every, fullEvery, killEvery time.Duration
	feed, noSync                bool
	seed                        uint64
	node                        int // of a process that is one; else negative
}

func main() {
	var c config
	quick := flag.Bool("quick", false, "few records, and few processes")
	flag.StringVar(&c.bucket, "bucket", "", "a bucket's URL; else a folder that is removed")
	flag.StringVar(&c.dir, "dir", "", "where the copies are; else a folder that is removed")
	flag.IntVar(&c.records, "records", 106_178, "how many records to load")
	flag.IntVar(&c.nodes, "nodes", 9, "how many processes there are")
	flag.IntVar(&c.updates, "updates", 20, "how many updates a process writes each second")
	flag.DurationVar(&c.every, "every", time.Second, "the pause between looks of a replica")
	flag.DurationVar(&c.fullEvery, "full", 30*time.Second,
		"the pause between passes over everything, which find what a killed process did not tell")
	flag.DurationVar(&c.killEvery, "kill", 2*time.Second, "the pause between kills; 0 is none")
	flag.BoolVar(&c.feed, "feed", true, "tell each other what was written")
	flag.BoolVar(&c.noSync, "nosync", false, "a folder whose writes are not synced")
	flag.Uint64Var(&c.seed, "seed", 1, "of the records")
	flag.IntVar(&c.node, "node", -1, "for itself: the number of a process")
	flag.Parse()
	if *quick {
		c.records, c.nodes, c.killEvery = 500, 3, 500*time.Millisecond
		c.every, c.fullEvery = time.Second/2, 2*time.Second
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if c.node >= 0 {
		// What a node keeps in memory is small, and what it passes through much: with less
		// collecting it takes some 5 % less of the processor, and some megabytes more.
		debug.SetGCPercent(400)
		err = runNode(ctx, c, os.Stdin, os.Stdout)
	} else {
		err = run(ctx, c, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replica:", err)
		os.Exit(1)
	}
}

// run shows it all, and fails unless all copies end equal.
func run(ctx context.Context, c config, out io.Writer) (err error) {
	for _, place := range []*string{&c.bucket, &c.dir} {
		if *place != "" {
			continue
		}
		var dir string
		if dir, err = os.MkdirTemp("", "replica-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if *place = dir; place == &c.bucket {
			*place = bucketurl.File(dir)
			if c.noSync {
				*place += "?nosync=true"
			}
		}
	}
	f, err := startFleet(ctx, c, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	return f.show(ctx)
}

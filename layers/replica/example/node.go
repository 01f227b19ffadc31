package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/layers/replica"
)

// node is one process: a handle, and a replica.
type node struct {
	c       config
	db      *strictkv.DB
	r       *replica.Replica
	written atomic.Int64
	// changed is when the copy last changed, in nanoseconds since 1970.
	changed atomic.Int64
	stop    func() // ends the updates
}

// watchEvery is how often a node looks whether its copy has changed.
const watchEvery = 20 * time.Millisecond

func openDB(ctx context.Context, c config) (*strictkv.DB, func() error, error) {
	b, err := bucketurl.Open(ctx, c.bucket)
	if err != nil {
		return nil, nil, err
	}
	opts := []strictkv.Option{strictkv.WithCacheSize(16 << 20)}
	if c.feed {
		opts = append(opts, strictkv.WithFeed(strictkv.FeedOptions{}))
	}
	db, err := strictkv.Open(ctx, "register", b, opts...)
	if err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	return db, func() error {
		return errors.Join(db.Close(context.WithoutCancel(ctx)), b.Close())
	}, nil
}

// runNode obeys commands, one in a line, until there are no more. Each has an answer in one line.
func runNode(ctx context.Context, c config, in io.Reader, out io.Writer) (err error) {
	n := node{c: c}
	db, closeDB, err := openDB(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDB()) }()
	n.db = db
	n.r, err = replica.Open(ctx, db, filepath.Join(c.dir, fmt.Sprint("node-", c.node)),
		replica.Options{
			Collections: []*strictkv.Collection{parcels(db)}, Every: c.every,
			FullEvery: c.fullEvery,
			Logger:    slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.r.Close()) }()
	within, stop := context.WithCancel(ctx)
	defer stop()
	go n.watch(within)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer, err := n.obey(within, lines.Text())
		if err != nil {
			return err
		}
		fmt.Fprintln(out, answer)
	}
	return lines.Err()
}

func (n *node) obey(ctx context.Context, command string) (answer string, err error) {
	switch command {
	case "load":
		report, err := parcels(n.db).Load(ctx, register(n.c.records, n.c.seed),
			strictkv.LoadOptions{})
		return fmt.Sprint(report.Inserted + report.Present), err
	case "update":
		within, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			n.update(within)
		}()
		n.stop = func() { cancel(); <-ended }
		return "updating", nil
	case "stop":
		n.stop()
		return "stopped", nil
	case "state": // content, lag, when it last changed
		s, err := n.sum()
		return fmt.Sprintf("%s %s %d", s, n.r.Lag().Round(time.Millisecond), n.changed.Load()), err
	}
	return "", fmt.Errorf("unknown command %q", strings.TrimSpace(command))
}

// watch notes when the copy changes: to compare all of it takes longer.
func (n *node) watch(ctx context.Context) {
	var at replica.Position
	for ctx.Err() == nil {
		_ = n.r.View(func(v *replica.View) error { // not ready is no change
			if now := v.Position(); now != at {
				at = now
				n.changed.Store(time.Now().UnixNano())
			}
			return nil
		})
		time.Sleep(watchEvery)
	}
}

// sum is that of the copy.
func (n *node) sum() (*sum, error) {
	s := newSum()
	for i, err := range n.r.Scan(parcels(n.db), strictkv.Range{}) {
		if errors.Is(err, replica.ErrNotReady) {
			return newSum(), nil
		}
		if err != nil {
			return nil, err
		}
		s.add(i.Key, i.Value)
	}
	return s, nil
}

// update writes updates of random records, until ctx ends.
func (n *node) update(ctx context.Context) {
	tick := time.NewTicker(time.Second / time.Duration(max(n.c.updates, 1)))
	defer tick.Stop()
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(n.c.node)))
	for ctx.Err() == nil {
		<-tick.C
		i := r.IntN(n.c.records)
		err := parcels(n.db).Update(ctx, parcelKey(i), func(old []byte) ([]byte, error) {
			if old == nil {
				return nil, errAbsent // not loaded yet
			}
			return parcel(r, i, 1+int(n.written.Load())), nil
		})
		if err == nil {
			n.written.Add(1)
		}
	}
}

var errAbsent = errors.New("there is no such parcel")

package processes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/cache"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/sim/baton"
	"github.com/strictkv/strictkv/internal/sim/workload"
)

const (
	// workerEnv makes a process a worker; its value is the worker as JSON.
	workerEnv = "STRICTKV_PROCESSES_WORKER"
	// workerFailed is the exit status of a worker that has failed: not that of one
	// that was killed, on any system.
	workerFailed = 3

	workerClients = 2
	// clientTxs is how many transactions a client runs, some workloads a multiple: so
	// few that some processes end before they are killed.
	clientTxs = 25
	// hurry is how much shorter clients sleep than in simulated time.
	hurry = 20
	// openTries bounds how often a process tries to open the database.
	openTries = 50
	closeMax  = 30 * time.Second
)

// place is where the database is, and what handles must know of it.
type place struct {
	// Name is that of the database, which is in the folder Dir or the bucket at a URL.
	Name        string
	Dir, Bucket string
	NoSync      bool
	// Faulty wraps a folder in the misfortunes of a network.
	Faulty   bool
	Patience time.Duration
	Cache    int64
	Keys     []string
}

// connect returns the store.
func (p place) connect(ctx context.Context) (b backend.Backend, closes func() error, err error) {
	if p.Bucket != "" {
		b, err := bucketurl.Open(ctx, p.Bucket)
		if err != nil {
			return nil, nil, err
		}
		return b, b.Close, nil
	}
	var o []folder.Option
	if p.NoSync {
		o = append(o, folder.NoSync())
	}
	return folder.New(p.Dir, o...), func() error { return nil }, nil
}

// open opens the database in the store.
func (p place) open(
	ctx context.Context, b backend.Backend, opts ...strictkv.Option,
) (db *strictkv.DB, err error) {
	opts = append(opts, strictkv.WithPatience(p.Patience), strictkv.WithCacheSize(p.Cache))
	for range openTries {
		db, err = strictkv.Open(ctx, p.Name, b, opts...)
		if err == nil {
			return db, nil
		}
	}
	return nil, fmt.Errorf("open, %d times: %w", openTries, err)
}

// worker is a process that runs clients, until they have finished or it is killed.
type worker struct {
	// Life is the number of the process: those of its clients follow.
	Life  int
	Seed  uint64
	Start int64 // what the clock showed when the first process began
	Place place
	// Exact leaves out workloads that write blindly, after which a history may leave open
	// how writes were ordered.
	Exact bool
	// Dir is where the history goes.
	Dir string
}

// history is the file of the worker's history; misfortunes that of its faults, of
// which the last line counts.
func (w worker) history() string     { return filepath.Join(w.Dir, fmt.Sprint(w.Life, ".jsonl")) }
func (w worker) misfortunes() string { return filepath.Join(w.Dir, fmt.Sprint(w.Life, ".faults")) }

// cacheDir is where some processes, one after another, have their cache on disk.
func (w worker) cacheDir() string { return filepath.Join(w.Dir, fmt.Sprint("cache-", w.Life%4)) }

// serveIfWorker does not return if the environment makes this process a worker.
func serveIfWorker() {
	env := os.Getenv(workerEnv)
	if env == "" {
		return
	}
	var w worker
	err := json.Unmarshal([]byte(env), &w)
	if err == nil {
		err = w.serve(context.Background())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "process %d: %v\n", w.Life, err)
		os.Exit(workerFailed)
	}
	os.Exit(0)
}

// serve is the life of a worker's process.
func (w worker) serve(ctx context.Context) error {
	b, _, err := w.Place.connect(ctx)
	if err != nil {
		return err
	}
	if w.Place.Faulty {
		f := faulty.New(b, misfortune(w.Seed+uint64(w.Life)))
		stop, err := count(f, w.misfortunes())
		if err != nil {
			return err
		}
		defer stop()
		b = f
	}
	var opts []strictkv.Option
	if w.Life%2 == 1 { // half of the workers tell followers what they write
		opts = append(opts, strictkv.WithFeed(strictkv.FeedOptions{}))
	}
	onDisk, err := cache.Open(w.cacheDir(), cache.DiskSizeMin, cache.Memory(w.Place.Cache))
	switch {
	case errors.Is(err, cache.ErrInUse): // by one that lives
	case err != nil:
		return err
	default:
		defer onDisk.Close()
		opts = append(opts, strictkv.WithCache(onDisk))
	}
	db, err := w.Place.open(ctx, b, opts...)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(w.history(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var diaries []*diary
	for i := range workerClients {
		id := w.Life*workerClients + i
		d := newDiary(fmt.Sprint(id), w.Seed, w.Start, w.Place.Keys, out)
		diaries = append(diaries, d)
		wg.Go(func() { w.client(id).Run(ctx, brisk{seam.Real()}, db, d.ledger) })
		go func() {
			for range d.news {
				d.tell()
			}
		}()
	}
	wg.Wait()
	for _, d := range diaries {
		d.tell()
		if err := d.contradiction(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, closeMax)
	defer cancel()
	return db.Close(ctx)
}

// blind are the workloads that write without reading.
var blind = []string{"blind", "cancel", "crowd", "mix"}

// client makes the client with a number. It decides what the client does.
func (w worker) client(id int) *workload.Client {
	fits := slices.DeleteFunc(workload.Names(), func(name string) bool {
		return workload.Workloads[name].KeysMin > len(w.Place.Keys) ||
			workload.Expires(name) || // diaries don't tell when values do
			workload.Workloads[name].Judged() ||
			w.Exact && slices.Contains(blind, name)
	})
	r := baton.Derive(w.Seed, 7, uint64(id))
	name := fits[r.Below(len(fits))]
	return workload.Deal(name, id+1, (id+1)*clientTxs, nil)[id]
}

// brisk is the real runtime for clients whose times are meant for simulated time.
type brisk struct{ seam.Runtime }

func (b brisk) Sleep(ctx context.Context, d time.Duration) error {
	return b.Runtime.Sleep(ctx, d/hurry)
}

func (b brisk) WithTimeout(
	ctx context.Context, d time.Duration,
) (context.Context, context.CancelFunc) {
	return b.Runtime.WithTimeout(ctx, d/hurry)
}

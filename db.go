package strictkv

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cleanup"
	"github.com/strictkv/strictkv/internal/contention"
	"github.com/strictkv/strictkv/internal/feed"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txn"
)

// DB is a handle of a database. It is safe for concurrent use. A process needs one
// handle per database; several handles, in one process or many, may have the same
// database open.
type DB struct {
	name   string
	rt     seam.Runtime
	st     *store.Store
	rs     *resolve.Resolver
	bg     *cleanup.Background
	engine *txn.Engine
	local  *feed.Local
	feed   *feed.Writer       // nil without WithFeed
	fed    bool               // WithFeed
	stop   context.CancelFunc // of the background work

	concurrency int // of requests

	mu      seam.Mutex // guards all below
	closed  bool
	running int
	idle    seam.Event // set when running falls to 0; nil if nobody waits
	// followers are how to end those who follow, by Follow and Watch.
	followers []*context.CancelFunc
}

// Open opens the database with a name (1 to 64 of a-z A-Z 0-9 . _ -) in a bucket, and
// creates it if it is not there: one request if it is. Many databases can share a
// bucket. Before it creates one, it probes the store: see WithProbe.
//
// It returns ErrInvalid for a name that is not allowed, ErrCorrupt if the bucket holds
// something else under that name, ErrFormat if a newer version of this library has
// made the database, ErrNoDatabase with MustExist or ReadOnly, ErrUnsupported if the store
// would lose updates, and the backend's
// errors: backend.ErrBucketNotFound, backend.ErrDenied, ErrUnavailable. None of them
// matches ErrNotFound.
func Open(ctx context.Context, name string, b backend.Backend, opts ...Option) (*DB, error) {
	if b == nil {
		return nil, fmt.Errorf("open %q: nil backend: %w", name, ErrInvalid)
	}
	if err := keyspace.CheckDatabase(name); err != nil {
		return nil, fmt.Errorf("open: %w: %w", err, ErrInvalid)
	}
	s := settings{
		patience: DefaultPatience, concurrency: DefaultConcurrency, inlineMax: DefaultInlineMax,
		probe: ProbeOnce, logger: slog.New(slog.DiscardHandler),
	}
	for _, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("open %q: nil option: %w", name, ErrInvalid)
		}
		opt(&s)
	}
	rt := seam.FromContext(ctx)
	db := &DB{name: name, rt: rt, concurrency: s.concurrency, fed: s.feed != nil}
	s.logger = observe.Limited(s.logger, rt)
	seen := db.observer(rt, &s)
	within, work := seen.Work(ctx, observe.Open)
	st, err := store.Open(within, store.Options{
		Backend: b, Runtime: rt, Cache: s.cells(),
		Prefix: keyspace.Prefix(name), Concurrency: s.concurrency,
		Requests: store.Requests(s.requests),
		Probe:    store.Probe(s.probe), MustExist: s.mustExist, ReadOnly: s.readOnly,
		Logger: s.logger, Observer: seen,
	})
	work.Done(within, 1, err)
	if err != nil {
		return nil, err
	}
	st.Log().Info("opened", "read_only", s.readOnly, "keeps_tombstones", !st.ConditionalDelete())
	life, stop := rt.WithCancel(context.WithoutCancel(ctx))
	keys := contention.NewKeys(rt)
	db.st, db.stop, db.local = st, stop, feed.NewLocal(rt)
	db.rs = resolve.New(resolve.Options{Store: st, Patience: s.patience})
	db.bg = cleanup.New(life, cleanup.Options{
		Resolver: db.rs, Store: st, Keys: keys,
		Concurrency: max(s.concurrency/2, 1), Logger: s.logger,
	})
	db.engine = txn.New(txn.Config{
		Store: st, Resolver: db.rs, Background: db.bg, Keys: keys, InlineMax: s.inlineMax,
	})
	if s.feed != nil && !s.readOnly {
		db.feed = feed.NewWriter(life, st, s.feed.Interval)
		db.engine.OnCommit(db.noted)
	}
	return db, nil
}

// Close refuses new work, ends those who follow, and waits for running transactions and for
// what commits have left to do in the background; if ctx ends before, it returns its error, and
// what is left is for the next who meets it. Closing twice is fine. Don't call it from within a
// transaction's function, or the loop of one who follows.
func (db *DB) Close(ctx context.Context) error {
	db.mu.Lock()
	db.closed = true
	var idle seam.Event
	if db.running > 0 {
		if db.idle == nil {
			db.idle = db.rt.NewEvent()
		}
		idle = db.idle
	}
	db.mu.Unlock()
	db.endFollowers()
	defer db.stop()
	if idle != nil {
		if err := idle.Wait(ctx); err != nil {
			return fmt.Errorf("close %q: transactions are running: %w", db.name, err)
		}
	}
	if err := db.bg.Drain(ctx); err != nil {
		return fmt.Errorf("close %q: intents are being resolved: %w", db.name, err)
	}
	if db.feed != nil {
		db.feed.Close(ctx)
	}
	return nil
}

// begin counts a call; end must follow.
func (db *DB) begin() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return ErrClosed
	}
	db.running++
	return nil
}

func (db *DB) end() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.running--
	if db.running == 0 && db.idle != nil {
		db.idle.Set()
		db.idle = nil
	}
}

// noted passes on which cells a transaction of the handle has written, or may have.
func (db *DB) noted(names []string) {
	db.local.Note(names)
	if db.feed != nil {
		db.feed.Note(names)
	}
}

// subscribe begins a subscription to what transactions of the handle write, or may have written,
// from now on. It must be stopped.
func (db *DB) subscribe() *feed.Subscription {
	s := db.local.Subscribe()
	db.engine.OnCommit(db.noted)
	return s
}

// hints returns a reader of what other handles write by WithFeed.
func (db *DB) hints() *feed.Reader {
	own := ""
	if db.feed != nil {
		own = db.feed.ID()
	}
	return feed.NewReader(db.st, own)
}

// Tx runs a transaction. The function reads and writes through the Tx that it is
// given; if it returns nil, the transaction is committed. On a conflict it is run
// again: it must have no effect outside of the Tx, and an attempt that will fail may see
// values that don't belong together.
//
// There is no end to that but ctx's: without a deadline, a transaction under constant conflict
// may be tried for ever. MaxAttempts sets a number instead. Tx.Attempt tells the function how
// often it has been run, and Tx.RetryCause why again.
//
// A transaction that the function starts itself is one of its own. If it wants the same keys
// it waits for this one, up to half a minute, and then makes it run again.
//
// A transaction writes 1000 keys at most. Each costs two writes, one of them after Tx has
// returned, and a conflict at any of them undoes the attempt at all: to bring data in that need
// not appear at one instant, Collection.Load costs one write for each key, without a limit.
//
// An error that the function returns ends the transaction without effect and comes back
// unchanged, once the reads that led to it have been found valid. A panic passes
// through. Other errors: ErrClosed, ErrInvalid for a nil function, ErrConflict,
// ErrInDoubt, ErrTooLarge, ErrCorrupt, ErrFormat, ErrUnavailable, and the context's.
func (db *DB) Tx(ctx context.Context, fn func(tx *Tx) error, opts ...TxOption) error {
	var o txn.Options
	for _, opt := range opts {
		if opt == nil {
			return fmt.Errorf("transaction: nil option: %w", ErrInvalid)
		}
		opt.applyTx(&o)
	}
	return db.run(ctx, o, fn)
}

// View runs a transaction that only reads: the same snapshot of all keys, current at an
// instant within the call, or with MaxStaleness at most that old. A write in it fails
// with ErrReadOnly. Like DB.Tx it is run again until ctx ends, unless MaxAttempts says less.
//
// Of several keys that others go on writing between its reads and their validation, it takes
// locks after 11 runs, like a Tx that is torn apart, unless it has scanned, or the handle is for
// reading only (ReadOnly): that costs two writes for each key, and keeps writers waiting for some
// latencies.
func (db *DB) View(ctx context.Context, fn func(tx *Tx) error, opts ...ViewOption) error {
	o := txn.Options{ReadOnly: true}
	for _, opt := range opts {
		if opt == nil {
			return fmt.Errorf("view: nil option: %w", ErrInvalid)
		}
		opt.applyView(&o)
	}
	return db.run(ctx, o, fn)
}

func (db *DB) run(ctx context.Context, o txn.Options, fn func(tx *Tx) error) error {
	if fn == nil {
		return fmt.Errorf("transaction: nil function: %w", ErrInvalid)
	}
	if err := db.begin(); err != nil {
		return err
	}
	defer db.end()
	o.ReadOnly = o.ReadOnly || db.st.ReadOnly()
	attempt := 0
	err := db.engine.Run(ctx, o, func(tx *txn.Tx) error {
		attempt++
		return fn(&Tx{db: db, tx: tx, attempt: attempt})
	})
	return db.outward(err)
}

// Do is DB.Tx for a function that returns a value: that of the run that committed.
func Do[T any](
	ctx context.Context, db *DB, fn func(tx *Tx) (T, error), opts ...TxOption,
) (T, error) {
	var v T
	if fn == nil {
		return v, db.Tx(ctx, nil, opts...)
	}
	err := db.Tx(ctx, func(tx *Tx) (err error) {
		v, err = fn(tx)
		return err
	}, opts...)
	return zeroOnError(v, err)
}

// DoView is DB.View for a function that returns a value.
func DoView[T any](
	ctx context.Context, db *DB, fn func(tx *Tx) (T, error), opts ...ViewOption,
) (T, error) {
	var v T
	if fn == nil {
		return v, db.View(ctx, nil, opts...)
	}
	err := db.View(ctx, func(tx *Tx) (err error) {
		v, err = fn(tx)
		return err
	}, opts...)
	return zeroOnError(v, err)
}

// zeroOnError keeps the value of a run that did not count from its caller.
func zeroOnError[T any](v T, err error) (T, error) {
	if err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// Stats count what a handle has done since it was opened.
type Stats struct {
	// Transactions that have ended: Committed ones wrote something, ReadOnly ones
	// did not, Failed ones ended with an error of their function, and InDoubt ones
	// with ErrInDoubt.
	Committed, ReadOnly, Failed, InDoubt int64
	// Attempts to commit, by protocol: one key; several keys, all that were read
	// among them; some key read but not written.
	Direct, Parallel, Validated int64
	// Grouped counts transactions, of those committed, that this handle has committed
	// together with others that wanted the same keys.
	Grouped int64
	// Escalated counts the transactions that have taken locks, after many failed attempts.
	Escalated int64
	// Retries by cause: something that was read had changed (the function was run
	// again), or a conditional write was refused.
	StaleReads, Refused int64
	// Reads of keys that the cache served, and that needed a request.
	CacheHits, CacheMisses int64
	// DiskHits counts cells and external values whose bytes the cache's disk had (cache.Open),
	// so that they were not moved.
	DiskHits int64
	// Requests: Gets (of which NotModified were answered so), Puts (of which Unknown
	// had an unknown outcome), Deletes, and Lists (pages). Resent counts those that were
	// sent again after a passing error.
	Gets, NotModified, Puts, Unknown, Deletes, Lists, Resent int64
	// Bytes of objects read and written.
	BytesRead, BytesWritten int64
	// FeedWritten counts the objects of hints for followers (see WithFeed), and FeedDropped those
	// that were given up.
	FeedWritten, FeedDropped int64
	// KeepsTombstones says that no sweep removes the tombstones of deleted keys: the store
	// lacks a DELETE that is conditional, or is not known to have it (see WithProbe).
	KeepsTombstones bool
}

// Stats returns the counters. They are not one snapshot: work that is under way may be
// counted in part.
func (db *DB) Stats() Stats {
	t, r := db.engine.Stats(), db.st.Counts()
	var written, dropped int64
	if db.feed != nil {
		written, dropped = db.feed.Written(), db.feed.Dropped()
	}
	return Stats{
		Committed: t.Committed.Load(), ReadOnly: t.ReadOnly.Load(),
		Failed: t.Failed.Load(), InDoubt: t.InDoubt.Load(),
		Direct: t.Direct.Load(), Parallel: t.Parallel.Load(), Validated: t.Validated.Load(),
		Grouped: t.Grouped.Load(), Escalated: t.Escalated.Load(),
		StaleReads: t.StaleReads.Load(), Refused: t.Refused.Load(),
		CacheHits: t.Hits.Load(), CacheMisses: t.Misses.Load(),
		DiskHits: r.DiskHits.Load(),
		Gets:     r.Gets.Load(), NotModified: r.NotModified.Load(),
		Puts: r.Puts.Load(), Unknown: r.Unknown.Load(),
		Deletes: r.Deletes.Load(), Lists: r.Lists.Load(), Resent: r.Retried.Load(),
		BytesRead: r.BytesRead.Load(), BytesWritten: r.BytesWritten.Load(),
		FeedWritten: written, FeedDropped: dropped,
		KeepsTombstones: !db.st.ConditionalDelete(),
	}
}

// Sub returns what has been counted since an earlier state. KeepsTombstones stays as it is.
func (s Stats) Sub(earlier Stats) Stats {
	return Stats{
		Committed: s.Committed - earlier.Committed, ReadOnly: s.ReadOnly - earlier.ReadOnly,
		Failed: s.Failed - earlier.Failed, InDoubt: s.InDoubt - earlier.InDoubt,
		Direct: s.Direct - earlier.Direct, Parallel: s.Parallel - earlier.Parallel,
		Validated: s.Validated - earlier.Validated, Grouped: s.Grouped - earlier.Grouped,
		Escalated: s.Escalated - earlier.Escalated, StaleReads: s.StaleReads - earlier.StaleReads,
		Refused: s.Refused - earlier.Refused, CacheHits: s.CacheHits - earlier.CacheHits,
		CacheMisses: s.CacheMisses - earlier.CacheMisses,
		DiskHits:    s.DiskHits - earlier.DiskHits, Gets: s.Gets - earlier.Gets,
		NotModified: s.NotModified - earlier.NotModified, Puts: s.Puts - earlier.Puts,
		Unknown: s.Unknown - earlier.Unknown, Deletes: s.Deletes - earlier.Deletes,
		Lists: s.Lists - earlier.Lists, Resent: s.Resent - earlier.Resent,
		BytesRead:       s.BytesRead - earlier.BytesRead,
		BytesWritten:    s.BytesWritten - earlier.BytesWritten,
		FeedWritten:     s.FeedWritten - earlier.FeedWritten,
		FeedDropped:     s.FeedDropped - earlier.FeedDropped,
		KeepsTombstones: s.KeepsTombstones,
	}
}

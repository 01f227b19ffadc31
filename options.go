package strictkv

import (
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/strictkv/strictkv/cache"
	"github.com/strictkv/strictkv/internal/budget"
	cells "github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/feed"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txn"
)

// Defaults of the options of Open.
const (
	// DefaultCacheSizeMax is the size of a handle's cache, in bytes, where memory is plenty.
	// Where GOMEMLIMIT or the container allow less than 1 GiB, a cache has a quarter of that:
	// see cache.DefaultSize.
	DefaultCacheSizeMax = cache.DefaultSizeMax
	// DefaultPatience is how long a younger transaction waits for an undecided one.
	DefaultPatience = 2 * time.Second
	// DefaultInlineMax is the size up to which a value lives in its key's object, in
	// bytes; docs/decisions/inline-max.md tells why.
	DefaultInlineMax = txn.InlineMax
	// ValueMax is the size of the largest value, in bytes.
	ValueMax = txn.ValueMax
	// DefaultConcurrency is how many requests a handle has under way at once.
	DefaultConcurrency = 256
)

type settings struct {
	cache       *cache.Cache
	cacheSize   *int64 // nil is the default
	patience    time.Duration
	concurrency int
	inlineMax   int
	requests    Requests
	probe       Probe
	logger      *slog.Logger
	observers   []Observer
	mustExist   bool
	readOnly    bool
	feed        *FeedOptions
}

// unsized bounds the caches of all handles that are given neither a cache nor a size.
var unsized budget.Budget

// cells is the cache that the settings ask for.
func (s *settings) cells() *cells.Cache {
	switch {
	case s.cache != nil:
		return (*cells.Cache)(s.cache)
	case s.cacheSize != nil:
		return cells.New(*s.cacheSize)
	}
	return cells.Within(&unsized, cache.DefaultSize())
}

// Option configures a database handle.
type Option func(*settings)

// WithCacheSize bounds the handle's cache in bytes, counted as what the entries take on
// the heap; 0 caches nothing. The default is cache.DefaultSize: 256 MiB, or a quarter of the
// memory that GOMEMLIMIT or the container allow if that is less, for all handles of the
// process that are given neither a size nor a cache: each keeps what it knows for itself, but
// while they take more together, those that have more than an equal part keep less. Beside
// it, a handle keeps up to 16 MiB of what it has scanned, for MaxStaleness. A Go program's
// heap may grow to twice what lives before it is collected: set GOMEMLIMIT where memory is
// tight.
func WithCacheSize(bytes int64) Option {
	return func(s *settings) { s.cacheSize = &bytes }
}

// WithCache gives the handle a cache that other handles of the process share. It
// overrides WithCacheSize. A database and a copy of its objects must not share one: they
// have the same id.
func WithCache(c *cache.Cache) Option {
	return func(s *settings) { s.cache = c }
}

// WithPatience sets how long a transaction waits for an older one that holds a key
// before it takes its client for dead and kills it. The default is DefaultPatience. A
// short patience frees keys of crashed processes sooner; one shorter than a
// transaction's few requests makes readers kill writers, while writers grant each other
// four of their latencies in any case. Zero or less waits no longer than that. It never
// endangers safety.
//
// Who takes long shows that it is alive after half of its own patience, and at least each
// second: handles of one database may differ in patience, but those that have less than two
// seconds kill transactions that hold locks or validate for longer than that, of handles that
// have more.
func WithPatience(d time.Duration) Option {
	return func(s *settings) { s.patience = d }
}

// WithConcurrency bounds how many requests the handle has under way at once. The
// default is DefaultConcurrency. Values below 1 count as 1.
func WithConcurrency(n int) Option {
	return func(s *settings) { s.concurrency = max(n, 1) }
}

// Requests bounds single requests to the store: their time, and how often and after what
// pauses they are sent again. Fields that are zero have the values of DefaultRequests.
type Requests struct {
	// Timeout bounds one request, and twice that a wave of them; one that moves a large
	// value has more, by its size. A write that exceeds it is of unknown outcome. It is 5
	// minutes at most.
	Timeout time.Duration
	// Retries is how often a request is sent again that was certainly not applied, or a
	// read that failed; 100 at most. A negative number is none.
	Retries int
	// BackoffMin and BackoffMax bound the pause before it is, which doubles each time, with
	// jitter. A store that asks for a longer one gets it, up to half a minute.
	BackoffMin, BackoffMax time.Duration
}

// DefaultRequests returns the bounds that a handle has without WithRequests: 30 s for a
// request, and 8 more tries after pauses from 50 ms to 5 s.
func DefaultRequests() Requests { return Requests(store.DefaultRequests) }

// WithRequests bounds single requests to the store. Fields of r that are zero have the
// values of DefaultRequests.
func WithRequests(r Requests) Option { return func(s *settings) { s.requests = r } }

// WithInlineMax sets up to which size, in bytes, a value lives in its key's object; the
// default is DefaultInlineMax. A larger one becomes an object of its own, which starts
// uploading when it is written in a transaction, while the function goes on. That costs
// two more requests for each write, and one for each read that the cache can't serve, but
// saves moving the bytes several times in transactions of several keys. Handles of one
// database may differ in it. Values below 0 count as 0, and those above ValueMax as that.
func WithInlineMax(bytes int) Option {
	return func(s *settings) { s.inlineMax = min(max(bytes, 0), ValueMax) }
}

// Probe says when Open probes the store.
type Probe uint8

// The times for WithProbe.
const (
	// ProbeOnce probes when the database is created, or was made by a version of this
	// library that did not probe. It is the default.
	ProbeOnce = Probe(store.ProbeOnce)
	// ProbeAgain probes each time that the database is opened: once after its objects have
	// been copied to another store, after the store has got better, or after the user has got
	// permission to delete.
	ProbeAgain = Probe(store.ProbeAgain)
	// ProbeNever takes the store's word. It is dangerous: on a store that ignores the
	// conditions of writes, transactions lose each other's updates, and nothing tells.
	ProbeNever = Probe(store.ProbeNever)
)

// WithProbe sets when Open probes the store; the default is ProbeOnce. The probe writes,
// lists, reads and removes some small objects under names of the database that nothing
// else has, by less than twenty requests; its result is kept in the bucket.
//
// It finds out whether the store honours If-None-Match and If-Match of a PUT (or what its
// adapter sends instead), and lists all names in byte order. One that does not is refused
// with ErrUnsupported. It finds out also whether the store honours the condition of a
// DELETE, and tells by Stats.KeepsTombstones: without it tombstones are never removed. That
// goes for a database that was never probed as well. A user who may not write can open a
// database that exists without a probe.
func WithProbe(p Probe) Option { return func(s *settings) { s.probe = p } }

// MustExist makes Open fail with ErrNoDatabase where the database does not exist, instead of
// creating it: so that a typo in the name of a database, or of a bucket, does not read as an
// empty one. Nothing is created, but a database that was never probed is probed: see WithProbe.
func MustExist() Option { return func(s *settings) { s.mustExist = true } }

// ReadOnly makes a handle that never writes to the bucket, nor deletes anything there: not to
// create the database, which must exist as with MustExist, nor to probe the store, nor to
// help or end the transactions of others. Permission to get and list objects is enough. DB.Tx
// runs as DB.View does. Writes, DB.Sweep and DB.Check with Repair (unless they are dry runs),
// and Drop fail with ErrReadOnly.
//
// A read may meet a transaction that holds the key and can't go on, since its process has
// died. Other handles end such a transaction after their patience, by a write. This one then
// returns ErrUnavailable: until somebody else has used the key, or a DB.Sweep has passed.
func ReadOnly() Option { return func(s *settings) { s.readOnly = true } }

// Limits of FeedOptions.Interval.
const (
	// DefaultFeedInterval is the interval where none is set.
	DefaultFeedInterval = feed.Every
	// FeedIntervalMin is the shortest one.
	FeedIntervalMin = feed.EveryMin
)

// FeedOptions configures WithFeed.
type FeedOptions struct {
	// Interval is the shortest time between two objects that the handle writes; 0 or less is
	// DefaultFeedInterval, and a shorter one than FeedIntervalMin is that. Followers learn of a
	// commit up to so much later.
	Interval time.Duration
}

// WithFeed makes the handle tell followers of the database which keys it has written: in the
// background, after its commits, by one small object in an interval at most, and the removal of
// it some minutes later. While it commits nothing, it writes nothing. Followers (Collection.Follow,
// DB.Follow) list these objects instead of everything, so that what they cost depends on what is
// written, not on the size of the database.
//
// What it tells are hints: keys that may have changed. If one is lost, since a request has failed
// or the process has died, followers find out when they next go through everything. So commits
// never wait for the feed, and nothing depends on it. All handles that write should have it, or
// followers see the commits of those that have not as late as they look at everything. Handles that
// follow should have it as well, to look at what others tell.
//
// A ReadOnly handle writes none. Stats.FeedWritten and FeedDropped count.
func WithFeed(o FeedOptions) Option { return func(s *settings) { s.feed = &o } }

// WithLogger sets where the handle reports what an operator should know. At level Warn: the store
// throttles, or can't be reached; an object is damaged; a transaction is in doubt, or is tried
// again and again; the same not more often than once a minute, and then with the number that was
// left out. At level Info: that the database was opened, swept, checked or dropped. At level
// Debug: what it could not do in the background, and has left to others. No value is ever logged,
// and no credential; a key, escaped, is part of the name of an object that is damaged or can't be
// read, or was left. The default discards all.
func WithLogger(l *slog.Logger) Option {
	return func(s *settings) {
		if l != nil {
			s.logger = l
		}
	}
}

// WriteOption configures one Write or Insert.
type WriteOption interface {
	applyWrite(*writing) error
}

// writing is what WriteOptions say.
type writing struct{ expires int64 }

func newWriting(opts []WriteOption) (w writing, err error) {
	for _, opt := range opts {
		if opt == nil {
			return w, fmt.Errorf("nil option: %w", ErrInvalid)
		}
		if err := opt.applyWrite(&w); err != nil {
			return w, err
		}
	}
	return w, nil
}

type expireAt time.Time

// expiresMax is the last instant that a value can expire at.
var expiresMax = time.Unix(0, math.MaxInt64)

func (e expireAt) applyWrite(w *writing) error {
	t := time.Time(e)
	switch {
	case t.IsZero():
		w.expires = 0
	case t.Before(time.Unix(0, 1)) || t.After(expiresMax):
		return fmt.Errorf("expire at %v: want a time from 1970 to 2262: %w", t, ErrInvalid)
	default:
		w.expires = t.UnixNano()
	}
	return nil
}

// ExpireAt makes a value expire: from t on the key has none, for every read, scan and Insert, and
// some time later a DB.Sweep removes it. Without it, or with the zero time, a value stays, also
// where it replaces one that would have expired. Any other time before 1970, or after 2262, is
// refused with ErrInvalid; one that has passed already is allowed.
//
// The store's clock decides, as far as its answers have told the handle: so processes with wrong
// clocks agree. A value is not due before that clock says so. It may be seen for as long
// afterwards as an answer takes on its way, and by a second more, as stores tell their time in
// seconds. A transaction decides by one instant what is due, and commits only if what it has seen
// is not due by then.
//
// On Cloud Storage answers to writes alone tell the time: a handle that has not written yet goes
// by the clock of its process, as long as it only reads. In a folder the time is that of each
// machine. Two may then disagree about a value for as long as their clocks differ; what they
// commit is conditional on the key as it is in any case. An end should be later than a commit
// takes, seconds from now at least.
//
// A key that expires costs more: scans read each such key that is not in the cache, even for keys
// alone; and a transaction that writes a key which it has read, and which is due within a quarter
// of an hour, takes one or two rounds more.
func ExpireAt(t time.Time) WriteOption { return expireAt(t) }

// TxOption configures one DB.Tx.
type TxOption interface{ applyTx(*txn.Options) }

// ViewOption configures one DB.View.
type ViewOption interface{ applyView(*txn.Options) }

// Attempts is the option made by MaxAttempts.
type Attempts int

// MaxAttempts ends a transaction with ErrConflict after n attempts that conflicts
// have undone.
//
// Without it (or with n < 1) there is no limit: a transaction is tried until its context
// ends. Where callers wait, give the context a deadline, or set a number here.
//
// It serves Tx and View. A Tx with it does not commit together with others of its
// handle: that is slower where many want the same key.
func MaxAttempts(n int) Attempts { return Attempts(n) }

func (a Attempts) applyTx(o *txn.Options)   { o.MaxAttempts = max(int(a), 0) }
func (a Attempts) applyView(o *txn.Options) { o.MaxAttempts = max(int(a), 0) }

type staleness time.Duration

func (s staleness) applyView(o *txn.Options) { o.Staleness = time.Duration(s) }

// MaxStaleness lets a View see one snapshot that is at most d old: what is known to
// have been current at one instant within d of the View's start is served without a
// request, but for external values that the cache does not hold. 0 or less is strong.
//
// Of ranges a handle knows that if it has scanned them within d, in a transaction or View that
// committed, and has not written to them since. Other scans cost what strong ones do.
func MaxStaleness(d time.Duration) ViewOption { return staleness(d) }

package replica

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv"
)

// Replica is a copy of collections on this machine's disk, which follows the database until it is
// closed. It is safe for concurrent use.
type Replica struct {
	db     *strictkv.DB
	o      Options
	dir    string
	lock   io.Closer
	header []byte
	// numbers are those of the collections, by path; given are they as they were given.
	numbers map[string]int
	given   map[*strictkv.Collection]int
	byOrder []*strictkv.Collection
	open    func() (storage, error)
	discard func() error

	cancel context.CancelFunc
	ended  chan struct{} // closed when the goroutine that follows has ended

	damage chan error // what a reader, or the engine, has found

	// These are the follower's alone. The incarnation is what the copy drew when it was made.
	store       *noting
	apply       *applier
	incarnation [incarnationSize]byte
	edition     uint64 // of what was shown last

	// records are of what is shown: stored with that, while mu is held. They are nil if nothing is
	// shown, or there is no cache.
	records atomic.Pointer[records]

	mu      sync.RWMutex // guards all below
	shown   *shown       // nil if nothing can be shown
	changed chan struct{}
	closed  bool
	err     error
	rebuilt int
	seen    time.Time // when the last pass that counts for Lag began
	views   sync.WaitGroup
}

// Open opens the copy in a directory, which it makes if it is not there, and starts to follow the
// database. It waits for no pass: see Ready. What a copy there has of other collections, or of
// another database or mode, is thrown away, and so is one that is damaged.
//
// The directory must be on a local disk, and for nothing else. Close the Replica before the
// handle.
//
// Errors: ErrInUse, strictkv.ErrInvalid for options, strictkv.ErrClosed, the file system's, and
// the context's.
func Open(
	ctx context.Context, db *strictkv.DB, dir string, o Options,
) (r *Replica, err error) {
	if db == nil || dir == "" {
		return nil, fmt.Errorf("open replica: no database, or no directory: %w",
			strictkv.ErrInvalid)
	}
	if o, err = o.prepared(db); err != nil {
		return nil, fmt.Errorf("open replica %q: %w", dir, err)
	}
	r = newReplica(db, o)
	if err = r.start(ctx, dir); err != nil {
		return nil, fmt.Errorf("open replica %q: %w", dir, err)
	}
	return r, nil
}

func newReplica(db *strictkv.DB, o Options) *Replica {
	r := &Replica{
		db: db, o: o, numbers: map[string]int{}, given: map[*strictkv.Collection]int{},
		ended: make(chan struct{}), damage: make(chan error, 1), changed: make(chan struct{}),
	}
	slices.SortStableFunc(o.Collections, func(x, y *strictkv.Collection) int {
		return bytes.Compare(pathOf(x), pathOf(y))
	})
	for _, c := range o.Collections {
		path := string(pathOf(c))
		if _, twice := r.numbers[path]; !twice {
			r.numbers[path] = len(r.byOrder)
			r.byOrder = append(r.byOrder, c)
		}
		r.given[c] = r.numbers[path]
	}
	return r
}

// start opens the copy, and starts the goroutine.
func (r *Replica) start(ctx context.Context, dir string) (err error) {
	h := header{mode: r.o.Mode}
	if h.database, err = identity(ctx, r.byOrder[0]); err != nil {
		return err
	}
	for _, c := range r.byOrder {
		h.paths = append(h.paths, pathOf(c))
	}
	r.header = h.encode()
	if r.open == nil { // else a test has set it
		path, lock, err := lockDirectory(dir, r.o.disk)
		if err != nil {
			return err
		}
		r.dir, r.lock = path, lock
		r.open = func() (storage, error) {
			e, err := openEngine(path, r.o, r.noticed)
			if err != nil {
				return nil, err
			}
			return e, nil
		}
		r.discard = func() error { return throwAway(path, r.o.disk) }
	}
	if err := r.openStore(); err != nil {
		return errors.Join(err, r.unlock())
	}
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	go r.run(within)
	return nil
}

func (r *Replica) unlock() error {
	if r.lock == nil {
		return nil
	}
	return r.lock.Close()
}

// identity tells databases apart: it is the Position of who has seen nothing of one. It costs no
// request.
func identity(ctx context.Context, c *strictkv.Collection) ([]byte, error) {
	nothing := strictkv.Range{From: []byte{1}, To: []byte{1}}
	for change, err := range c.Follow(ctx, strictkv.Position{}, strictkv.FollowOnce(),
		strictkv.FollowRange(nothing)) {
		if err != nil {
			return nil, err
		}
		if change.Pass != nil {
			return change.Position.MarshalBinary()
		}
	}
	return nil, errors.New("following nothing has not ended")
}

// openStore opens the copy, or makes a new one of what is there.
func (r *Replica) openStore() error {
	err := r.load()
	if !errors.Is(err, errDamage) {
		return err
	}
	r.tellRebuild(err)
	if err := r.discard(); err != nil {
		return err
	}
	return r.load()
}

func (r *Replica) tellRebuild(why error) {
	r.mu.Lock()
	r.rebuilt++
	r.mu.Unlock()
	r.o.Logger.Warn("replica: the local copy is thrown away, and built anew",
		"dir", r.dir, "err", why)
	if r.o.OnRebuild != nil {
		r.o.OnRebuild(why)
	}
}

// errOther says that the copy is of something else.
var errOther = fmt.Errorf("%w: it is of another database, of other collections, of another mode, "+
	"or of another format", errDamage)

// load opens the copy, and shows it.
func (r *Replica) load() (err error) {
	store, err := r.open()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.store, err = nil, errors.Join(err, store.close())
		}
	}()
	if r.incarnation, err = r.checkHeader(store); err != nil {
		return err
	}
	r.store = &noting{storage: store}
	if err := r.renew(); err != nil {
		return err
	}
	if err := r.apply.begin(); err != nil {
		return err
	}
	return r.show(instant(r.apply.status.seen))
}

// renew makes an applier that goes on from what is stored.
func (r *Replica) renew() (err error) {
	if r.apply, err = newApplier(r.store); err != nil {
		return err
	}
	if r.o.batchMax > 0 {
		r.apply.batchMax = r.o.batchMax
	}
	r.apply.mode, r.apply.logMax, r.apply.number = r.o.Mode, uint64(r.o.LogMax), r.number
	return nil
}

// checkHeader compares the header of a copy with what it should be, and makes that of a new one.
func (r *Replica) checkHeader(store storage) (incarnation [incarnationSize]byte, err error) {
	found := false
	var head []byte
	err = store.get([]byte{keyHeader}, func(b []byte) error {
		head, incarnation, found = splitHeader(b)
		return nil
	})
	switch {
	case errors.Is(err, errAbsent):
		_, _ = rand.Read(incarnation[:]) // it never fails
		var b batch
		b.set([]byte{keyHeader}, append(slices.Clone(r.header), incarnation[:]...))
		return incarnation, store.commit(&b, true)
	case err != nil:
		return incarnation, err
	case !found || !bytes.Equal(head, r.header):
		return incarnation, errOther
	}
	return incarnation, nil
}

// number is that of a collection, of the same path as one that was given.
func (r *Replica) number(c *strictkv.Collection) (int, error) {
	if n, ok := r.given[c]; ok {
		return n, nil
	}
	if c == nil || c.DB() != r.db {
		return 0, fmt.Errorf("a collection that is nil, or of another handle: %w",
			strictkv.ErrInvalid)
	}
	n, ok := r.numbers[string(pathOf(c))]
	if !ok {
		return 0, fmt.Errorf("collection %q is not in the replica: %w", c.Path(),
			strictkv.ErrInvalid)
	}
	return n, nil
}

// Close stops following, waits for readers, and lets others have the directory. What has been
// read is not lost: the next Open goes on from there. Don't call it from within a View or the
// loop of a Scan. Closing twice is fine.
func (r *Replica) Close() error {
	r.mu.Lock()
	again := r.closed
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	<-r.ended
	if again {
		return nil
	}
	r.hide()
	r.views.Wait()
	var err error
	if r.store != nil {
		err = r.store.close()
	}
	if err = errors.Join(err, r.unlock()); err != nil {
		return fmt.Errorf("close replica %q: %w", r.dir, err)
	}
	return nil
}

// Lag tells how old what is shown may be, at most: what was committed longer ago is shown. It is
// the time since the last whole pass began, or of an Instant replica, since the instant that it
// shows. Before the first it is the longest Duration. It grows while the database can't be
// reached.
//
// The monotonic clock counts it, except for the time before Open, of which the machine's wall
// clock tells. What others tell in a feed (strictkv.WithFeed) makes the copy fresher than Lag says:
// only passes count, since hints may be lost.
func (r *Replica) Lag() time.Duration {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.seen.IsZero() {
		return math.MaxInt64
	}
	return max(time.Since(r.seen), 0)
}

// Instant tells the instant that all that is shown is the state of, by this machine's clock, and
// reports whether there is one: always of an Instant replica that is ready, and of a PerKey one
// while nothing changes. What has expired since is not shown.
func (r *Replica) Instant() (at time.Time, ok bool) {
	s, err := r.acquire()
	if err != nil {
		return time.Time{}, false
	}
	defer s.release()
	return instant(s.status.at), s.status.at != 0
}

// Err is why the database could not be followed when that was last tried, or a key of it: nil if
// all is well. Following goes on by itself, except after strictkv.ErrClosed.
func (r *Replica) Err() error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.err
}

// Rebuilt counts how often this Replica has thrown a copy away.
func (r *Replica) Rebuilt() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.rebuilt
}

// Package txn runs one transaction: it calls the user's function, collects what it reads and
// writes, has package commit make an attempt of that, and decides what follows: to return, to
// try again, or to run the function again.
//
//   - Reads only: the read set is validated; a single key that was read from the
//     store needs no validation.
//   - Else an attempt of one of the kinds that package commit describes.
//   - Transactions of one handle that want the same keys wait for each other, and commit
//     together where they can.
package txn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/cleanup"
	"github.com/strictkv/strictkv/internal/commit"
	"github.com/strictkv/strictkv/internal/contention"
	"github.com/strictkv/strictkv/internal/latch"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Engine runs transactions on one database.
type Engine struct {
	st      *store.Store
	rs      *resolve.Resolver
	rt      seam.Runtime
	stats   Stats
	scans   *scan.Scanner
	bg      *cleanup.Background
	keys    *contention.Keys
	commits *commit.Committer
	// memory is what scans with a staleness bound are served from.
	memory scan.Memory
	// inlineMax is the size in bytes up to which a value lives in its key's cell.
	inlineMax int
	// latches are what transactions wait for others of this handle with.
	latches *latch.Queue[*txn]
	// told is OnCommit's.
	told atomic.Pointer[func(names []string)]
}

// Stats count the transactions of an Engine.
type Stats struct {
	// Committed counts transactions that wrote; ReadOnly those that did not.
	Committed, ReadOnly atomic.Int64
	// Failed counts transactions that ended with an error of the user's function,
	// InDoubt those whose outcome stayed unknown.
	Failed, InDoubt atomic.Int64
	commit.Counts
	// Escalated counts transactions that have taken locks.
	Escalated atomic.Int64
	// StaleReads counts runs of the function that were repeated since something
	// read had changed.
	StaleReads atomic.Int64
	// Grouped counts transactions that committed together with others of this handle.
	Grouped atomic.Int64
	// Hits and Misses count reads served from the cache, and reads that needed a
	// request.
	Hits, Misses atomic.Int64
}

// Config is what an Engine works with.
type Config struct {
	Store      *store.Store
	Resolver   *resolve.Resolver
	Background *cleanup.Background
	Keys       *contention.Keys
	// InlineMax is the size in bytes up to which a value lives in its key's cell.
	InlineMax int
}

// New returns an Engine.
func New(c Config) *Engine {
	rt, cells := c.Store.Runtime(), latch.CellsMax
	if c.Store.Batches() {
		cells = latch.CellsTogetherMax
	}
	e := &Engine{
		st: c.Store, rs: c.Resolver, rt: rt, bg: c.Background, keys: c.Keys,
		inlineMax: c.InlineMax, scans: scan.New(c.Store, c.Resolver),
		latches: latch.NewQueue[*txn](rt, cells),
	}
	e.commits = commit.New(commit.Options{
		Store: e.st, Resolver: e.rs, Background: e.bg, Keys: e.keys, Scanner: e.scans,
		Memory: &e.memory, Counts: &e.stats.Counts,
	})
	return e
}

// OnCommit has f told, from now on, of the cells that a transaction has written, or may have, in
// the order of their names: when it has committed, or is in doubt, and before Run returns. The
// slice is f's to keep. It is called with no lock held, and must not wait.
func (e *Engine) OnCommit(f func(names []string)) { e.told.Store(&f) }

// tell tells who wants to know what an attempt has written, or may have.
func (e *Engine) tell(members []*commit.Member) {
	f := e.told.Load()
	if f == nil {
		return
	}
	names := make([]string, 0, len(members))
	for _, m := range members {
		if m.Action != cell.Lock {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names) // those of a locked attempt are in no order
	if len(names) > 0 {
		(*f)(names)
	}
}

// count is the counter of transactions that end so.
func (s *Stats) count(how observe.Outcome) *atomic.Int64 {
	switch how {
	case observe.Committed:
		return &s.Committed
	case observe.ReadOnly:
		return &s.ReadOnly
	case observe.Failed:
		return &s.Failed
	}
	return &s.InDoubt
}

// Stats are the counters.
func (e *Engine) Stats() *Stats { return &e.stats }

// Options of one transaction.
type Options struct {
	// ReadOnly forbids writes.
	ReadOnly bool
	// Staleness lets reads be served from what was current at one instant at most
	// that long ago; 0 is strong. Only with ReadOnly.
	Staleness time.Duration
	// MaxAttempts, if not 0, ends the transaction with ErrConflict after so many
	// attempts.
	MaxAttempts int
	// Name is what an observer is told.
	Name string
}

// Read reads one key outside a transaction: linearizable in one request, or, with a
// staleness bound, from the cache, if what that holds is known to have been current
// within it. The bound counts from when the request that proved it was sent. The value is the
// cache's, too: nobody may change it.
func (e *Engine) Read(
	ctx context.Context, name string, staleness time.Duration,
) ([]byte, About, error) {
	if err := ctx.Err(); err != nil {
		return nil, About{}, err
	}
	ctx, seen := e.st.Observer().Tx(ctx, observe.Read, "")
	v, a, err := e.readOne(ctx, name, staleness, seen)
	seen.End(ctx, 0, err)
	return v, a, err
}

func (e *Engine) readOne(
	ctx context.Context, name string, staleness time.Duration, seen *observe.Tx,
) ([]byte, About, error) {
	rd, ok, now := resolve.Reading{}, false, e.st.Clock()
	if staleness > 0 {
		rd, ok = e.rs.Cached(name)
		ok = ok && e.st.Fresh(rd.Until, e.rt.Now(), staleness)
		ok = ok && !e.lapsed(rd)
	}
	if ok {
		e.stats.Hits.Add(1)
	} else {
		var err error
		e.stats.Misses.Add(1)
		if rd, now, err = e.read(ctx, name); err != nil {
			return nil, About{}, err
		}
	}
	e.stats.ReadOnly.Add(1)
	seen.Ended(observe.ReadOnly)
	return e.bytes(ctx, rd, now)
}

// dueMax is how often a single read begins anew as its value becomes due meanwhile.
const dueMax = 3

// read reads a cell, and tells a time of the store's clock that is not after that at which the
// cell was so. A value that becomes due meanwhile is read again.
func (e *Engine) read(ctx context.Context, name string) (resolve.Reading, int64, error) {
	for again := 0; ; again++ {
		now := e.st.Clock()
		rd, err := e.rs.Shared(ctx, name, e.st.Tick())
		if err != nil {
			return rd, 0, err
		}
		if !rd.Told.IsZero() {
			now = max(now, rd.Told.UnixNano())
		}
		v, _ := rd.Effective()
		if v.Due(now) || !v.Due(e.st.Clock()) || again == dueMax {
			return rd, now, nil
		}
	}
}

// bytes returns the value of a cell that was read, which nobody may change. If its external value
// has been replaced meanwhile, it is that of the cell as it is now. What is due at a time of the
// store's clock is not found.
func (e *Engine) bytes(
	ctx context.Context, rd resolve.Reading, now int64,
) ([]byte, About, error) {
	for range vanishedMax {
		v, w := rd.Effective()
		a := About{Writer: w, Expires: v.Expires}
		switch {
		case v.Kind == cell.Absent, v.Due(now):
			return nil, About{}, backend.ErrNotFound
		case v.Kind == cell.Inline:
			return v.Data, a, nil
		}
		data, err := e.st.Download(ctx, rd.Name, v)
		if !errors.Is(err, store.ErrMissing) {
			return data, a, err
		}
		if rd, err = e.rereadCell(ctx, rd.Name, v); err != nil {
			return nil, About{}, err
		}
	}
	return nil, About{}, fmt.Errorf("value replaced %d times while it was read: %w",
		vanishedMax, backend.ErrUnavailable)
}

// Remove deletes a key in a transaction of its own, and reports whether it had a value, which
// is not fetched: two requests, or one if it had none. It waits while too much is left to
// the background, where the external values of deleted keys are removed.
func (e *Engine) Remove(ctx context.Context, name string) (had bool, err error) {
	if err := e.bg.Admit(ctx); err != nil {
		return false, err
	}
	err = e.Run(ctx, Options{}, func(tx *Tx) error {
		had = false
		x, err := tx.record(name, seen)
		if err != nil || x.absent() && x.Due == 0 {
			return err
		}
		had = !x.absent()
		return tx.Delete(name)
	})
	return had && err == nil, err
}

// The errors of transactions. The root package documents them.
var (
	ErrNoRoom   = errors.New("no room for the value beside the others")
	ErrExists   = errors.New("key exists")
	ErrReadOnly = store.ErrReadOnly
	ErrAborted  = errors.New("transaction aborted")
	ErrTxDone   = errors.New("transaction has ended")
	ErrConflict = errors.New("conflict")
	ErrInDoubt  = commit.ErrInDoubt
	ErrTooLarge = errors.New("too large")
	ErrVersion  = errors.New("another version")
)

// ConflictError is ErrConflict with the number of attempts made.
type ConflictError struct{ Attempts int }

// Error tells the number of attempts.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: gave up after %d attempts", ErrConflict, e.Attempts)
}

// Is makes the error match ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// SizeError is ErrTooLarge with the size and the limit.
type SizeError struct {
	// What is too large.
	What string
	// Size and Limit are in bytes for a value, else a number.
	Size, Limit int
}

// Error tells the size and the limit.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s %v: %d, limit %d", e.What, ErrTooLarge, e.Size, e.Limit)
}

// Is makes the error match ErrTooLarge.
func (e *SizeError) Is(target error) bool { return target == ErrTooLarge }

// VersionError is ErrVersion with the writer that was required, and the one found; zero stands
// for that of a key without a value.
type VersionError struct{ Want, Found txid.ID }

// Error tells both.
func (e *VersionError) Error() string {
	return fmt.Sprintf("%v: found %v, required %v", ErrVersion, e.Found, e.Want)
}

// Is makes the error match ErrVersion.
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// InDoubtError is ErrInDoubt with the attempt, the names of its cells, and the cause.
type InDoubtError = commit.InDoubtError

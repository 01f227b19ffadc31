// Package commit runs one transaction: it calls the user's function, collects what
// it reads and writes, and commits that by one of three protocols.
//
// R and W are the keys read and written.
//
//   - Reads only: the read set is validated; a single key that was read from the
//     store needs no validation.
//   - Direct: W = {k}, R within W. One CAS of the cell to the new value.
//   - Parallel: R within W. A CAS of a staged intent into every cell at once. The
//     transaction commits at the instant the last intent lands, as any observer can
//     tell by reading all members: the client knows once every CAS is answered, and
//     resolves the intents in the background.
//   - Validated: some key is read, but not written, or a range. (1) CAS pending intents, (2)
//     validate R, (3) CAS the primary from its intent to its value, with the mark.
//     The last is the commit point. From (1) to (3) nobody reads through the intents.
//
// What fails leaves a dead attempt. Its intents are replaced by the next attempt of
// the transaction, or removed in the background. An attempt has an id of its own,
// and its members' expected versions are part of its intents: it never sends a
// member at another version. A crash at any point leaves intents that whoever meets
// them can decide (package resolve).
package commit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/turn"
	"github.com/strictkv/strictkv/internal/txid"
)

// Engine runs transactions on one database.
type Engine struct {
	st    *store.Store
	rs    *resolve.Resolver
	rt    seam.Runtime
	stats Stats
	scans *scan.Scanner
	// memory is what scans with a staleness bound are served from.
	memory scan.Memory
	// inlineMax is the size in bytes up to which a value lives in its key's cell.
	inlineMax int
	// line is where transactions wait for others of this handle.
	line *turn.Line[*txn]
}

// Stats count the transactions of an Engine.
type Stats struct {
	// Committed counts transactions that wrote; ReadOnly those that did not.
	Committed, ReadOnly atomic.Int64
	// Failed counts transactions that ended with an error of the user's function,
	// InDoubt those whose outcome stayed unknown.
	Failed, InDoubt atomic.Int64
	// Direct, Parallel and Validated count the attempts by protocol.
	Direct, Parallel, Validated atomic.Int64
	// Escalated counts transactions that have taken locks.
	Escalated atomic.Int64
	// StaleReads counts runs of the function that were repeated since something
	// read had changed; Refused counts attempts that lost a CAS.
	StaleReads, Refused atomic.Int64
	// Grouped counts transactions that committed together with others of this handle.
	Grouped atomic.Int64
	// Hits and Misses count reads served from the cache, and reads that needed a
	// request.
	Hits, Misses atomic.Int64
}

// New returns an Engine. Values of more than inlineMax bytes become external.
func New(st *store.Store, rs *resolve.Resolver, inlineMax int) *Engine {
	rt := st.Runtime()
	return &Engine{
		st: st, rs: rs, rt: rt, inlineMax: inlineMax, scans: scan.New(st, rs),
		line: turn.NewLine[*txn](rt),
	}
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
}

// Run runs a transaction until it has ended: committed, failed, or in doubt.
func (e *Engine) Run(ctx context.Context, o Options, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := e.begin(ctx)
	t.o = o
	return t.run(fn)
}

func (e *Engine) begin(ctx context.Context) *txn {
	t := &txn{e: e, ctx: ctx, begun: e.st.Tick(), start: e.rt.Now()}
	t.priority = txid.Priority{Time: t.start.UnixNano(), Tie: e.rt.Uint64()}
	return t
}

// run runs the function until the transaction has ended.
func (t *txn) run(fn func(*Tx) error) error {
	defer t.leave()
	for {
		done, err := t.once(fn)
		if done {
			return err
		}
	}
}

// Retry is why the function runs once more.
type Retry uint8

// The causes.
const (
	NoRetry Retry = iota
	// StaleRead: something that was read had changed.
	StaleRead
	// Conflict: a write was refused, and of what was read or is written something had changed.
	Conflict
	// LocksLost: others have taken away the locks.
	LocksLost
	// Regrouped: others of the handle want the same keys.
	Regrouped
)

// rerun counts a run of the function that did not see what is there now.
func (t *txn) rerun(why Retry) {
	t.e.stats.StaleReads.Add(1)
	t.why = why
}

// txn is a transaction, over all its attempts.
type txn struct {
	e        *Engine
	ctx      context.Context
	o        Options
	priority txid.Priority
	// begun and start are when the transaction began, by the logical clock and by
	// the real one.
	begun uint64
	start time.Time
	// fresh is what the last refresh has read, for the next run of the function.
	fresh map[string]resolve.Reading
	// listed is what the last validation has listed, for the same.
	listed []*scan.Listing
	// failures counts attempts that came to nothing; torn is how much those were torn apart
	// of which some intent had landed.
	failures, torn int
	// why is the cause of the next run of the function.
	why Retry
	// blocks counts those that a store refused at the version that it reports.
	blocks int
	// locks are held once the transaction has escalated, unless it is tooWide for that.
	locks   *locks
	tooWide bool
	// dead are the cells in which attempts of this transaction may have left an
	// intent; claimed those taken from the background.
	dead, claimed []leftover
	// uploads are the external values of the last run; linked are the members of the attempt
	// that has committed, or may have.
	uploads      []*upload
	uploadsAgain int
	linked       []*member
	// turn is the one that the transaction has, if any; own is room for one. Its place in
	// a turn of others is ride.
	turn *turn.Turn[*txn]
	own  turn.Turn[*txn]
	ride ride
	// group is set for a transaction that commits for a group.
	group *group
	// lined says that it has had a place in line; solo that it takes no turns any more; slow
	// that its function takes longer than a group waits.
	lined, solo, slow bool
}

// leftover is a cell in which an attempt's intent may stand.
type leftover struct {
	name string
	tx   txid.ID
	// pending says that the attempt was a pending one, raced that it may have come later than
	// what others of the transaction have written.
	pending, raced bool
}

// once runs the function and tries to commit what it did. done is false if the
// function must be run again.
func (t *txn) once(fn func(*Tx) error) (done bool, err error) {
	tx := &Tx{t: t, why: t.why, fresh: t.fresh, ranges: ranges{known: t.listed}}
	t.listed = nil
	ferr := tx.call(fn)
	if errors.Is(ferr, errNobody) {
		return true, ferr
	}
	t.prune(tx)
	if len(tx.vanished) > 0 {
		return t.again(tx)
	}
	if tx.broken != nil {
		if ferr != nil && errors.Is(ferr, tx.broken) {
			return true, ferr
		}
		return true, tx.broken
	}
	if ferr == nil {
		ferr = tx.failure
	}
	if ferr != nil || !tx.writes() {
		return t.finishReads(tx, ferr)
	}
	if now, done, err := t.takeTurn(tx, fn); !now {
		return done, err
	}
	return t.commit(tx)
}

// failed counts a failure, and ends the transaction if that was the last attempt
// allowed, or the caller has left.
func (t *txn) failed() error {
	t.failures++
	if err := t.ctx.Err(); err != nil {
		return err
	}
	if t.o.MaxAttempts > 0 && t.failures >= t.o.MaxAttempts {
		return &ConflictError{Attempts: t.failures}
	}
	return nil
}

// leave queues what attempts have left in cells for the background.
func (t *txn) leave() {
	if t.locks != nil {
		t.locks.release()
	}
	if t.turn != nil {
		t.e.line.Done(t.turn)
	}
	t.discardRest()
	for _, l := range [][]leftover{t.dead, t.claimed} {
		for len(l) > 0 {
			n := 1
			for n < len(l) && l[n].tx == l[0].tx {
				n++
			}
			names := make([]string, n)
			for i := range names {
				names[i] = l[i].name
			}
			t.e.rs.Resolve(l[0].tx, names, l[0].pending)
			l = l[n:]
		}
	}
}

// Read reads one key outside a transaction: linearizable in one request, or, with a
// staleness bound, from the cache, if what that holds is known to have been current
// within it. The bound counts from when the request that proved it was sent.
func (e *Engine) Read(
	ctx context.Context, name string, staleness time.Duration,
) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rd, ok := resolve.Reading{}, false
	if staleness > 0 {
		rd, ok = e.rs.Cached(name)
		ok = ok && e.st.Fresh(rd.Until, e.rt.Now(), staleness)
	}
	if ok {
		e.stats.Hits.Add(1)
	} else {
		var err error
		e.stats.Misses.Add(1)
		if rd, err = e.rs.Shared(ctx, name, e.st.Tick()); err != nil {
			return nil, err
		}
	}
	e.stats.ReadOnly.Add(1)
	return e.bytes(ctx, rd)
}

// bytes returns the value of a cell that was read, a copy of it. If its external value
// has been replaced meanwhile, it is that of the cell as it is now.
func (e *Engine) bytes(ctx context.Context, rd resolve.Reading) ([]byte, error) {
	for range vanishedMax {
		v, _ := rd.Effective()
		switch v.Kind {
		case cell.Absent:
			return nil, backend.ErrNotFound
		case cell.Inline:
			return append(make([]byte, 0, len(v.Data)), v.Data...), nil
		}
		data, err := e.download(ctx, rd.Name, v)
		if !errors.Is(err, store.ErrMissing) {
			return data, err
		}
		if rd, err = e.lookAgain(ctx, rd.Name, v); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("value replaced %d times while it was read: %w",
		vanishedMax, backend.ErrUnavailable)
}

// Remove deletes a key in a transaction of its own, and tells whether it had a value, which
// is not fetched: two requests, or one if it had none. It waits while too much is left to
// the background, where the external values of deleted keys are removed.
func (e *Engine) Remove(ctx context.Context, name string) (had bool, err error) {
	if err := e.rs.Admit(ctx); err != nil {
		return false, err
	}
	err = e.Run(ctx, Options{}, func(tx *Tx) error {
		had = false
		x, err := tx.record(name)
		if err != nil || x.value.Kind == cell.Absent {
			return err
		}
		had = true
		return tx.Delete(name)
	})
	return had && err == nil, err
}

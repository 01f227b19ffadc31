package observe

import (
	"context"
	"time"
)

// Protocol is how an attempt commits, as the kinds of package commit.
type Protocol uint8

// The protocols. NoProtocol is that of a transaction without an attempt.
const (
	NoProtocol Protocol = iota
	Direct
	Parallel
	Validated
	Locked
)

// End is how an attempt has ended.
type End uint8

// The ends.
const (
	// Dead: it can never commit.
	Dead End = iota
	// Landed: it has committed.
	Landed
	// Doubtful: it may have.
	Doubtful
	// Withdrawn: nothing was sent.
	Withdrawn
)

// Attempt is one try to commit.
type Attempt struct {
	Protocol Protocol
	Keys     int
	End      End
	// Lost is the name of a cell that has refused its write; empty if none is known.
	Lost string
	Err  error
}

// Attempt tells of one that has ended.
func (o *Observer) Attempt(ctx context.Context, a Attempt) {
	if o == nil {
		return
	}
	if tx := o.of(ctx); tx != nil {
		count(&tx.tried, func(uint32) uint32 { return uint32(a.Protocol) })
	}
	if o.Attempted != nil {
		o.Attempted(ctx, a)
	}
}

// Retry says that what a run of a transaction's function did is void, and why. Lost is the name
// of a cell that has changed; empty if none is known.
type Retry struct {
	Cause uint8
	Lost  string
}

// Retry tells of a retry.
func (o *Observer) Retry(ctx context.Context, cause uint8, lost string) {
	if o == nil || o.Retried == nil {
		return
	}
	o.Retried(ctx, Retry{cause, lost})
}

// For is what is waited for.
type For uint8

// What is waited for.
const (
	// ForIntent: a transaction that is undecided, and holds a key.
	ForIntent For = iota
	// ForTurn: others of the handle that want the same keys.
	ForTurn
)

// Waited is how waiting has ended.
type Waited uint8

// The ends of waiting.
const (
	// GaveUp: by the context, or the store's error.
	GaveUp Waited = iota
	// Over: what was waited for has come.
	Over
	// Killed: an undecided transaction was killed.
	Killed
	// Together: others have committed for it.
	Together
	// Alone: it does not wait any more, and goes on alone.
	Alone
)

// Wait is the waiting for others. It is of one goroutine. Name is the cell that is waited for;
// empty if there are several.
type Wait struct {
	For   For
	Start time.Time
	Took  time.Duration
	How   Waited
	Name  string

	o *Observer
}

// Wait is a wait that has not begun.
func (o *Observer) Wait(what For, name string) Wait { return Wait{For: what, Name: name, o: o} }

// Begin begins the wait, unless it has begun.
func (w *Wait) Begin() {
	if w.o != nil && w.Start.IsZero() {
		w.Start = w.o.Runtime.Now()
	}
}

// End ends it, if it has begun.
func (w *Wait) End(ctx context.Context, how Waited) {
	if w.o == nil || w.Start.IsZero() {
		return
	}
	w.How, w.Took = how, w.o.Runtime.Now().Sub(w.Start)
	if tx := w.o.of(ctx); tx != nil {
		tx.waits.Add(1)
		tx.waited.Add(int64(w.Took))
	}
	if w.o.WaitEnd != nil {
		w.o.WaitEnd(ctx, *w)
	}
}

// Resend says that a request has failed, and is sent again after a pause.
type Resend struct {
	// Try counts the times that it was sent.
	Try    int
	Pause  time.Duration
	Result Result
	Err    error
}

// Resend tells of one.
func (o *Observer) Resend(ctx context.Context, try int, pause time.Duration, err error) {
	if o == nil || o.Resent == nil {
		return
	}
	o.Resent(ctx, Resend{try, pause, ResultOf(err), err})
}

// Task is what work is for.
type Task uint8

// The tasks.
const (
	// Open, Sweep, Check, Drop, Load and Items are calls.
	Open Task = iota
	Sweep
	Check
	Drop
	Load
	Items
	// Resolve, Unlink and Settle go on in the background: resolving the intents that a transaction
	// has left, removing an external value, and settling what is in doubt.
	Resolve
	Unlink
	Settle
	// Feed does, too: writing hints for followers, and removing old ones.
	Feed
	// Follow is a pass of one who follows.
	Follow
)

// Work is what is done beside transactions.
type Work struct {
	Task  Task
	Start time.Time
	Took  time.Duration
	// Objects counts what it was about.
	Objects int64
	Err     error

	o *Observer
}

// Work begins some.
func (o *Observer) Work(ctx context.Context, t Task) (context.Context, *Work) {
	if o == nil {
		return ctx, nil
	}
	w := &Work{Task: t, Start: o.Runtime.Now(), o: o}
	if o.WorkBegin != nil {
		ctx = o.WorkBegin(ctx, w)
	}
	return ctx, w
}

// Done ends it.
func (w *Work) Done(ctx context.Context, objects int64, err error) {
	if w == nil {
		return
	}
	w.Objects, w.Err, w.Took = objects, err, w.o.Runtime.Now().Sub(w.Start)
	if w.o.WorkEnd != nil {
		w.o.WorkEnd(ctx, w)
	}
}

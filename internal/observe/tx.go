package observe

import (
	"context"
	"sync/atomic"
	"time"
)

// Kind says what a transaction was asked for as.
type Kind uint8

// The kinds.
const (
	// Update may write.
	Update Kind = iota
	// View only reads.
	View
	// Read is the read of one key outside of a transaction.
	Read
)

// Outcome is how a transaction has ended.
type Outcome uint8

// The outcomes.
const (
	// Aborted: the store's error, the context's, or the limit of attempts, ended it; or its
	// function panicked.
	Aborted Outcome = iota
	// Committed: it has written.
	Committed
	// ReadOnly: it had nothing to write.
	ReadOnly
	// Failed: its function returned an error.
	Failed
	// InDoubt: it may have committed.
	InDoubt
)

// Tx is a transaction. All but what its requests count is of the goroutine that runs it.
type Tx struct {
	Kind  Kind
	Name  string
	Start time.Time
	// The rest is known at its end. Runs counts those of its function.
	Took    time.Duration
	Outcome Outcome
	Err     error
	Runs    int
	// Grouped says that it has committed together with others, Escalated that it has taken locks.
	Grouped, Escalated bool

	o *Observer
	// The rest is counted by several goroutines.
	requests, rounds, attempts, waits, protocol atomic.Uint32
	bytesRead, bytesWritten, waited             atomic.Int64
}

// txKey is of the transaction that a context is of.
type txKey struct{}

// Tx begins a transaction, at a time that its caller knows, or now.
func (o *Observer) Tx(
	ctx context.Context, kind Kind, name string, start time.Time,
) (context.Context, *Tx) {
	if o == nil {
		return ctx, nil
	}
	if start.IsZero() {
		start = o.Runtime.Now()
	}
	tx := &Tx{Kind: kind, Name: name, Start: start, o: o}
	if o.TxBegin != nil {
		ctx = o.TxBegin(ctx, tx)
	}
	return context.WithValue(ctx, txKey{}, tx), tx
}

// of is the transaction that a context is of.
func (o *Observer) of(ctx context.Context) *Tx {
	if tx, ok := ctx.Value(txKey{}).(*Tx); ok && tx.o == o {
		return tx
	}
	return nil
}

// Run counts a run of the function.
func (tx *Tx) Run() {
	if tx != nil {
		tx.Runs++
	}
}

// Joined notes that others have ended it.
func (tx *Tx) Joined(how Outcome) {
	if tx != nil {
		tx.Outcome, tx.Grouped = how, how == Committed
	}
}

// Escalates notes that it takes locks.
func (tx *Tx) Escalates() {
	if tx != nil {
		tx.Escalated = true
	}
}

// Ended notes how the transaction is about to end.
func (tx *Tx) Ended(how Outcome) {
	if tx != nil {
		tx.Outcome = how
	}
}

// End ends the transaction.
func (tx *Tx) End(ctx context.Context, err error) {
	if tx == nil {
		return
	}
	tx.Err, tx.Took = err, tx.o.Runtime.Now().Sub(tx.Start)
	if tx.o.TxEnd != nil {
		tx.o.TxEnd(ctx, tx)
	}
}

// Tally is what was counted for a transaction.
type Tally struct {
	// Requests counts those that were answered; Rounds is the length of the longest chain of them
	// in which each was sent after the one before had been answered.
	Requests, Rounds        int
	BytesRead, BytesWritten int64
	// Attempts counts those to commit, and Protocol is the last one's.
	Attempts int
	Protocol Protocol
	// Waits counts the times that it has waited for others, which took Waited in all.
	Waits  int
	Waited time.Duration
}

// Tally is what has been counted so far.
func (tx *Tx) Tally() Tally {
	return Tally{
		Requests: int(tx.requests.Load()), Rounds: int(tx.rounds.Load()),
		BytesRead: tx.bytesRead.Load(), BytesWritten: tx.bytesWritten.Load(),
		Attempts: int(tx.attempts.Load()), Protocol: Protocol(tx.protocol.Load()),
		Waits: int(tx.waits.Load()), Waited: time.Duration(tx.waited.Load()),
	}
}

// count counts a request that was answered.
func (tx *Tx) count(r *Request) {
	if tx == nil {
		return
	}
	tx.requests.Add(1)
	tx.bytesRead.Add(int64(r.Read))
	tx.bytesWritten.Add(int64(r.Written))
	for done := tx.rounds.Load(); done < r.Round; done = tx.rounds.Load() {
		if tx.rounds.CompareAndSwap(done, r.Round) {
			return
		}
	}
}

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
	// GivenUp: the store's error, the context's, or the limit of attempts, ended it; or its
	// function panicked.
	GivenUp Outcome = iota
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

	o                       *Observer
	requests, rounds        atomic.Int32
	bytesRead, bytesWritten atomic.Int64
}

// txKey is of the transaction that a context is of.
type txKey struct{}

// Tx begins a transaction.
func (o *Observer) Tx(
	ctx context.Context, kind Kind, name string,
) (context.Context, *Tx) {
	if o == nil {
		return ctx, nil
	}
	tx := &Tx{Kind: kind, Name: name, Start: o.Runtime.Now(), o: o}
	if o.TxBegin != nil {
		ctx = o.TxBegin(ctx, tx)
	}
	return context.WithValue(ctx, txKey{}, tx), tx
}

// Run counts a run of the function.
func (tx *Tx) Run() {
	if tx != nil {
		tx.Runs++
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

// Requests is how many requests have been answered, and Rounds the length of the longest chain
// of them in which each was sent after the one before had been answered.
func (tx *Tx) Requests() int { return int(tx.requests.Load()) }

// Rounds is described there.
func (tx *Tx) Rounds() int { return int(tx.rounds.Load()) }

// Bytes are what the requests have read and written.
func (tx *Tx) Bytes() (read, written int64) { return tx.bytesRead.Load(), tx.bytesWritten.Load() }

// count counts a request that was answered.
func (tx *Tx) count(r *Request) {
	if tx == nil {
		return
	}
	tx.requests.Add(1)
	tx.bytesRead.Add(int64(r.Read))
	tx.bytesWritten.Add(int64(r.Written))
	for done := tx.rounds.Load(); done < r.round; done = tx.rounds.Load() {
		if tx.rounds.CompareAndSwap(done, r.round) {
			return
		}
	}
}

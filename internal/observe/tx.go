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

// Tx is a transaction, and the context in which it goes on. All but what its requests count is of
// the goroutine that runs it.
type Tx struct {
	context.Context

	Name  string
	Start time.Time
	Kind  Kind
	// The rest is known at its end.
	Outcome Outcome
	// Grouped says that it has committed together with others, Escalated that it has taken locks.
	Grouped, Escalated bool
	// Runs counts those of its function.
	Runs uint32

	o *Observer
	// The rest is counted by several goroutines. Some counters share a word, of which they are
	// halves, as an atomic addition takes as long as all else that is done here.
	answered                atomic.Uint64 // requests, and rounds
	tried                   atomic.Uint64 // attempts, and the last one's protocol
	bytesRead, bytesWritten atomic.Int64
	waits                   atomic.Uint32
	waited                  atomic.Int64
}

// halves are the two counters of a word.
func halves(word uint64) (high, low uint32) { return uint32(word >> 32), uint32(word) }

// count counts one in the high half of a word, and puts another value into the low one.
func count(word *atomic.Uint64, low func(uint32) uint32) {
	for {
		old := word.Load()
		n, x := halves(old)
		if word.CompareAndSwap(old, uint64(n+1)<<32|uint64(low(x))) {
			return
		}
	}
}

// txKey is of the transaction that a context is of.
type txKey struct{}

// Value implements context.Context.
func (tx *Tx) Value(key any) any {
	if key == (txKey{}) {
		return tx
	}
	return tx.Context.Value(key)
}

// Tx begins a transaction now.
func (o *Observer) Tx(ctx context.Context, kind Kind, name string) (context.Context, *Tx) {
	if o == nil {
		return ctx, nil
	}
	tx := &Tx{}
	return o.Begin(ctx, kind, name, o.Runtime.Now(), tx), tx
}

// Begin begins a transaction, at a time that its caller knows, in what it has room for it.
// The observer must not be nil.
func (o *Observer) Begin(
	ctx context.Context, kind Kind, name string, start time.Time, tx *Tx,
) context.Context {
	tx.Context, tx.Kind, tx.Name, tx.Start, tx.o = ctx, kind, name, start, o
	if o.TxBegin != nil {
		tx.Context = o.TxBegin(ctx, tx)
	}
	return tx
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

// End ends the transaction. How long it took is asked of the clock if the caller has not.
func (tx *Tx) End(ctx context.Context, took time.Duration, err error) {
	if tx == nil {
		return
	}
	if took == 0 {
		took = tx.o.Runtime.Now().Sub(tx.Start)
	}
	if tx.o.TxEnd != nil {
		tx.o.TxEnd(ctx, tx, took, err)
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
	requests, rounds := halves(tx.answered.Load())
	attempts, protocol := halves(tx.tried.Load())
	return Tally{
		Requests: int(requests), Rounds: int(rounds),
		BytesRead: tx.bytesRead.Load(), BytesWritten: tx.bytesWritten.Load(),
		Attempts: int(attempts), Protocol: Protocol(protocol),
		Waits: int(tx.waits.Load()), Waited: time.Duration(tx.waited.Load()),
	}
}

// count counts a request that was answered.
func (tx *Tx) count(r *Request) {
	if tx == nil {
		return
	}
	count(&tx.answered, func(rounds uint32) uint32 { return max(rounds, r.Round) })
	if r.Read > 0 {
		tx.bytesRead.Add(int64(r.Read))
	}
	if r.Written > 0 {
		tx.bytesWritten.Add(int64(r.Written))
	}
}

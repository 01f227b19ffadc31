package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/history"
	"github.com/strictkv/strictkv/internal/seam"
)

// Ledger collects what all clients of a run did. It is safe for concurrent use.
type Ledger struct {
	// Seed decides what transactions do, with Keys.
	Seed uint64
	Keys []string
	// Now is the clock of all clients: the time since the run began.
	Now func() time.Duration
	// Note, if not nil, is told when transactions begin and end.
	Note func(text string)
	// Drafted and Ended, if not nil, are told of a transaction after each run of its function,
	// and when it has ended. They must not ask the ledger.
	Drafted, Ended func(r *Record)
	// Excuse, if not nil, is called as a transaction begins, and what it returns if that ends
	// in doubt, though its context has not ended: it tells whether there was a reason.
	Excuse func(rt seam.Runtime) (excused func() bool)
	// Clocks tell when values expire.
	Clocks Clocks

	mu      sync.Mutex // guards all below
	instant int64
	values  int
	records []*Record
	expires map[string]time.Time // values that were to expire
	facts   facts
	err     error
}

// Record is one transaction as its client saw it: what the last run of its function
// read and wrote.
type Record struct {
	history.Transaction
	// Name says what kind of transaction it was, Runs how often its function was
	// called, Err how it ended.
	Name string
	Runs int
	Err  error

	excused func() bool
}

// instantsPer is how many instants a nanosecond has room for.
const instantsPer = 1 << 16

// tickLocked is the next instant: the time, made unique.
func (l *Ledger) tickLocked() int64 {
	l.instant = max(l.instant+1, int64(l.Now())*instantsPer)
	return l.instant
}

func (l *Ledger) begin(name string, rt seam.Runtime, client, tx int) *Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Record{Name: name, Transaction: history.Transaction{
		ID:      fmt.Sprintf("%d.%s", len(l.records), name),
		Client:  fmt.Sprint(client),
		Invoked: l.tickLocked(),
		Status:  history.Unknown,
	}}
	if l.Excuse != nil {
		r.excused = l.Excuse(rt)
	}
	l.records = append(l.records, r)
	if l.Note != nil {
		l.Note(fmt.Sprintf("begin client %d tx %d %s", client, tx, r.ID))
	}
	return r
}

// errUser is what a function returns to end its transaction.
var errUser = errors.New("user's error")

func (l *Ledger) end(r *Record, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Err = err
	switch {
	case err == nil:
		r.Status = history.Committed
	case errors.Is(err, strictkv.ErrInDoubt):
		l.doubtLocked(r)
	default:
		r.Status = history.Failed
		r.Validated = errors.Is(err, errUser) || errors.Is(err, strictkv.ErrAborted)
		r.Ops = slices.DeleteFunc(r.Ops, func(op history.Op) bool {
			return op.Kind == history.KindInsert // tried at the commit alone
		})
	}
	if r.Status != history.Unknown {
		r.Returned = l.tickLocked()
	}
	if l.Note != nil {
		l.Note("end   " + r.String())
	}
	if l.Ended != nil {
		l.Ended(r)
	}
}

// doubtLocked judges that a transaction has ended in doubt.
func (l *Ledger) doubtLocked(r *Record) {
	left := errors.Is(r.Err, context.Canceled) || errors.Is(r.Err, context.DeadlineExceeded)
	if l.err == nil && !left && r.excused != nil && !r.excused() {
		l.err = fmt.Errorf("%w: %s: %w", errFalseDoubt, r.ID, r.Err)
	}
}

// errFalseDoubt: nothing had happened that could leave a transaction in doubt.
var errFalseDoubt = errors.New("false doubt")

// String tells the end of the transaction.
func (r *Record) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "client %s %s %s:", r.Client, r.ID, r.Status)
	for _, op := range r.Ops {
		b.WriteString(" " + op.String())
	}
	if r.Err != nil {
		fmt.Fprintf(&b, " (%v)", r.Err)
	}
	return b.String()
}

// Fail notes what somebody found wrong by himself; the first error counts.
func (l *Ledger) Fail(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// unique makes a value that is written once, and carries a number.
func (l *Ledger) unique(n, client int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values++
	return fmt.Sprintf("%d.%d.%d", n, client, l.values)
}

// number is what a value carries.
func number(v string) int {
	n := 0
	_, _ = fmt.Sscanf(v, "%d.", &n) // nothing in an absent value
	return n
}

// Records are the transactions so far.
func (l *Ledger) Records() []*Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.records)
}

// Patient reports whether no client has left its transaction before that had ended.
func (l *Ledger) Patient() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(l.records, func(r *Record) bool {
		return r.Status == history.Unknown || errors.Is(r.Err, context.Canceled) ||
			errors.Is(r.Err, context.DeadlineExceeded)
	})
}

// Judge checks the history of all transactions.
func (l *Ledger) Judge() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	all := make([]history.Transaction, len(l.records))
	for i, r := range l.records {
		all[i] = r.Transaction
	}
	all, err := l.expireLocked(all)
	if err != nil {
		return err
	}
	report, err := history.Check(all, history.Options{})
	if err != nil {
		return err
	}
	return report.Err()
}

package commit

import (
	"context"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/txid"
)

// Outcome is how an attempt has ended.
type Outcome uint8

// The outcomes.
const (
	// Undecided: it has not.
	Undecided Outcome = iota
	// Committed, for good.
	Committed
	// Dead: it can never commit.
	Dead
	// InDoubt: it is not known which of the two. The background settles it.
	InDoubt
	// Withdrawn: nothing was sent.
	Withdrawn
)

// Result is what an attempt came to.
type Result struct {
	Outcome Outcome
	// Err is why it is in doubt, an *InDoubtError then. If it is set otherwise, the
	// transaction must end with it.
	Err error
	// Members have their fates; those of a locked attempt are in no order.
	Members []*Member
	// Partial says that a hot member's write went ahead of the others.
	Partial bool
	// Batched says that all members were written by one request, or none.
	Batched bool
	// Buried says that an answer was lost, and it was given up for another attempt: no rival need
	// have undone it.
	Buried bool
	Validation
}

// Validation is what was found of reads and spans when they were read again.
type Validation struct {
	// Stale says that something has changed: the function must run again.
	Stale bool
	// Now are the plan's reads as they were read meanwhile, if they were: when something in
	// them had changed, or a write had been refused.
	Now []resolve.Reading
	// Listed is what was listed of the spans, for the function's next run to begin with.
	Listed []*scan.Listing
}

// verdict is what is known of an attempt's end on its way there: its outcome, and with Dead an
// error that ends the transaction, if any, with InDoubt the cause.
type verdict struct {
	Outcome
	err error
}

// undecided and committed are the verdicts that need no reason.
var (
	undecided = verdict{}
	committed = verdict{Outcome: Committed}
)

// dead is the verdict on an attempt that can never commit. With an error the transaction has
// no other.
func dead(err error) verdict { return verdict{Dead, err} }

// inDoubt is the verdict if nobody can tell.
func inDoubt(cause error) verdict { return verdict{InDoubt, cause} }

// ended reports whether the attempt is over.
func (v verdict) ended() bool { return v.Outcome != Undecided }

// ErrInDoubt matches an InDoubtError.
var ErrInDoubt = errors.New("outcome in doubt")

// InDoubtError is ErrInDoubt with the attempt (zero for who has left a group), the names of
// its cells, and the cause.
type InDoubtError struct {
	Attempt txid.ID
	Names   []string
	Err     error
}

// Error tells the attempt and the cause.
func (e *InDoubtError) Error() string {
	return fmt.Sprintf("attempt %v on %d keys: %v: %v", e.Attempt, len(e.Names), ErrInDoubt, e.Err)
}

// Is makes the error match ErrInDoubt.
func (e *InDoubtError) Is(target error) bool { return target == ErrInDoubt }

// Unwrap returns the cause.
func (e *InDoubtError) Unwrap() error { return e.Err }

// doubtCause is a cause rendered as text, which matches only some errors.
type doubtCause struct {
	text string
	is   []error
}

// Error is the text.
func (e *doubtCause) Error() string { return e.text }

// Unwrap returns the errors that it matches.
func (e *doubtCause) Unwrap() []error { return e.is }

// whyDoubt keeps of a cause what its owner may act on: that its caller has left, or that the
// outcome is unknown. It must not match what means "not applied".
func whyDoubt(ctx context.Context, err error) error {
	why := &doubtCause{text: "gave up"}
	if err != nil {
		why.text = err.Error()
	}
	if cerr := ctx.Err(); cerr != nil {
		why.is = append(why.is, cerr)
	}
	if errors.Is(err, backend.ErrOutcomeUnknown) {
		why.is = append(why.is, backend.ErrOutcomeUnknown)
	}
	return why
}

// The causes that attempts have of their own.
var (
	// errExpired says that nothing can be concluded from absent objects any more.
	errExpired = fmt.Errorf("%w: the attempt took longer than %v",
		backend.ErrUnavailable, attemptMax)
	// errDuplicate is why an attempt is in doubt of which a write was sent twice on its way.
	errDuplicate = fmt.Errorf("a refused write may have landed: %w", backend.ErrOutcomeUnknown)
	// errSilent is why it is in doubt if no cell can tell.
	errSilent = errors.New("no member's history reaches back")
)

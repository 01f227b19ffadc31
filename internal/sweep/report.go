package sweep

import (
	"context"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv/internal/seam"
)

// Limits of failures.
const (
	// errorsMax is how many of the objects' errors a sweep returns.
	errorsMax = 8
	// failuresMax is how many objects may fail before a sweep gives up.
	failuresMax = 1000
)

// Report is what a sweep has done, or in a dry run would do.
type Report struct {
	// Objects and Bytes count what has been listed: of the second of two listings, if
	// there are two and it has begun.
	Objects, Bytes int64
	// Settled counts the abandoned intents that were resolved.
	Settled int64
	// Expired counts the values that were due, and have been deleted.
	Expired int64
	// Condemned counts the tombstones that were announced to be removed by a sweep that
	// comes a horizon later, and Tombstones those that were removed.
	Condemned, Tombstones int64
	// Values counts the external values that were removed, since no cell refers to them,
	// and ValueBytes their bytes.
	Values, ValueBytes int64
	// Clocks counts the objects that were removed which sweeps had left that crashed while
	// they asked for the store's time.
	Clocks int64
	// Hints counts the objects of hints for followers that were removed, since their writers have
	// left them.
	Hints int64
	// Waiting counts tombstones and intents that are not old enough.
	Waiting int64
	// Changed counts objects that others wrote or removed meanwhile.
	Changed int64
	// Foreign counts objects that are none of the database's. They are left alone.
	Foreign int64
	// Damaged counts objects of which the store itself says that they are. They are left alone.
	Damaged int64
	// Failed counts objects with which something went wrong.
	Failed int64
}

// tally is the Report that several goroutines make.
type tally struct {
	giveUp context.CancelFunc

	mu     seam.Mutex // guards all below
	report Report
	errs   []error
}

// count changes the report.
func (t *tally) count(change func(r *Report)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.report)
}

// soFar is a copy of the report.
func (t *tally) soFar() Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.report
}

// failed counts an object with which something went wrong.
func (t *tally) failed(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Failed++
	if len(t.errs) < errorsMax {
		t.errs = append(t.errs, err)
	}
	if t.report.Failed == failuresMax {
		t.giveUp()
	}
}

// err is the error of the whole sweep, given that of its listing.
func (t *tally) err(ctx context.Context, listing error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.report.Failed
	switch {
	case ctx.Err() != nil:
		listing = ctx.Err()
	case n >= failuresMax:
		listing = fmt.Errorf("gave up: %d objects failed", n)
	case n > 0 && listing == nil:
		listing = fmt.Errorf("%d objects failed", n)
	}
	if listing == nil {
		return nil
	}
	return fmt.Errorf("sweep: %w", errors.Join(append([]error{listing}, t.errs...)...))
}

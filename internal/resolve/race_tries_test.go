package resolve_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/store"
)

// held lets the first try take that long, or until its context ends, and then be in vain. What
// happens meanwhile happens as it begins. Later tries land. It returns where the context of the
// first will be.
func (r *racer) held(takes time.Duration, meanwhile func()) *context.Context {
	first, land := new(context.Context), r.o.Try
	r.o.Try = func(
		ctx context.Context, rd resolve.Reading, f cell.Fold,
	) (bool, store.Snapshot, error) {
		if *first != nil {
			return land(ctx, rd, f)
		}
		*first = ctx
		r.tried = append(r.tried, rd.Version)
		meanwhile()
		short, cancel := context.WithTimeout(ctx, takes)
		defer cancel()
		<-short.Done()
		return false, store.Snapshot{}, ctx.Err()
	}
	return first
}

// own places an intent of the transaction that races.
func (r *racer) own() {
	c, _ := r.w.Cell("=a")
	r.w.Put("=a", cell.Place(c, cell.Fold{}, &cell.Intent{
		Tx: id(5), Priority: r.o.Priority, Mode: cell.Pending, Action: cell.Lock,
		Members: cell.Members{List: []cell.Member{{Name: "=a"}}},
	}))
}

// When a try has landed, the others end, and what they say is of no interest.
func TestOneTryEndsTheOthers(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		r := w.racer(0)
		r.held(time.Hour, func() { w.Value(2, "=a") })
		_, took := r.race()
		c, _ := w.Cell("=a")
		assert.Equal(t, id(9), c.Writer)
		assert.GreaterOrEqual(t, len(r.tried), 2)
		assert.Less(t, took, time.Second)
	})
}

// A cell that is another's is looked at no more; but a try that is under way may land still: it
// is not cancelled, which would leave it in doubt. When the race is over, nothing is left of it.
func TestTriesUnderWayAreLeftToEnd(t *testing.T) {
	const takes = 100 * time.Millisecond
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		r := w.racer(0)
		ctx := r.held(takes, func() { w.Rival(5, cell.Pending, "=a").Place("=a") })
		before := r.requests(faulty.Get)
		_, took := r.race()
		assert.Equal(t, takes, took)
		assert.LessOrEqual(t, r.requests(faulty.Get)-before, 4)
		assert.Error(t, (*ctx).Err())
	})
}

// While a try of its own is under way, an intent of its own in the cell is that one's: the race
// goes on, should that be in vain.
func TestRaceGoesOnBesideItsOwnIntent(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		r := w.racer(0)
		r.held(20*time.Millisecond, func() {
			r.own()
			go func() {
				pass(19 * time.Millisecond)
				w.Value(2, "=a")
			}()
		})
		_, took := r.race()
		c, _ := w.Cell("=a")
		assert.Equal(t, id(9), c.Writer)
		assert.GreaterOrEqual(t, len(r.tried), 2)
		assert.Less(t, took, time.Second)
	})
}

// If none is under way, nobody is about to learn of it.
func TestRaceEndsAtItsOwnIntent(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		r := w.racer(0)
		r.own()
		before := r.requests(faulty.Get)
		r.race()
		assert.LessOrEqual(t, r.requests(faulty.Get)-before, 4)
		assert.Len(t, r.tried, 1)
	})
}

// An error ends the race, and what is under way.
func TestRaceFailsWithTheStore(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		r := w.racer(0)
		r.held(time.Hour, func() {
			r.Every(func(_ context.Context, _ faulty.Op, a *faulty.Answer) {
				if a != nil {
					a.Err = backend.ErrDenied
				}
			})
		})
		began := time.Now()
		_, err := r.rs.Race(background, r.o)
		require.ErrorIs(t, err, backend.ErrDenied)
		assert.Less(t, time.Since(began), time.Second)
	})
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		r := w.racer(0)
		r.o.Try = func(
			context.Context, resolve.Reading, cell.Fold,
		) (bool, store.Snapshot, error) {
			return false, store.Snapshot{}, backend.ErrDenied
		}
		_, err := r.rs.Race(background, r.o)
		require.ErrorIs(t, err, backend.ErrDenied)
	})
}

// A race for a cell that nobody needs any more tries nothing.
func TestRaceThatIsGivenUp(t *testing.T) {
	for _, given := range []bool{false, true} {
		inWorld(t, func(w *world) {
			w.Value(1, "=a")
			r := w.racer(0)
			r.o.GivenUp = func() bool { return given }
			before := r.requests(faulty.Get)
			r.race()
			assert.Equal(t, given, r.tried == nil)
			assert.Equal(t, before, r.requests(faulty.Get))
		})
	}
}

// What is absent, or has just room enough, is tried as all else is.
func TestRaceTriesWhatItKnows(t *testing.T) {
	for name, marks := range map[string]int{"absent": 0, "room for one mark": cell.MarksMax - 1} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				if marks > 0 {
					w.Value(1, "=a")
				}
				c, _ := w.Cell("=a")
				full := *c
				for n := range marks {
					full.Marks = append(full.Marks, cell.Mark{
						Tx: id(byte(50 + n)), Members: cell.Members{List: []cell.Member{
							{Name: "=a", Expected: "old"},
							{Name: fmt.Sprintf("=m%d", n), Expected: "old"},
						}},
					})
				}
				if marks > 0 {
					w.Put("=a", &full)
				}
				_, v := w.Cell("=a")
				r := w.racer(0)
				r.o.Extra = 1
				r.race()
				assert.Equal(t, []backend.Version{v}, r.tried)
				c, _ = w.Cell("=a")
				assert.Equal(t, id(9), c.Writer)
			})
		})
	}
}

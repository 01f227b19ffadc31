package resolve

import (
	"context"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Limits of races.
const (
	// racers is how many look at a cell in turn, looksMax how often they do in one race.
	racers   = 4
	looksMax = 64
	// racePauseMin is the shortest pause of a racer.
	racePauseMin = time.Millisecond
)

// Race is a race for one cell against writers who never look: each knows the version that
// it has written itself, and replaces it right away. To read, and then to write upon what was
// read, takes nearly as long as such a version lasts; what was read is of use only if it was
// new. So several racers look at the cell, one shortly after another, and whoever sees a
// version that nobody has seen before tries to replace it at once, while the others look on.
//
// Of several tries only one can land, unless somebody has undone it in between. A cell with
// an undecided intent is not raced for: its owner, or its end, is to be waited for.
type Race struct {
	// Base is what is known of the cell, which is final.
	Base Reading
	// Extra is the number of marks that a write must leave room for.
	Extra int
	// Priority is that of the transaction that races.
	Priority txid.Priority
	// Try tries to replace the cell, and reports whether that has landed; if not, it may tell
	// what it has seen. It is called several times at once; when one has landed, the context
	// of the others ends.
	Try func(ctx context.Context, rd Reading, f cell.Fold) (
		landed bool, seen store.Snapshot, err error)
	// GivenUp, if not nil, tells that nobody needs the cell any more.
	GivenUp func() bool
}

// race is one under way.
type race struct {
	*Resolver
	Race
	pause time.Duration
	// looking is the context of those who look, which ends with the race; trying is that of
	// tries, which are not to be left in doubt without need.
	looking, trying         context.Context
	stopLooking, stopTrying func()

	mu   seam.Mutex // guards all below
	over bool
	// looks, tries and flying count, the last the tries that are under way; tried is the
	// version that the last try was to replace, last is the newest that was seen.
	looks, tries, flying int
	tried                backend.Version
	last                 store.Snapshot
}

// Race races for a cell until some try has landed, or the cell is not to be raced for any more:
// then it is in another state, or looks have been enough. It returns the newest that was
// seen of it, if anything was.
func (r *Resolver) Race(ctx context.Context, o Race) (store.Snapshot, error) {
	c := &race{
		Resolver: r, Race: o, pause: max(r.st.PutLatency()/racers, racePauseMin),
	}
	c.trying, c.stopTrying = r.rt.WithCancel(ctx)
	defer c.stopTrying()
	c.looking, c.stopLooking = r.rt.WithCancel(c.trying)
	defer c.stopLooking()
	err := seam.Each(r.rt, racers, func(i int) (err error) {
		rd := o.Base
		if i > 0 {
			rd, err = c.look(time.Duration(i) * c.pause)
		}
		for err == nil {
			f, ok := c.goesOn(rd)
			if !ok {
				break
			}
			rd, err = c.step(rd, f)
		}
		c.end(err != nil)
		return err
	})
	return c.last, err
}

// step tries a version, or looks on. Either shows what the cell is then.
func (c *race) step(rd Reading, f cell.Fold) (Reading, error) {
	if !c.takes(rd) {
		return c.look(c.pause)
	}
	landed, seen, err := c.Try(c.trying, rd, f)
	switch {
	case landed:
		c.end(true)
	case err != nil:
		err = c.unlessOver(err)
	case seen.Cell != nil:
		rd = c.Known(seen)
	}
	c.mu.Lock()
	c.flying--
	c.mu.Unlock()
	return rd, err
}

// look reads the cell after a pause. When the race is over, it is of no interest any more.
// (It does not ask whether what the cache has is still there: it is known to change fast,
// which says nothing of other cells.)
func (c *race) look(pause time.Duration) (Reading, error) {
	err := c.rt.Sleep(c.looking, pause)
	if err != nil {
		return Reading{}, c.unlessOver(err)
	}
	s, err := c.Fetch(c.looking, c.Base.Name)
	if err != nil {
		return Reading{}, c.unlessOver(err)
	}
	return c.Known(s), nil
}

func (c *race) unlessOver(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil
	}
	return err
}

// goesOn reports whether the cell is to be raced for on, and what a write folds then: that is
// decided once.
func (c *race) goesOn(rd Reading) (cell.Fold, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.GivenUp != nil && c.GivenUp() {
		return cell.Fold{}, false
	}
	if c.looks++; rd.Proved > c.last.Proved {
		c.last = rd.Snapshot
	}
	if c.looks > looksMax || !rd.Final() && !(c.own(rd) && c.flying > 0) {
		return cell.Fold{}, false
	}
	f := c.FoldOf(rd)
	return f, cell.MarksAfter(rd.Cell, f)+c.Extra <= cell.MarksMax
}

// own reports whether the cell holds an intent of the transaction itself, of which some racer
// is about to learn.
func (c *race) own(rd Reading) bool {
	return !rd.Final() && rd.Cell.Intent.Priority == c.Priority
}

// takes reports whether the version is one to try: the newest, and not tried yet.
func (c *race) takes(rd Reading) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own(rd) || rd.Proved < c.last.Proved || c.tries > 0 && rd.Version == c.tried {
		return false
	}
	c.tried = rd.Version
	c.tries++
	c.flying++
	return true
}

// end tells the others, and those who look at once; those who try only if nobody needs what
// comes of it.
func (c *race) end(tries bool) {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.stopLooking()
	if tries {
		c.stopTrying()
	}
}

package cache

import (
	"time"

	"github.com/strictkv/strictkv/internal/seam"
)

// clockSlack is how much two clocks may drift apart, or an answer be late, before one of them
// counts as having jumped.
const clockSlack = 2 * time.Second

// Clock follows the clock of a database's store, as answers tell it, beside the process's own
// two: a process may stand still without its clocks' knowing (a machine that sleeps, a virtual
// machine that is paused), and what it knows is then older than they say.
type Clock struct {
	mu seam.Mutex // guards all below
	// last is the latest time of the store that an answer has told.
	last time.Time
	// told is the latest time of an answer, and heard when that was, by the process's clocks.
	told, heard time.Time
	// silent says that answers have come, and none has told a time.
	silent bool
	// ahead is the most by which the store's clock can be ahead of the process's.
	ahead time.Duration
	// looked is when the process's clocks were last compared with each other.
	looked time.Time
	// trusted is the time since when none of the clocks is known to have jumped.
	trusted time.Time
}

// Saw is told of the store's time in an answer, zero if there was none, to a request that was
// sent, and answered, at these times.
func (c *Clock) Saw(told, sent, answered time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent = told.IsZero() && c.told.IsZero(); told.IsZero() {
		return
	}
	least, most := told.Sub(answered)-clockSlack, told.Sub(sent)+clockSlack
	switch {
	case c.last.IsZero():
		c.ahead = most
	case least > c.ahead: // more time has passed there than here
		c.ahead, c.trusted = most, answered
	default:
		c.ahead = min(c.ahead, most)
	}
	if told.After(c.told) {
		c.told, c.heard = told, answered
	}
	c.passLocked(told)
}

// AtLeast is told of a time that has passed by the store's clock, zero if there was none.
func (c *Clock) AtLeast(told time.Time) {
	if told.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passLocked(told)
}

func (c *Clock) passLocked(told time.Time) {
	if told.After(c.last) {
		c.last = told
	}
}

// Last is the latest time of the store that an answer has told; zero if none has. Whatever is
// known of the store was so by then.
func (c *Clock) Last() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Floor is what the store's clock says now at least: what the latest answer has told, and what
// has passed since by both clocks of the process; zero if none has told.
func (c *Clock) Floor(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.floorLocked(now)
}

// Reading is Floor for a decision that has to be made: of a store whose answers don't tell its
// time, it is the process's. Before any answer it is 1970.
func (c *Clock) Reading(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch now := now.Round(0); {
	case c.silent && now.After(c.last):
		return now
	case c.silent:
		return c.last
	case c.told.IsZero():
		return time.Unix(0, 0)
	}
	return c.floorLocked(now)
}

// Silent reports whether answers have come, and none has told a time.
func (c *Clock) Silent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent
}

// floorLocked is Floor. The caller holds c.mu.
func (c *Clock) floorLocked(now time.Time) time.Time {
	if c.told.IsZero() {
		return c.last
	}
	passed := min(now.Sub(c.heard), now.Round(0).Sub(c.heard.Round(0)))
	if floor := c.told.Add(max(passed, 0)); floor.After(c.last) {
		return floor
	}
	return c.last
}

// Trusted is the time, by the process's clock, since when all clocks agree on how much has
// passed. The age of what was known before can't be told.
func (c *Clock) Trusted(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch by := now.Round(0).Sub(c.looked.Round(0)) - now.Sub(c.looked); {
	case c.looked.IsZero() || by < 0: // set back: no reason to think that time has passed
		c.looked = now
	case by > clockSlack: // the wall clock has gone on while the monotonic one stood still
		c.looked, c.trusted = now, now
	}
	return c.trusted
}

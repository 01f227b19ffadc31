package store

import (
	"time"

	"github.com/strictkv/strictkv/internal/seam"
)

// AttemptMax is how long an attempt may last, and how long what was concluded of one holds. An
// absent object is the one state that recurs, and external values that no cell points to are
// garbage after a while: so within a sweep's horizon an attempt must be over, its last resend
// and the conclusions from what others read of it included.
const AttemptMax = 15 * time.Minute

// Moment is an instant by all clocks at hand. A process may stand still without its clocks'
// knowing; the store's goes on, and sweeps go by that.
type Moment struct {
	// Here is the process's time.
	Here time.Time
	// There is the store's, or earlier; zero if it is not known.
	There time.Time
}

// Moment is now, and what the store's clock says then at least, as far as answers have told.
func (s *Store) Moment() Moment {
	now := s.rt.Now()
	return Moment{now, s.cache.Floor(now)}
}

// Age is how long ago m was, by the clock that says most. That of the store says what it said
// in the latest answer.
func (s *Store) Age(m Moment) time.Duration {
	age := seam.Since(s.rt.Now(), m.Here)
	if !m.There.IsZero() {
		age = max(age, s.cache.Last().Sub(m.There))
	}
	return age
}

// Earlier is the earlier one of two instants by each clock, those that are known.
func (m Moment) Earlier(o Moment) Moment {
	if o.Here.Before(m.Here) {
		m.Here = o.Here
	}
	if m.There.IsZero() || !o.There.IsZero() && o.There.Before(m.There) {
		m.There = o.There
	}
	return m
}

// Clock is the store's time, in nanoseconds since 1970, as far as answers have told it: never
// ahead of the store's, and behind it by what an answer takes on its way, and by the resolution
// in which the store tells it. While no answer tells it, it is the process's. Whether a value is
// due is decided by it.
func (s *Store) Clock() int64 { return s.cache.Reading(s.rt.Now()).UnixNano() }

// Soon reports whether a time may come before an attempt has ended.
func (s *Store) Soon(at int64) bool { return at <= s.Clock()+int64(AttemptMax) }

// ClockAt is what the clock has said at an instant of the process's time, or somewhat less, by
// what is known now.
func (s *Store) ClockAt(at time.Time) int64 {
	now := s.rt.Now()
	return s.cache.Reading(now).UnixNano() - int64(now.Sub(at))
}

// Fresh reports whether what was current at an instant is at most so old now: not if a clock has
// jumped since.
func (s *Store) Fresh(at, now time.Time, staleness time.Duration) bool {
	return now.Sub(at) <= staleness && !at.Before(s.cache.Trusted(now))
}

// Trusted is the time since when all clocks agree on how much has passed.
func (s *Store) Trusted() time.Time { return s.cache.Trusted(s.rt.Now()) }

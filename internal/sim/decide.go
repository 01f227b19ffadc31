package sim

import (
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/sim/baton"
	"github.com/strictkv/strictkv/internal/sim/workload"
)

// action is what a decision does.
type action uint8

const (
	actServe     action = iota // a call takes effect and is answered
	actSplit                   // it takes effect; the answer comes later
	actLose                    // it takes effect; the answer is lost
	actFail                    // it fails before it has an effect
	actDelay                   // its client is told "unknown"; it may land later
	actDuplicate               // it takes effect twice; its client is told "unknown"
	actStall                   // it is held back for some time
	actGhost                   // a late write lands
	actForget                  // a late write is lost for good
	actTimer                   // time passes until the next timer
	actJump                    // time passes, whatever is under way
	actOutage                  // a process, or all, can't reach the store for some time
	actThrottle                // the store refuses all for some time
	actCrash                   // a process crashes, and a new one starts
	actFreeze                  // a process stands still for some time
	actLeap                    // the store's clock goes on by days, those of processes do not
	actions

	actTimeout // a call's context has ended
	actClient  // a client begins or ends a transaction
)

var actionNames = [...]string{
	"serve", "split", "lose", "fail", "delay", "twice", "stall", "late", "gone", "timer", "jump",
	"outage", "429s", "crash", "freeze", "leap", "", "timeout", "",
}

// latencyMin is the time that a call takes at least.
const latencyMin = 100 * time.Microsecond

// leapMax bounds a leap of the store's clock, in hours: more than three horizons of a sweep.
const leapMax = 80

// profile says how many of 256 decisions are of each kind; the rest serve calls.
type profile [actions]uint8

// choose maps a byte to an action: zero, and what the profile leaves over, serve.
func (p *profile) choose(b byte) action {
	left := 255 - int(b)
	for a := actSplit; a < actions; a++ {
		if left -= int(p[a]); left < 0 {
			return a
		}
	}
	return actServe
}

// decide makes one decision. It returns false if there is nothing to decide.
func (s *Sim) decide() bool {
	s.step++
	s.open = s.open[:0]
	for _, c := range s.calls {
		if c.stalled <= s.step && c.p.thaw <= s.step {
			s.open = append(s.open, c)
		}
	}
	timer := s.world.NextTimer()
	b := s.tape.next()
	a := actServe
	if !s.calm {
		a = s.params.profile.choose(b)
	}
	switch {
	case len(s.open) == 0 && timer == baton.Never && len(s.calls) == 0 && len(s.ghosts) == 0:
		return false
	case a >= actGhost && s.disturb(a, timer):
	case len(s.open) > 0:
		s.serve(a, s.open[s.pick(a, b)])
	case timer != baton.Never:
		s.world.Advance(timer)
		s.note(actTimer, nil)
	case len(s.calls) > 0:
		s.calls[0].stalled, s.calls[0].p.thaw = 0, 0
	default:
		s.ghost(0, true)
	}
	return true
}

// pick chooses the call that a decision is about.
func (s *Sim) pick(a action, b byte) int {
	i := int(b)
	switch {
	case s.calm: // any order: in step, two clients without patience can go round for ever
		i = s.order.Below(len(s.open))
	case a != actServe:
		i = int(s.tape.next())
	case s.params.newest && i < 192:
		return len(s.open) - 1
	}
	return i % len(s.open)
}

// serve decides about one call.
func (s *Sim) serve(a action, c *call) {
	s.world.Advance(s.world.Now() + max(s.params.latency/time.Duration(len(s.calls)), latencyMin))
	if !c.t.Parked() {
		return // its context has ended just now
	}
	if a != actStall && !c.applied && !s.calm && s.outage.hits(s.step, c.p) {
		s.answerWith(c, s.outage.err)
		s.note(actFail, c)
		return
	}
	switch {
	case a == actStall:
		c.stalled = s.step + 16 + s.tape.below(113)
	case c.applied:
		a = actServe
		s.answer(c)
	default:
		s.take(a, c)
	}
	s.count[a]++
	s.note(a, c)
}

// take lets a call take effect, or not.
func (s *Sim) take(a action, c *call) {
	if a == actDuplicate && s.params.once {
		a = actLose
	}
	lost := backend.ErrUnavailable
	if c.write() {
		lost = backend.ErrOutcomeUnknown
	}
	switch a {
	case actSplit:
		s.apply(c)
	case actLose:
		s.apply(c)
		s.answerWith(c, lost)
	case actFail:
		err := backend.ErrUnavailable
		if s.tape.next()&1 == 1 {
			err = backend.ErrThrottled
		}
		s.answerWith(c, err)
	case actDelay:
		if c.write() {
			s.haunt(c)
		}
		s.answerWith(c, lost)
	case actDuplicate:
		s.apply(c)
		if !c.write() {
			s.answer(c)
			return
		}
		if s.tape.next()&1 == 1 { // the answer is that of the second copy: a duplicate
			c.harms()
			s.apply(c)
			s.answer(c)
			return
		}
		s.haunt(c)
		s.answerWith(c, lost)
	default:
		s.apply(c)
		s.answer(c)
	}
}

// disturb does what is not about a call. It returns false if it can't.
func (s *Sim) disturb(a action, timer time.Duration) bool {
	switch a {
	case actGhost, actForget:
		if len(s.ghosts) == 0 {
			return false
		}
		s.ghost(s.tape.below(len(s.ghosts)), a == actGhost)
		s.count[a]++
		return true
	case actTimer:
		if timer == baton.Never {
			return false
		}
		s.world.Advance(timer)
	case actJump:
		s.world.Advance(s.world.Now() + time.Duration(1+s.tape.below(100))*time.Second/2)
	case actOutage, actThrottle:
		s.outage = outage{until: s.step + 8 + s.tape.below(64), err: backend.ErrThrottled}
		if a == actOutage {
			s.outage.err = backend.ErrUnavailable
			if i := s.tape.below(len(s.processes) + 1); i > 0 {
				s.outage.of = s.processes[i-1]
			}
		}
	case actFreeze:
		if len(s.processes) == 0 {
			return false
		}
		s.processes[s.tape.below(len(s.processes))].thaw = s.step + 16 + 2*s.tape.below(128)
	case actLeap:
		s.leap += time.Duration(1+s.tape.below(leapMax)) * time.Hour
	case actCrash:
		if !s.crash() {
			return false
		}
	}
	s.count[a]++
	s.note(a, nil)
	return true
}

// outage is a time, in steps, in which all calls fail before they have an effect.
type outage struct {
	until int
	of    *process // nil: of all
	err   error
}

func (o outage) hits(step int, p *process) bool {
	return step < o.until && (o.of == nil || o.of == p)
}

// ghost lets a late write land, or drops it: also if it would be too late.
func (s *Sim) ghost(i int, land bool) {
	g := s.ghosts[i]
	s.ghosts = append(s.ghosts[:i], s.ghosts[i+1:]...)
	a := actForget
	if land && s.storeTime()-g.at <= workload.LateMax {
		a = actGhost
		s.apply(g)
	}
	s.note(a, g)
}

package crew

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"time"
)

// killPauseMax bounds the random time between two kills.
const killPauseMax = 120 * time.Millisecond

// Shift is how long a crew works, and whether workers are killed meanwhile.
type Shift struct {
	// Time is how long it is, unless Kills says how many kills it is long.
	Time  time.Duration
	Kill  bool
	Kills int
}

// Flags defines the flags of a shift.
func (s *Shift) Flags() {
	flag.DurationVar(&s.Time, "time", 10*time.Second, "how long it runs")
	flag.BoolVar(&s.Kill, "kill", false, "kill random workers while it runs")
	flag.IntVar(&s.Kills, "kills", 0, "run until so many workers have been killed instead")
}

// String says how long it is, and who is killed, as the end of a sentence about workers.
func (s Shift) String() string {
	switch {
	case s.Kills > 0:
		return fmt.Sprintf("until %d have been killed", s.Kills)
	case s.Kill:
		return fmt.Sprintf("for %v, and are killed at random", s.Time)
	}
	return fmt.Sprintf("for %v", s.Time)
}

// Pass lets the shift pass, or less of it if stop is closed, and calls kill again and
// again if that is asked for.
func (s Shift) Pass(stop <-chan struct{}, kill func() error) error {
	var over <-chan time.Time
	if s.Kills == 0 {
		over = time.After(s.Time)
	}
	for kills := 0; s.Kills == 0 || kills < s.Kills; kills++ {
		var next <-chan time.Time
		if s.Kill || s.Kills > 0 {
			next = time.After(rand.N(killPauseMax))
		}
		select {
		case <-stop:
			return nil
		case <-over:
			return nil
		case <-next:
		}
		if err := kill(); err != nil {
			return err
		}
	}
	return nil
}

//go:build !linux

package processes_test

import (
	"os"
	"time"
)

// clockError is how far the clocks of two processes may be off: the wall clock is one,
// but may be set a little while they run.
const clockError = 10 * time.Millisecond

// clock is the wall clock, in nanoseconds.
func clock() int64 { return time.Now().UnixNano() }

// freeze stops a process for a while, where the system offers that.
func freeze(*os.Process, time.Duration) bool { return false }

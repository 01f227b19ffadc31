//go:build unix

package main

import (
	"syscall"
	"time"
)

// allocated is what a file takes on the disk, in bytes.
func allocated(path string) (int64, error) {
	var s syscall.Stat_t
	err := syscall.Stat(path, &s)
	return s.Blocks * 512, err
}

// processor is the time of processors that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // It fails for other arguments only.
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package processes_test

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

// clockError is how far the clocks of two processes may be off: this is one clock.
const clockError = 0

const clockMonotonic = 1

// clock is CLOCK_MONOTONIC, in nanoseconds: the same in all processes of the machine,
// and never set back.
func clock() int64 {
	var t syscall.Timespec
	_, _, errno := syscall.Syscall(
		syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		panic(os.NewSyscallError("clock_gettime", errno))
	}
	return t.Nano()
}

// freeze stops a process for a while. An error means that it has ended meanwhile.
func freeze(p *os.Process, d time.Duration) bool {
	if p.Signal(syscall.SIGSTOP) != nil {
		return false
	}
	time.AfterFunc(d, func() { _ = p.Signal(syscall.SIGCONT) })
	return true
}

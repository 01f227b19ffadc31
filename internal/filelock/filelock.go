// Package filelock locks files between processes, by the operating system's locks: one ends with
// the process that has it.
package filelock

import "errors"

// ErrLocked says that somebody else has the lock: another process, or another open file of this
// one.
var ErrLocked = errors.New("locked")

//go:build unix

package main

import "syscall"

// allocated is what a file takes on the disk, in bytes.
func allocated(path string) (int64, error) {
	var s syscall.Stat_t
	err := syscall.Stat(path, &s)
	return s.Blocks * 512, err
}

//go:build !unix

package main

import (
	"os"
	"time"
)

// allocated is the length of a file, in bytes.
func allocated(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// processor is not known here.
func processor() time.Duration { return 0 }

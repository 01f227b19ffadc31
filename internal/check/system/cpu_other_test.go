//go:build !unix

package system_test

import (
	"testing"
	"time"
)

// processorTime is not known here: the time of the clock serves.
func processorTime(testing.TB) time.Duration { return time.Duration(time.Now().UnixNano()) }

package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBoundsOfRequests(t *testing.T) {
	d := DefaultRequests
	for name, x := range map[string]struct{ given, want Requests }{
		"none": {Requests{}, d},
		"all":  {Requests{1, 2, 3, 4}, Requests{1, 2, 3, 4}},
		"no retries": {Requests{Retries: -1},
			Requests{d.Timeout, 0, d.BackoffMin, d.BackoffMax}},
		"too much": {Requests{time.Hour, 1000, time.Hour, 2 * time.Hour},
			Requests{timeoutMax, triesMax, timeoutMax, timeoutMax}},
		"negative": {Requests{-1, 0, -1, -1}, d},
		"the least pause above the longest": {Requests{BackoffMin: time.Minute},
			Requests{d.Timeout, d.Retries, time.Minute, time.Minute}},
	} {
		assert.Equal(t, x.want, x.given.bounded(), name)
	}
}

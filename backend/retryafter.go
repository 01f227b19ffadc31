package backend

import (
	"errors"
	"strconv"
	"time"
)

// RetryAfter is implemented by errors that may carry a store's wish to be left alone.
type RetryAfter interface {
	// RetryAfter is how long the store wants the caller to wait before it sends the
	// request again; 0 if it did not say.
	RetryAfter() time.Duration
}

// PauseAsked is how long the store wants to be left alone, as far as err tells; else 0.
func PauseAsked(err error) time.Duration {
	var r RetryAfter
	if !errors.As(err, &r) {
		return 0
	}
	return max(r.RetryAfter(), 0)
}

// secondsMax is more than anybody waits, and no overflow.
const secondsMax = 1 << 30

// ParseRetryAfter reads the value of an HTTP header Retry-After: a number of seconds, or
// a date, which is compared with now. What it can't read is 0.
func ParseRetryAfter(header string, now time.Time) time.Duration {
	if n, err := strconv.ParseInt(header, 10, 64); err == nil {
		return time.Duration(min(max(n, 0), secondsMax)) * time.Second
	}
	at, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", header)
	if err != nil {
		return 0
	}
	return max(at.Sub(now), 0)
}

package backend

import (
	"errors"
	"strconv"
	"time"
)

// ConditionalDeleter is implemented by backends whose Delete may not be atomic, since
// their store lacks a conditional DELETE, and by wrappers of backends.
type ConditionalDeleter interface {
	// ConditionalDelete tells whether a Delete leaves an object alone that is not at the
	// version. If it is false, objects that may be written again must not be deleted.
	ConditionalDelete() bool
}

// ConditionalDelete is false if b declares that its Delete is not atomic. True says only
// that b does not: it is the store's word that counts, and strictkv.Open asks for it.
func ConditionalDelete(b Backend) bool {
	d, ok := b.(ConditionalDeleter)
	return !ok || d.ConditionalDelete()
}

// OnceSender is implemented by backends that reach their store without a network, so that
// nobody on the way can send a request twice, and by wrappers of backends.
type OnceSender interface {
	// SendsOnce tells whether a Put takes effect once at most.
	SendsOnce() bool
}

// SendsOnce tells whether a Put that b refuses has certainly not been applied. Elsewhere
// the refusal may be the answer to a second copy of a request whose first was applied.
func SendsOnce(b Backend) bool {
	o, ok := b.(OnceSender)
	return ok && o.SendsOnce()
}

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

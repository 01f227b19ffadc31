package faultproxy

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Fault is what befalls one request. The zero Fault is none. Faults add up, in the
// order of the fields. Once all of it has come, the request goes
// on even if its client has gone.
type Fault struct {
	// Received, if not nil, is called when the whole request has come: from then on it goes on
	// even if its client leaves.
	Received func()
	// Delay is waited before anything else.
	Delay time.Duration
	// ResetBefore breaks the connection; the store never sees the request.
	ResetBefore bool
	// Outage breaks the connection as well, and that of each request which comes
	// within the time.
	Outage time.Duration
	// Late breaks the connection at once, and lets the store see the request only
	// after that time, when its client has long given up on it.
	Late time.Duration
	// CorruptRequest changes a bit of the request's body. Only a store that compares
	// checksums finds out.
	CorruptRequest bool
	// Duplicate lets the store see the request twice, one after the other. The
	// client gets the second answer, or the first one if FirstAnswer is set.
	Duplicate, FirstAnswer bool
	// Status, if not 0, is the status of an answer by the proxy. The store sees the
	// request only if Landed is set as well.
	Status int
	Landed bool
	// Header and Body are those of the answer with Status. The proxy sends them as
	// they are, and keeps them.
	Header http.Header
	Body   string
	// RetryAfter, if not 0, is sent with Status, in whole seconds, rounded up.
	RetryAfter time.Duration
	// ResetAfter breaks the connection when the store has answered.
	ResetAfter bool
	// Truncate breaks the connection in the middle of the answer's body, or before
	// the answer if it has no body.
	Truncate bool
	// Corrupt changes a bit in the middle of the answer's body. By probability it is
	// for requests whose answers carry a checksum: a listing or an error in which a
	// bit has changed is one that the store might as well have sent.
	Corrupt bool
}

const nameOutage = "outage"

// names are the names that a fault is counted by.
func (f Fault) names() []string {
	status := fmt.Sprint("status ", f.Status)
	if f.Landed {
		status = "landed " + status
	}
	var names []string
	for _, n := range []struct {
		has  bool
		name string
	}{
		{f.Delay > 0, "delay"},
		{f.ResetBefore, "reset before"},
		{f.Outage > 0, nameOutage},
		{f.Late > 0, "late"},
		{f.CorruptRequest, "corrupt request"},
		{f.Duplicate, "duplicate"},
		{f.Status != 0, status},
		{f.ResetAfter, "reset after"},
		{f.Truncate, "truncate"},
		{f.Corrupt, "corrupt"},
	} {
		if n.has {
			names = append(names, n.name)
		}
	}
	return names
}

// Mix is what a bad network and a busy store do to any kind of request: such a part
// of all requests, between 0 and 1, meets one of these faults, each as often as the
// others. It has no outage and no corrupted bodies; see Fault.Corrupt for those.
func Mix(part float64) []Chance {
	faults := []Fault{
		{Delay: 50 * time.Millisecond},
		{Delay: 500 * time.Millisecond},
		{ResetBefore: true},
		{ResetAfter: true},
		{Late: 200 * time.Millisecond},
		{Duplicate: true},
		{Duplicate: true, FirstAnswer: true},
		{Truncate: true},
		{Status: http.StatusTooManyRequests},
		{Status: http.StatusInternalServerError},
		{Status: http.StatusInternalServerError, Landed: true},
		{Status: http.StatusBadGateway, Landed: true},
		{Status: http.StatusServiceUnavailable, RetryAfter: time.Second},
		{Status: http.StatusGatewayTimeout, Landed: true},
	}
	chances := make([]Chance, len(faults))
	for i, f := range faults {
		chances[i] = Chance{Probability: part / float64(len(faults)), Fault: f}
	}
	return chances
}

// refusal is the answer of a fault with a status.
func (f Fault) refusal() answer {
	a := answer{f.Status, f.Header.Clone(), []byte(f.Body)}
	if a.header == nil {
		a.header = make(http.Header)
	}
	if f.RetryAfter > 0 {
		seconds := (f.RetryAfter + time.Second - 1) / time.Second
		a.header.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	return a
}

// flip returns a copy of b in which a bit in the middle has changed.
func flip(b []byte) []byte {
	c := append([]byte(nil), b...)
	if len(c) > 0 {
		c[len(c)/2] ^= 0x01
	}
	return c
}

package queue

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/strictkv/strictkv"
)

// A job's key is its stamp, 8 bytes, and its id. Its value is a record. A byte that has been
// written never changes its meaning: what is new gets another format.
const (
	recordFormat = 1
	stampSize    = 8
	// failureMax bounds, in bytes, the text of an error that is kept.
	failureMax = 1 << 10
)

// stamp is a time in nanoseconds since 1970, in order. What is before that is 0, and what is
// later than can be told is the last that can.
type stamp uint64

var stampsBegin, stampsEnd = time.Unix(0, 0), time.Unix(0, math.MaxInt64)

func stampOf(t time.Time) stamp {
	switch {
	case t.Before(stampsBegin):
		return 0
	case t.After(stampsEnd):
		return math.MaxInt64
	}
	return stamp(t.UnixNano())
}

func (s stamp) time() time.Time { return time.Unix(0, int64(s)) }

func keyOf(s stamp, id string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(s)), id...)
}

// parseKey takes a key apart.
func parseKey(key []byte) (s stamp, id string, err error) {
	if len(key) < stampSize {
		return 0, "", fmt.Errorf("queue: key %x is too short: %w", key, strictkv.ErrCorrupt)
	}
	return stamp(binary.BigEndian.Uint64(key)), string(key[stampSize:]), nil
}

// token tells claims apart.
type token [16]byte

// record is what is stored of a job. Its lease ends at until; without one, token is zero.
type record struct {
	due, enqueued, until time.Time
	attempts             int
	token                token
	failure              string // of the last attempt
	payload              []byte
}

// leased reports whether somebody has the job.
func (r record) leased(now time.Time) bool { return r.token != token{} && now.Before(r.until) }

// free takes the lease away.
func (r record) free() record {
	r.token, r.until = token{}, time.Time{}
	return r
}

// failed notes why an attempt has failed.
func (r record) failed(why string) record {
	r.failure = why[:min(len(why), failureMax)]
	return r
}

func (r record) encode() []byte {
	b := make([]byte, 0, 1+3*stampSize+len(r.token)+2*binary.MaxVarintLen64+
		len(r.failure)+len(r.payload))
	b = append(b, recordFormat)
	for _, t := range []time.Time{r.due, r.enqueued, r.until} {
		b = binary.BigEndian.AppendUint64(b, uint64(stampOf(t)))
	}
	b = append(b, r.token[:]...)
	b = binary.AppendUvarint(b, uint64(r.attempts))
	b = binary.AppendUvarint(b, uint64(len(r.failure)))
	b = append(b, r.failure...)
	return append(b, r.payload...)
}

// decode is the inverse of encode.
func decode(id string, b []byte) (r record, err error) {
	damaged := fmt.Errorf("queue: the value of job %s is damaged: %w", id, strictkv.ErrCorrupt)
	if len(b) == 0 {
		return r, damaged
	}
	if b[0] != recordFormat {
		return r, fmt.Errorf("queue: job %s has format %d: %w", id, b[0], strictkv.ErrFormat)
	}
	b = b[1:]
	if len(b) < 3*stampSize+len(r.token) {
		return r, damaged
	}
	for _, t := range []*time.Time{&r.due, &r.enqueued, &r.until} {
		*t = stamp(binary.BigEndian.Uint64(b)).time()
		b = b[stampSize:]
	}
	b = b[copy(r.token[:], b):]
	attempts, n := binary.Uvarint(b)
	if n <= 0 || attempts > 1<<31 {
		return r, damaged
	}
	r.attempts, b = int(attempts), b[n:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return r, damaged
	}
	b = b[n:]
	r.failure, r.payload = string(b[:size]), b[size:]
	return r, nil
}

// Package txid names attempts to commit a transaction, and ranks transactions.
package txid

import (
	"cmp"
	"encoding/hex"
	"time"
)

// ID names one attempt: 128 random bits, new for every set of writes, never used
// again. The zero ID means "no attempt".
type ID [16]byte

// New makes an ID from two random words. It is never zero.
func New(random func() uint64) ID {
	for {
		var id ID
		hi, lo := random(), random()
		for i := range 8 {
			id[i] = byte(hi >> (56 - 8*i))
			id[8+i] = byte(lo >> (56 - 8*i))
		}
		if !id.IsZero() {
			return id
		}
	}
}

// IsZero reports whether id names no attempt.
func (id ID) IsZero() bool { return id == ID{} }

// String is id in hexadecimal.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Priority ranks transactions: the older goes first (wound-wait). It belongs to
// the transaction and stays over its attempts. Wall clocks only rank; safety does
// not depend on them.
type Priority struct {
	// Time is the time of the transaction's first attempt, in nanoseconds since
	// 1970 by its client's clock.
	Time int64
	// Tie is random and breaks ties.
	Tie uint64
}

// escalation is the advance of escalated transactions: some 146 years.
const escalation = 1 << 62

// Escalate ranks the transaction before all that have not escalated; among those that
// have, the older goes first. It returns false if it has been called before.
func (p *Priority) Escalate() bool {
	if p.Time < 0 {
		return false
	}
	p.Time -= escalation
	return true
}

// Began is when the transaction began, by its client's clock.
func (p Priority) Began() time.Time {
	if p.Time < 0 {
		p.Time += escalation
	}
	return time.Unix(0, p.Time)
}

// Older reports whether a transaction of priority p goes before one of q.
func (p Priority) Older(q Priority) bool {
	if c := cmp.Compare(p.Time, q.Time); c != 0 {
		return c < 0
	}
	return p.Tie < q.Tie
}

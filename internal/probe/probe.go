// Package probe finds out whether a store does what a database needs, by what it does itself:
// objects in a part of the bucket that the probe removes in the end.
package probe

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/bucketurl"
)

const (
	nameMax = 1024 // of an object, in bytes
	// cleanMax is how long what is left may take to be removed, after an interruption too.
	cleanMax = time.Minute
)

// RequestsMax is about how many writes, and how many reads, a full probe sends at most: half of
// those of the transfers, and what the suite has.
const RequestsMax = writers*requestsMax/2 + 10_000

// Finding is the answer to one question.
type Finding struct {
	Question string
	Passed   bool
	// Skipped says that the question does not apply.
	Skipped bool
	// Detail says what went wrong, or what else is to be known.
	Detail string
}

// Probe is a probe of a bucket.
type Probe struct {
	// Bucket and Second are two clients of the bucket, and Prefix is what the URL has of a prefix.
	Bucket, Second *bucketurl.Bucket
	Prefix         string
	// Lasting is how long transfers go on, in a full probe.
	Lasting time.Duration
	// Told is called with each finding.
	Told func(Finding)

	name string
}

// Run asks what opening a database asks. If it is full, it also runs the conformance suite, and
// transactions whose history is judged. It then removes what it has written. The error tells that
// it could not be carried through.
func (p *Probe) Run(ctx context.Context, full bool) (err error) {
	p.name = Name("probe")
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanMax)
		defer cancel()
		err = errors.Join(err, p.clean(clean))
	}()
	usable, err := p.open(ctx)
	if err != nil || !full || !usable {
		return err
	}
	if p.suite(ctx); ctx.Err() != nil {
		return ctx.Err()
	}
	if err := p.race(ctx); err != nil {
		return err
	}
	return p.transfers(ctx)
}

// Name is that of a database which nobody else has.
func Name(what string) string {
	id := make([]byte, 6)
	_, _ = rand.Read(id) // it never fails
	return "strictkv-" + what + "-" + hex.EncodeToString(id)
}

// open opens a database, and reports whether the store can have any.
func (p *Probe) open(ctx context.Context) (usable bool, err error) {
	const honours = "honours the conditions of writes, lists names in order"
	db, err := strictkv.Open(ctx, p.name, p.Bucket, strictkv.WithProbe(strictkv.ProbeAgain))
	if errors.Is(err, strictkv.ErrUnsupported) {
		p.Told(Finding{Question: honours, Detail: err.Error()})
		return false, nil
	} else if err != nil {
		return false, err
	}
	p.Told(Finding{Question: honours, Passed: true})
	deletes := Finding{Question: "honours the condition of deletes", Passed: true}
	if db.Stats().KeepsTombstones {
		deletes.Skipped, deletes.Detail = true, "it does not: what is left of deleted keys stays"
	}
	p.Told(deletes)
	once := Finding{Question: "writes are sent once", Passed: true}
	if !p.Bucket.Capabilities().SendsOnce {
		once.Skipped, once.Detail = true, "somebody on the way may send them again"
	}
	p.Told(once)
	return true, db.Close(ctx)
}

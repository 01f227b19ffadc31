// Package observe tells an observer what a handle does: of transactions, of requests to the
// store, of work beside them. What it tells is made here and consumed by the root package, which
// gives it a public form.
//
// A nil *Observer is told nothing, and all methods of it, and of what it returns, do nothing: the
// engine asks nowhere whether there is one.
package observe

import (
	"context"
	"errors"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/seam"
)

// Observer is told of what a handle does. The functions are called on the goroutine that does it,
// with no lock held. What begins returns the context in which it goes on.
type Observer struct {
	Runtime seam.Runtime

	TxBegin      func(context.Context, *Tx) context.Context
	TxEnd        func(ctx context.Context, tx *Tx, took time.Duration, err error)
	RequestBegin func(context.Context, Request) context.Context
	RequestEnd   func(context.Context, Request)
	WorkBegin    func(context.Context, *Work) context.Context
	WorkEnd      func(context.Context, *Work)

	Attempted func(context.Context, Attempt)
	Retried   func(context.Context, Retry)
	WaitEnd   func(context.Context, Wait)
	Resent    func(context.Context, Resend)
}

// Op is an operation of a store.
type Op uint8

// The operations.
const (
	Get Op = iota
	Put
	Delete
	List
)

// Result is how a store has answered.
type Result uint8

// The results.
const (
	OK Result = iota
	// NotModified and NotFound are answers to a read.
	NotModified
	NotFound
	// Refused: the condition of a write did not hold.
	Refused
	// Throttled and Unavailable: not applied, to be tried later.
	Throttled
	Unavailable
	Denied
	// Canceled: the caller did not wait for the answer to a read.
	Canceled
	// Unknown: a write may have been applied, or not.
	Unknown
	// Other is every other error.
	Other
)

// ResultOf is the result that an error stands for, but Unknown, which is for the store to tell.
func ResultOf(err error) Result {
	if err == nil {
		return OK
	}
	for _, x := range []struct {
		error
		Result
	}{
		{backend.ErrNotModified, NotModified}, {backend.ErrNotFound, NotFound},
		{backend.ErrPrecondition, Refused}, {backend.ErrThrottled, Throttled},
		{backend.ErrUnavailable, Unavailable}, {backend.ErrDenied, Denied},
		{context.Canceled, Canceled}, {context.DeadlineExceeded, Canceled},
	} {
		if errors.Is(err, x.error) {
			return x.Result
		}
	}
	return Other
}

// Request is one request to the store.
type Request struct {
	Op   Op
	Kind keyspace.Kind // of the object; of a List it means nothing
	// Result, Took, Read, Written (bytes), and Err are known at its end.
	Result Result
	// Round is the number of the transaction's round that it belongs to; 0 without one.
	Round uint32
	// Full is the object's name in the bucket; of a List it is the prefix.
	Full          string
	Start         time.Time
	Took          time.Duration
	Read, Written int
	Err           error

	o  *Observer
	tx *Tx
}

// Request begins a request. Its start, and its end, are the caller's to read from the clock, as
// others may want to know them, too. The name is relative to the database, full is in the bucket.
func (o *Observer) Request(
	ctx context.Context, op Op, name, full string, start time.Time,
) (context.Context, Request) {
	if o == nil {
		return ctx, Request{}
	}
	r := Request{Op: op, Kind: keyspace.KindOf(name), Full: full, Start: start, o: o}
	if r.tx = o.of(ctx); r.tx != nil {
		_, rounds := halves(r.tx.answered.Load())
		r.Round = rounds + 1
	}
	if o.RequestBegin != nil {
		ctx = o.RequestBegin(ctx, r)
	}
	return ctx, r
}

// Observed reports whether anybody wants to know how the request ends.
func (r *Request) Observed() bool { return r.o != nil }

// End ends the request, whose other fields have been filled in.
func (r *Request) End(ctx context.Context, at time.Time) {
	if r.o == nil {
		return
	}
	r.Took = at.Sub(r.Start)
	r.tx.count(r)
	if r.o.RequestEnd != nil {
		r.o.RequestEnd(ctx, *r)
	}
}

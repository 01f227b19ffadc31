// Package faulty wraps a backend in the misfortunes of a network, of a store, and
// of the process that calls it: delays, refusals, lost requests and answers,
// duplicated and belated writes, an outage, a crash.
//
// One Backend is one client: to test several, wrap the same store several times.
// Every fault stays within the contract of package backend, so a program that
// keeps to the contract must survive them all.
package faulty

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/seam"
)

// delayMax is the default of Options.DelayMax.
const delayMax = 10 * time.Millisecond

// Options say which faults there are. The zero Options inject none of their own.
//
// The fields from Delay to Late are probabilities between 0 and 1. A call suffers
// at most one of FailBefore to Late, so their sum must not exceed 1; a delay may
// come in addition.
type Options struct {
	// Seed selects the random sequence: the n-th call of two clients with equal
	// Options suffers the same.
	Seed uint64

	// Delay holds a call up, before or after its effect.
	Delay float64
	// FailBefore refuses a call: ErrUnavailable or ErrThrottled, no effect.
	FailBefore float64
	// LoseRequest loses a call on its way to the store. The caller of a write
	// gets ErrOutcomeUnknown, of a read ErrUnavailable.
	LoseRequest float64
	// LoseAnswer loses the store's answer, with the same errors.
	LoseAnswer float64
	// Duplicate sends a write twice, one after the other, as a retry within an
	// SDK would. The second answer may be the duplicate of a write that landed, so the
	// caller gets ErrOutcomeUnknown. Reads are spared.
	Duplicate float64
	// Late returns ErrOutcomeUnknown for a write at once, and sends it after a
	// delay, whatever has become of the caller. Wait waits for such writes. Reads
	// are spared.
	Late float64

	// DelayMax is the longest delay; 0 is 10 ms.
	DelayMax time.Duration

	// Before, if set, is called with every operation before it is sent, and may
	// block. An error is the call's answer, and the operation is not sent.
	Before func(ctx context.Context, op Op) error
	// After, if set, is called with every answer of the store that is on its way
	// to the caller, and may change it. Lost answers do not come by.
	After func(ctx context.Context, op Op, a *Answer)

	// Runtime is where delays and belated writes run; nil is the real one.
	Runtime seam.Runtime
}

// Backend is a client with faults. Make one with New.
type Backend struct {
	inner backend.Backend
	rt    seam.Runtime
	o     Options

	mu      seam.Mutex // guards all below
	random  *rand.Rand
	outage  bool
	crashed bool
	counts  Counts
	pending int        // late writes that have not been sent
	settled seam.Event // happens when pending falls to 0
}

var _ backend.Backend = (*Backend)(nil)

// Counts tell how many calls there were, and how many faults by kind.
type Counts struct {
	// Calls is the number of calls, failed ones included.
	Calls int
	// Delays is the number of calls held up; they may suffer other faults too.
	Delays int
	// The number of calls that suffered what the Options of like names inject.
	FailuresBefore, LostRequests, LostAnswers, Duplicates, LateWrites int
	// Refusals is the number of calls that failed in an outage, or after a crash.
	Refusals int
}

// New wraps b. It panics if the probabilities of o are not as Options demand.
func New(b backend.Backend, o Options) *Backend {
	sum := 0.0
	for _, p := range []float64{
		o.FailBefore, o.LoseRequest, o.LoseAnswer, o.Duplicate, o.Late,
	} {
		if p < 0 {
			panic(fmt.Sprintf("faulty: negative probability %v", p))
		}
		sum += p
	}
	if sum > 1 {
		panic(fmt.Sprintf("faulty: probabilities add up to %v", sum))
	}
	if o.DelayMax == 0 {
		o.DelayMax = delayMax
	}
	if o.Runtime == nil {
		o.Runtime = seam.Real()
	}
	return &Backend{
		inner: b, rt: o.Runtime, o: o, random: rand.New(rand.NewPCG(o.Seed, 0)),
	}
}

// SetOutage begins or ends an outage. While it lasts, every call that has not
// reached the store fails with ErrUnavailable, and has no effect.
func (b *Backend) SetOutage(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outage = on
}

// Crash is the death of the client's process, as the store sees it: from now on
// every call fails with ErrUnavailable, and has no effect. Writes that had left
// the client, late ones among them, may still land; calls that wait for their
// answers lose them. There is no way back: a new process is a new Backend.
func (b *Backend) Crash() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.crashed = true
}

// Wait waits until no late write is pending, or until ctx ends and then returns
// its error.
func (b *Backend) Wait(ctx context.Context) error {
	b.mu.Lock()
	settled := b.settled
	if b.pending == 0 {
		b.mu.Unlock()
		return nil
	}
	b.mu.Unlock()
	return settled.Wait(ctx)
}

// Capabilities tells what the wrapped backend declares, but that writes may be sent twice.
func (b *Backend) Capabilities() backend.Capabilities {
	return backend.Capabilities{ConditionalDelete: b.inner.Capabilities().ConditionalDelete}
}

// Counts returns what has happened so far.
func (b *Backend) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts
}

package commit

import (
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Plan is what one attempt is to commit, and on what.
type Plan struct {
	// Priority ranks the transaction among others. It began at the logical time Begun, and
	// Failures of its attempts have come to nothing.
	Priority txid.Priority
	Begun    uint64
	Failures int
	// Members are the cells to be written, in name order, one at least.
	Members []*Member
	// Reads are the keys that were read, and are not written; Spans the ranges.
	Reads []*Read
	Spans []*scan.Span
	// Ends is when the first value is due that the function has seen, by the store's clock; Soon
	// says that this may be while a write of the attempt is on its way.
	Ends int64
	Soon bool
	// Seal, if not nil, is asked before the first request after which the attempt may commit.
	// If it says no, nothing is sent that does.
	Seal func() bool
	// Left is where the transaction notes what its attempts may have left in cells.
	Left *Leftovers
}

// Kind says how an attempt commits.
type Kind uint8

// The kinds of attempts, as the package's comment describes them.
const (
	Direct Kind = iota
	Parallel
	Validated
	Locked
)

// Kind is that of the attempt which the plan takes.
func (p *Plan) Kind() Kind {
	switch {
	case len(p.Reads) > 0 || len(p.Spans) > 0 || p.Soon:
		return Validated
	case len(p.Members) > 1:
		return Parallel
	}
	return Direct
}

// mode is that of the intents; a direct attempt has none.
func (k Kind) mode() cell.Mode {
	switch k {
	case Direct:
		return 0
	case Parallel:
		return cell.Staged
	}
	return cell.Pending
}

// marksPrimary reports whether a write of the attempt's own leaves a mark in the primary.
func (p *Plan) marksPrimary() bool { return p.Kind() == Validated && len(p.Members) > 1 }

func (p *Plan) seal() bool { return p.Seal == nil || p.Seal() }

// writer is the transaction's part where it wants to write a cell, validator where it holds
// intents and wants to know what it has read.
func (p *Plan) writer() resolve.Role {
	return resolve.Role{Writer: true, Ranked: true, Priority: p.Priority}
}

func (p *Plan) validator() resolve.Role {
	return resolve.Role{Ranked: true, Priority: p.Priority}
}

// Read is a key as a run of the function has seen it.
type Read struct {
	Name string
	// Seen says that it is in the read set, as it was in Base, where Writer had written it.
	Seen   bool
	Base   resolve.Reading
	Writer txid.ID
	// Due, if not 0, is since when the value was due, by the store's clock: it was seen as absent.
	Due int64
	// Insert says that the key must be absent.
	Insert bool
}

// Outdated reports whether the key is not any more what the function saw: it has another
// effective writer (the version alone proves nothing, as an intent's attempt may have
// committed since), or what was to be inserted exists, and is not due by the store's clock.
func (r *Read) Outdated(now resolve.Reading, clock int64) bool {
	_, w := now.Effective()
	return r.Seen && w != r.Writer || r.Insert && !now.Absent(clock)
}

// Member is one cell of an attempt: what is to be done with it, and what became of that.
type Member struct {
	Name   string
	Action cell.Action
	Value  cell.Value
	// External is where an external Value is from; nil for others.
	External *External
	// Base is what the write replaces. Its intent, if any, is final. Before Prepare it is what
	// the transaction knows of the cell, if anything.
	Base resolve.Reading
	// Fold is what the write does to what it finds in Base: see MakeRoom.
	Fold cell.Fold
	Fate

	// writer is the effective writer at Base.
	writer txid.ID
	write  *store.Write
	err    error
	// given says that the function has run on the value that was locked.
	given bool
}

// External is a value that is an object of its own.
type External struct {
	// Begun is when its upload began, by the store's clock: when that was answered.
	Begun store.Moment
}

// Fate is what became of one member's write.
type Fate struct {
	// Result is Unknown before the write is sent.
	Result store.Result
	// Took is how long it took to send it, last.
	Took time.Duration
	// Unsent says that it was left out, as that of a hot member was refused.
	Unsent bool
	// Seen is the cell as it was read after it had refused the write, or perhaps.
	Seen store.Snapshot
	// Landed is the cell with the attempt's intent, once that is known to be there.
	Landed store.Snapshot
}

// asks is what is to be asked of the member's cell about the attempt.
func (m *Member) asks(tx txid.ID) cell.Question {
	return cell.Question{
		Tx: tx, Expected: string(m.Base.Version), Saw: m.writer, Lock: m.Action == cell.Lock,
	}
}

// tells is what a member's cell tells of the attempt. Of one that has refused the write, the
// expected version is no news.
func (m *Member) tells(tx txid.ID, s store.Snapshot, refused bool) cell.Evidence {
	q := m.asks(tx)
	q.Refused = refused
	return s.Cell.Evidence(string(s.Version), q)
}

// Beaten reports whether what has refused the member was written by a direct commit, as far as
// the cell tells.
func (m *Member) Beaten() bool {
	c := m.Seen.Cell
	if c == nil || c.Intent != nil {
		return false
	}
	_, marked := c.Mark(c.Writer)
	return !marked
}

// Limits of attempts.
const (
	// attemptMax is how long one may last.
	attemptMax = store.AttemptMax
	// groundsMax bounds how often an object is made for a value to be linked over.
	groundsMax = 8
	// resendsMax bounds how often writes with an unknown outcome are sent again.
	resendsMax = 8
	// resendPauseMin and resendPauseMax bound the pause before that.
	resendPauseMin = 20 * time.Millisecond
	resendPauseMax = 2 * time.Second
)

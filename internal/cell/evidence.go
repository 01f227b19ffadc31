package cell

import "github.com/strictkv/strictkv/internal/txid"

// Evidence is what one cell tells of one attempt.
type Evidence uint8

// The kinds of evidence, of which the first that applies counts:
//
//	the cell                                          it tells
//	holds the attempt's intent                        HoldsIntent
//	names the attempt: writer, recent, or a mark      ProvesCommitted
//	is at the version that the attempt expects        AtExpected
//	would name the attempt if that had committed      ProvesDead
//	is off otherwise                                  Silent
//
// It would name the attempt if its recent ones reach back to the writer that the attempt saw
// there: unless the intent was a lock, which does not enter them, or the cell is a condemned
// tombstone, which may vanish, so that a late copy of the write lands in its place.
const (
	Silent Evidence = iota
	HoldsIntent
	ProvesCommitted
	AtExpected
	ProvesDead
)

// Question asks a cell about an attempt that has it as a member.
type Question struct {
	// Tx is the attempt.
	Tx txid.ID
	// Expected is the version that its write replaces; empty for an absent object.
	Expected string
	// Saw is the effective writer at that version.
	Saw txid.ID
	// Lock says that the attempt writes no value there.
	Lock bool
	// Refused says that the cell has refused the write. That it is at the expected version
	// tells nothing then.
	Refused bool
}

// Evidence is what the cell, at a version, tells of an attempt. It is no proof that the attempt
// is dead once that may have lasted too long: what was absent may be so again.
func (c *Cell) Evidence(version string, q Question) Evidence {
	switch {
	case c.Holds(q.Tx):
		return HoldsIntent
	case c.Names(q.Tx):
		return ProvesCommitted
	case version == q.Expected && !q.Refused:
		return AtExpected
	case !q.Lock && !c.Condemned && c.ReachesBack(q.Saw):
		return ProvesDead
	}
	return Silent
}

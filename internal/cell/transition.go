package cell

import (
	"fmt"

	"github.com/strictkv/strictkv/internal/txid"
)

// Outcome is what is known of the intent that a write replaces.
type Outcome uint8

// The outcomes. Committed and Dead are final.
const (
	// Undecided: the intent must not be replaced.
	Undecided Outcome = iota
	// Committed: the intent's value becomes the committed one.
	Committed
	// Dead: the intent is dropped.
	Dead
)

// Fold says what a write does to what it finds in a cell: it replaces the cell
// and resolves the final intent in it, in one CAS.
type Fold struct {
	// Outcome is the status of the intent's transaction; of no matter if there is
	// no intent.
	Outcome Outcome
	// Unmarked says that the folder knows that no other member holds the
	// committed intent, so that no mark is needed.
	Unmarked bool
	// Drop lists the marks that the writer may leave out, as it knows that no
	// member holds an intent of theirs.
	Drop []txid.ID
}

// Resolve replaces the intent by its outcome and does nothing else.
func Resolve(c *Cell, f Fold) *Cell {
	if c.Intent == nil {
		panic("cell: resolve without an intent")
	}
	return c.fold(f)
}

// Place puts an attempt's intent into the cell.
func Place(c *Cell, f Fold, in *Intent) *Cell {
	if in.Tx.IsZero() || len(in.List) == 0 || (in.Action == Put) == (in.Value.Kind == Absent) {
		panic(fmt.Sprintf("cell: malformed intent of %v", in.Tx))
	}
	n := c.fold(f)
	n.Intent = in
	return n
}

// Write is a direct commit: the attempt's action at once, without an intent.
// Commit point.
func Write(c *Cell, f Fold, tx txid.ID, a Action, v Value) *Cell {
	n := c.fold(f)
	n.commit(tx, a, v)
	return n
}

// Commit replaces a pending intent in the primary by its value, with the mark
// unless f says that no other member holds an intent. Commit point.
func Commit(c *Cell, tx txid.ID, f Fold) *Cell {
	if !c.Holds(tx) || c.Intent.Mode != Pending {
		panic(fmt.Sprintf("cell: commit of %v without its pending intent", tx))
	}
	f.Outcome = Committed
	return c.fold(f)
}

// Amend replaces a pending intent by another one of the same attempt.
func Amend(c *Cell, in *Intent) *Cell {
	if !c.Holds(in.Tx) || c.Intent.Mode != Pending || in.Mode != Pending {
		panic(fmt.Sprintf("cell: amendment of %v without its pending intent", in.Tx))
	}
	n := Fence(c)
	n.Intent = in
	return n
}

// Fence rewrites the cell unchanged but for the nonce, so that a write that
// expects the present version cannot land any more. Of an absent object it makes
// a tombstone whose writer is none. It lifts a condemnation.
func Fence(c *Cell) *Cell {
	n := *c
	n.Condemned = false
	return &n
}

// Drop removes an undecided pending intent from its primary, which kills the
// attempt.
func Drop(c *Cell, tx txid.ID) *Cell {
	if !c.Holds(tx) || c.Intent.Mode != Pending {
		panic(fmt.Sprintf("cell: drop of %v without its pending intent", tx))
	}
	n := Fence(c)
	n.Intent = nil
	return n
}

// Condemn announces that the tombstone will be removed. Any other write of the cell, and
// any conclusion drawn from it, lifts that. It panics if there is an intent or a mark.
func Condemn(c *Cell) *Cell {
	if c.Shape() != ShapeTombstone || len(c.Marks) > 0 {
		panic("cell: only a tombstone without intent and marks can be condemned")
	}
	n := *c
	n.Condemned = true
	return &n
}

// MarksAfter is how many marks the cell would carry after a write with f.
func MarksAfter(c *Cell, f Fold) int {
	n := len(c.Marks)
	for _, m := range c.Marks {
		if f.Drops(m.Tx) {
			n--
		}
	}
	if c.Intent != nil && f.Outcome == Committed && !f.Unmarked {
		n++
	}
	return n
}

// Drops reports whether f leaves out the mark of the attempt.
func (f Fold) Drops(tx txid.ID) bool {
	for _, d := range f.Drop {
		if d == tx {
			return true
		}
	}
	return false
}

// fold returns the cell after f: without intent and condemnation, without the
// marks that f drops, and with the value and the mark of a committed intent.
func (c *Cell) fold(f Fold) *Cell {
	n := &Cell{Value: c.Value, Writer: c.Writer, Recent: c.Recent, Marks: c.carried(f)}
	in := c.Intent
	if in == nil {
		return n
	}
	switch f.Outcome {
	case Dead:
	case Committed:
		n.commit(in.Tx, in.Action, in.Value)
		if !f.Unmarked {
			marks := make([]Mark, len(n.Marks), len(n.Marks)+1)
			copy(marks, n.Marks)
			n.Marks = append(marks, Mark{Tx: in.Tx, Members: in.Members})
		}
	default:
		panic(fmt.Sprintf("cell: the undecided intent of %v would be replaced", in.Tx))
	}
	if len(n.Marks) > MarksMax {
		panic(fmt.Sprintf("cell: %d marks", len(n.Marks)))
	}
	return n
}

// carried returns the marks that stay.
func (c *Cell) carried(f Fold) []Mark {
	if len(f.Drop) == 0 {
		return c.Marks
	}
	var kept []Mark
	for _, m := range c.Marks {
		if !f.Drops(m.Tx) {
			kept = append(kept, m)
		}
	}
	return kept
}

// commit makes an action of the attempt the committed state. c is new and not yet
// shared.
func (c *Cell) commit(tx txid.ID, a Action, v Value) {
	switch a {
	case Put:
		if v.Kind == Absent {
			panic("cell: put without a value")
		}
		c.Value = v
	case Delete:
		c.Value = Value{}
	case Lock:
		return
	default:
		panic(fmt.Sprintf("cell: action %d", a))
	}
	c.Writer = tx
	recent := make([]txid.ID, 0, min(len(c.Recent)+1, RecentMax))
	recent = append(recent, tx)
	c.Recent = append(recent, c.Recent[:min(len(c.Recent), RecentMax-1)]...)
}

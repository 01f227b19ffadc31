package history

import (
	"errors"
	"fmt"
	"strings"
)

// Options tell Check about a history. The zero value serves most.
type Options struct {
	// Elements splits a value that carries its key's past, oldest first, its own
	// element last (list-append): the order of writes can be read off such values.
	// nil = values are opaque. Elements are unique within a key, and each write
	// carries all of the value that it writes over.
	Elements func(value string) []string
	// ClockError is how far instants of different processes may be off: a
	// transaction counts as later than another if it was invoked more than this
	// after the other's return.
	ClockError int64
	// Limit is how many anomalies are reported, 0 = 10.
	Limit int

	lanes int // the most lanes of a reach, 0 = as many as memory allows; set by tests
}

func (o Options) limit() int {
	if o.Limit > 0 {
		return o.Limit
	}
	return 10
}

// Name is the name of an anomaly: one of the constants, or one of the cycles with
// "-realtime" appended, where the cycle needs the order of real time.
type Name string

// Anomalies that show in single reads.
const (
	// GarbageRead is a read of a value that nobody has written.
	GarbageRead Name = "garbage read"
	// Internal is a read that contradicts the transaction's own operations.
	Internal Name = "internal"
	// G1a is a read of what a failed transaction wrote.
	G1a Name = "G1a"
	// G1b is a read of what its writer wrote over in the same transaction.
	G1b Name = "G1b"
)

// Anomalies that are cycles.
const (
	// G0 is a cycle of writes: write-write edges only.
	G0 Name = "G0"
	// G1c is a cycle of information: write-write and write-read edges.
	G1c Name = "G1c"
	// GSingle is a cycle with one read-write edge: read skew, a stale read.
	GSingle Name = "G-single"
	// G2 is a cycle with several read-write edges: write skew.
	G2 Name = "G2"
	// LostUpdate is a G-single in which two transactions wrote over the same value,
	// both having read it.
	LostUpdate Name = "lost update"
	// DuplicateInsert is a lost update in which both inserted.
	DuplicateInsert Name = "duplicate insert"
)

const realtime = "-realtime"

// Anomaly is one way in which a history is not strictly serializable.
type Anomaly struct {
	Name Name
	// IDs are the transactions involved, in the order of the cycle.
	IDs []string
	// Text is the counterexample, on several lines.
	Text string
}

// Report is what Check found.
type Report struct {
	// Anomalies is empty if the history is strictly serializable as far as Check
	// can tell: see the package comment. Of anomalies that are entangled with each
	// other only the gravest is reported.
	Anomalies []Anomaly
	// Transactions is how many took part: all but those without effect and those
	// of unknown outcome that nobody has seen.
	Transactions int
	// Undetermined is the number of keys for which the history leaves open how
	// writes, or reads of absence, were ordered. While it is 0 and there are no
	// anomalies, the history is strictly serializable.
	Undetermined int
}

// Err is nil if there are no anomalies; otherwise it describes them.
func (r *Report) Err() error {
	if len(r.Anomalies) == 0 {
		return nil
	}
	var b strings.Builder
	for i, a := range r.Anomalies {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s", a.Name, a.Text)
	}
	return errors.New(b.String())
}

// Check decides whether a history is strictly serializable. The transactions may be in
// any order. The error wraps ErrMalformed: the history cannot be judged.
func Check(h []Transaction, o Options) (*Report, error) {
	x, err := newIndex(h, o)
	if err != nil {
		return nil, fmt.Errorf("check history: %w", err)
	}
	x.observeAll()
	s := newSolver(x)
	order, rest := s.solve()
	report := &Report{}
	for _, r := range x.roles {
		if r == reader || r == member {
			report.Transactions++
		}
	}
	if len(rest) > 0 {
		x.found = append(x.found, s.cycles(rest)...)
	} else {
		s.reportBare()
		report.Undetermined = s.undetermined(order)
	}
	report.Anomalies = x.found[:min(len(x.found), o.limit())]
	return report, nil
}

// Package history records transactions of concurrent clients, as seen from outside
// the store, and decides whether they were strictly serializable: whether some serial
// order of them explains every read and respects real time. It knows nothing of the
// engine.
//
// Check builds a graph of what must have come before what, and looks for a cycle:
//
//   - write-read: who wrote a value comes before who read it. Written values are
//     unique, so the reader knows its writer.
//   - write-write: who wrote over a value comes after its writer. It is known when
//     the later transaction read the value (read-modify-write) or when values carry
//     their own past (list-append, Options.Elements).
//   - read-write: who read a value comes before who wrote over it.
//   - real time: who returned comes before who was invoked later.
//
// Where that leaves the order of two writes of a key open (blind writes, and reads of
// absence between deletes), Check infers what must hold in every serial order: a write
// known to precede a read precedes the write that was read, and so on, until nothing
// more follows. It never reports an anomaly that some serial order explains. What it may
// miss are anomalies that show only when one supposes an order of two writes and finds
// that neither fits: among concurrent blind writes, and above all among concurrent
// inserts and deletes of one key. Report.Undetermined counts the keys where that is
// possible; 0 makes the verdict exact. To get there, let writers and deleters read what
// they overwrite, or append, and let one transaction read all keys at the end.
package history

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrMalformed is wrapped by the errors about histories that cannot be judged: the
// harness recorded them wrongly, or wrote a value twice.
var ErrMalformed = errors.New("malformed history")

// Status tells how a transaction ended.
type Status string

const (
	// Committed transactions took effect at one instant between invocation and
	// return.
	Committed Status = "committed"
	// Failed transactions had no effect.
	Failed Status = "failed"
	// Unknown transactions may have taken effect at any time after their
	// invocation, or may never: in doubt, or their client crashed.
	Unknown Status = "unknown"
)

// Transaction is one recorded transaction.
type Transaction struct {
	// ID is unique in the history.
	ID string
	// Client says who ran it, for reports: "p1/c2".
	Client string
	// Invoked and Returned are instants of one clock, in any unit. For a View of
	// bounded staleness, Invoked may be set back by the bound. Returned has no
	// meaning where Status is Unknown.
	Invoked, Returned int64
	Status            Status
	// Validated says of a Failed transaction that its reads were validated
	// together, as those of a committed one are: the function returned an error
	// of its own. Reads of other failed transactions are not judged.
	Validated bool
	// Ops are what the transaction did, in order: of the run of its function that
	// ended it, not of those that were repeated.
	Ops []Op
}

// Kind is what an operation did.
type Kind string

const (
	// KindRead read a value, or absence.
	KindRead Kind = "read"
	// KindExists found that a key has a value, and not which: an insert that was
	// refused.
	KindExists Kind = "exists"
	// KindWrite wrote a value, whatever was there.
	KindWrite Kind = "write"
	// KindInsert wrote a value where none was: it reads absence as well.
	KindInsert Kind = "insert"
	// KindDelete removed the value, if there was one.
	KindDelete Kind = "delete"
	// KindScan read a range of keys.
	KindScan Kind = "scan"
)

// Op is one operation of a transaction. Make it with Read, Write and so on.
type Op struct {
	Kind Kind
	Key  string
	// Value is what was read or written.
	Value string
	// Absent says of a read that there was no value.
	Absent bool
	// Scan is what a KindScan covered and found.
	Scan *Scan
}

// Scan is a read of all keys from From (inclusive) to To (exclusive, "" = open): of
// the values in Items, and of the absence of every other key. A transaction that
// writes while it scans is recorded with one Scan for each piece between its writes.
type Scan struct {
	From, To string
	Reverse  bool
	// Limit is how many items were wanted, 0 = all. A scan that found so many says
	// nothing about keys beyond the last.
	Limit int
	// Stopped says that the caller left after the last of Items, with the same
	// meaning.
	Stopped bool
	// KeysOnly says that the values of Items are not known.
	KeysOnly bool
	Items    []Item
}

// Item is one key and value of a scan.
type Item struct{ Key, Value string }

// Read is a read that found a value.
func Read(key, value string) Op { return Op{Kind: KindRead, Key: key, Value: value} }

// ReadAbsent is a read that found no value.
func ReadAbsent(key string) Op { return Op{Kind: KindRead, Key: key, Absent: true} }

// Exists is an insert refused because the key had a value.
func Exists(key string) Op { return Op{Kind: KindExists, Key: key} }

// Write is a write of a value that is written to the key only once in the history.
func Write(key, value string) Op { return Op{Kind: KindWrite, Key: key, Value: value} }

// Insert is a write that required that the key had no value.
func Insert(key, value string) Op { return Op{Kind: KindInsert, Key: key, Value: value} }

// Delete is a removal.
func Delete(key string) Op { return Op{Kind: KindDelete, Key: key} }

// ScanOf is a read of a range.
func ScanOf(s Scan) Op { return Op{Kind: KindScan, Scan: &s} }

// String is op as it appears in reports: r(x)=1, r(x)=-, w(x)=2, i(x)=3, d(x),
// e(x), s[a,b)={x=1}.
func (op Op) String() string {
	switch op.Kind {
	case KindRead:
		if op.Absent {
			return "r(" + quote(op.Key) + ")=-"
		}
		return "r(" + quote(op.Key) + ")=" + quote(op.Value)
	case KindScan:
		return op.Scan.String()
	case KindExists, KindDelete:
		return string(op.Kind[0]) + "(" + quote(op.Key) + ")"
	}
	return string(op.Kind[0]) + "(" + quote(op.Key) + ")=" + quote(op.Value)
}

// String is s as it appears in reports.
func (s *Scan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "s[%s,%s)={", quote(s.From), quote(s.To))
	for i, item := range s.Items {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quote(item.Key))
		if !s.KeysOnly {
			b.WriteString("=" + quote(item.Value))
		}
	}
	b.WriteByte('}')
	return b.String()
}

// covered is the part of s in which all keys but those of its items are absent, from
// from (inclusive) to to (exclusive, "" = open).
func (s *Scan) covered() (from, to string) {
	full := s.Limit > 0 && len(s.Items) >= s.Limit
	if len(s.Items) == 0 || (!full && !s.Stopped) {
		return s.From, s.To
	}
	last := s.Items[len(s.Items)-1].Key
	if s.Reverse {
		return last, s.To
	}
	return s.From, last
}

// quote shortens long strings and quotes those that would confuse a report.
func quote(s string) string {
	const most = 40
	short := s
	if len(short) > most {
		short = short[:most/2] + "~" + short[len(short)-most/2:]
	}
	if q := strconv.Quote(short); len(q) != len(short)+2 || strings.ContainsAny(short, " ,=(){}") {
		return q
	}
	return short
}

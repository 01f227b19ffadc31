// Package outcome remembers what has become of attempts: a handle's transaction status cache, as
// CockroachDB's.
// What it has forgotten is asked for again.
package outcome

import (
	"slices"
	"strings"
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Limits of what a handle remembers. What is forgotten is asked for again.
const (
	// attemptsMax is how many attempts it remembers the end of.
	attemptsMax = 8192
	// listedMax is how many members of them all.
	listedMax = 64 << 10
)

// Memory remembers which attempts are final, and of the committed ones which
// members are known not to hold their intent any more, so that marks can go.
type Memory struct {
	clock Clock

	mu     seam.Mutex // guards all below
	byTx   map[txid.ID]*record
	order  []txid.ID // oldest first
	listed int       // lengths of the lists
}

// Clock tells how old is what is known.
type Clock interface {
	// Moment is now.
	Moment() store.Moment
	// Age is how long ago that was.
	Age(m store.Moment) time.Duration
}

// record is what is known of one attempt.
type record struct {
	outcome cell.Outcome
	// since is the logical time at which the outcome became known here. What was
	// read before proves nothing about the members of a committed attempt.
	since uint64
	// known is when a dead attempt was last found to be so. That does not hold for ever: a
	// write of it that comes very late may find absent again what it expects to be.
	known store.Moment
	// list names all members, if that is known; clear says of each whether it is
	// known not to hold the intent, and left counts the others.
	list  []cell.Member
	clear []bool
	left  int
	// cleared says that no member holds the intent.
	cleared bool
}

// New returns a Memory that knows nothing.
func New(c Clock) *Memory { return &Memory{clock: c, byTx: map[txid.ID]*record{}} }

// Of is Undecided for an attempt that is not known to be final.
func (k *Memory) Of(tx txid.ID) cell.Outcome {
	k.mu.Lock()
	defer k.mu.Unlock()
	if x := k.byTx[tx]; x != nil && !k.aged(x) {
		return x.outcome
	}
	return cell.Undecided
}

// aged reports whether an attempt was found dead too long ago to still count on it.
func (k *Memory) aged(x *record) bool {
	return x.outcome == cell.Dead && k.clock.Age(x.known) > store.AttemptMax
}

// Since is the logical time from which the attempt is known to be final, if it is.
func (k *Memory) Since(tx txid.ID) (uint64, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if x := k.byTx[tx]; x != nil && !k.aged(x) {
		return x.since, true
	}
	return 0, false
}

// Record records the outcome of an attempt. Contradictory outcomes are a broken
// protocol.
func (k *Memory) Record(tx txid.ID, o cell.Outcome, m cell.Members, now uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	x := k.byTx[tx]
	if x == nil {
		x = &record{outcome: o, since: now}
		k.remember(tx, x)
	}
	if x.outcome == cell.Dead && o == cell.Committed && k.aged(x) {
		x.outcome, x.since = o, now
	}
	if x.outcome != o {
		panic("outcome: attempt " + tx.String() + " both committed and dead")
	}
	if o == cell.Dead {
		x.known = k.clock.Moment()
	}
	k.learnList(x, m)
}

func (k *Memory) learnList(x *record, m cell.Members) {
	if x.cleared || x.list != nil || len(m.List) == 0 || !m.Whole() {
		return
	}
	x.list, x.left = m.List, len(m.List)
	k.listed += len(x.list)
	for k.listed > listedMax && len(k.order) > 1 {
		k.forgetOldest()
	}
}

func (k *Memory) remember(tx txid.ID, x *record) {
	if len(k.order) == attemptsMax {
		k.forgetOldest()
	}
	k.order = append(k.order, tx)
	k.byTx[tx] = x
}

func (k *Memory) forgetOldest() {
	tx := k.order[0]
	x := k.byTx[tx]
	k.order = k.order[1:]
	k.listed -= len(x.list)
	x.list, x.clear = nil, nil // the caller may still hold it
	delete(k.byTx, tx)
}

// Clear records that a member does not hold the committed attempt's intent.
func (k *Memory) Clear(tx txid.ID, name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if x := k.byTx[tx]; x != nil && x.outcome == cell.Committed {
		k.clearMember(x, name)
	}
}

// ClearAll records that no member holds the committed attempt's intent.
func (k *Memory) ClearAll(tx txid.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if x := k.byTx[tx]; x != nil && x.outcome == cell.Committed && !x.cleared {
		k.clearWhole(x)
	}
}

// clearWhole: the members do not matter any more.
func (k *Memory) clearWhole(x *record) {
	k.listed -= len(x.list)
	x.cleared, x.list, x.clear = true, nil, nil
}

func (k *Memory) clearMember(x *record, name string) {
	if x.cleared {
		return
	}
	if len(x.clear) < len(x.list) { // the list may have become known since
		x.clear = make([]bool, len(x.list))
	}
	i := position(x.list, name)
	if i < 0 || x.clear[i] {
		return
	}
	x.clear[i] = true
	if x.left--; x.left == 0 {
		k.clearWhole(x)
	}
}

// position finds a member by its name, in a list in name order behind the primary.
func position(list []cell.Member, name string) int {
	if len(list) == 0 {
		return -1
	}
	if list[0].Name == name {
		return 0
	}
	i, ok := slices.BinarySearchFunc(list[1:], name, func(m cell.Member, name string) int {
		return strings.Compare(m.Name, name)
	})
	if !ok {
		return -1
	}
	return i + 1
}

// Peek returns what the handle remembers of a cell.
type Peek func(name string) (store.Snapshot, bool)

// Cleared reports whether no member of the committed attempt, but perhaps one,
// holds its intent: the rule for dropping a mark. Beside what it was told, it goes
// by cells that were read after the attempt was known to have committed.
func (k *Memory) Cleared(tx txid.ID, m cell.Members, but string, look Peek) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	x := k.byTx[tx]
	if x == nil || x.outcome != cell.Committed {
		return false
	}
	k.learnList(x, m)
	if x.list == nil {
		return x.cleared || k.primaryClears(x, tx, m.Primary(), but, look)
	}
	for i, y := range x.list {
		if x.cleared {
			return true
		}
		if y.Name == but || len(x.clear) > 0 && x.clear[i] {
			continue
		}
		s, ok := look(y.Name)
		if !ok || s.Proved <= x.since || !off(s, tx, y) {
			return false
		}
		k.seen(x, tx, s, m.Long && i > 0)
	}
	return true
}

// primaryClears: with a long list that nobody here knows, only the primary tells.
func (k *Memory) primaryClears(
	x *record, tx txid.ID, p cell.Member, but string, look Peek,
) bool {
	if p.Name == but {
		return false
	}
	if s, ok := look(p.Name); ok && s.Proved > x.since && off(s, tx, p) {
		k.seen(x, tx, s, false)
	}
	return x.cleared
}

// seen learns from a member that is off, read after the attempt was known to have
// committed: if it is also without the mark, somebody else knew that no member
// holds the intent (with a long list, of the primary alone).
func (k *Memory) seen(x *record, tx txid.ID, s store.Snapshot, longSecondary bool) {
	k.clearMember(x, s.Name)
	if _, marked := s.Cell.Mark(tx); !marked && !longSecondary && !x.cleared {
		k.clearWhole(x)
	}
}

// off: neither at its expected version nor holding the attempt's intent. Nothing
// is concluded from a condemned tombstone.
func off(s store.Snapshot, tx txid.ID, m cell.Member) bool {
	return string(s.Version) != m.Expected && !s.Cell.Holds(tx) && !s.Cell.Condemned
}

package resolve

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
	// fatesMax is how many attempts it remembers the end of.
	fatesMax = 8192
	// listedMax is how many members of them all.
	listedMax = 64 << 10
)

// fates remembers which attempts are final, and of the committed ones which
// members are known not to hold their intent any more, so that marks can go.
type fates struct {
	clock clock

	mu     seam.Mutex // guards all below
	byTx   map[txid.ID]*fate
	order  []txid.ID // oldest first
	listed int       // lengths of the lists
}

// clock tells how old is what is known.
type clock interface {
	Moment() store.Moment
	Age(m store.Moment) time.Duration
}

type fate struct {
	outcome cell.Outcome
	// since is the logical time at which the outcome became known here. What was
	// read before proves nothing about the members of a committed attempt.
	since uint64
	// known is when a dead attempt was last found to be so. That does not hold for ever: a
	// write of it that comes very late may find absent again what it expects to be.
	known store.Moment
	// list names all members, if that is known; clear tells of each whether it is
	// known not to hold the intent, and left counts the others.
	list  []cell.Member
	clear []bool
	left  int
	// cleared says that no member holds the intent.
	cleared bool
}

func newFates(c clock) *fates { return &fates{clock: c, byTx: map[txid.ID]*fate{}} }

// outcome is Undecided for an attempt that is not known to be final.
func (f *fates) outcome(tx txid.ID) cell.Outcome {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.byTx[tx]; x != nil && !f.aged(x) {
		return x.outcome
	}
	return cell.Undecided
}

// aged tells whether an attempt was found dead too long ago to still count on it.
func (f *fates) aged(x *fate) bool {
	return x.outcome == cell.Dead && f.clock.Age(x.known) > store.AttemptMax
}

// since is the logical time from which the attempt is known to be final, if it is.
func (f *fates) since(tx txid.ID) (uint64, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.byTx[tx]; x != nil && !f.aged(x) {
		return x.since, true
	}
	return 0, false
}

// settle records the outcome of an attempt. Contradictory outcomes are a broken
// protocol.
func (f *fates) settle(tx txid.ID, o cell.Outcome, m cell.Members, now uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.byTx[tx]
	if x == nil {
		x = &fate{outcome: o, since: now}
		f.remember(tx, x)
	}
	if x.outcome == cell.Dead && o == cell.Committed && f.aged(x) {
		x.outcome, x.since = o, now
	}
	if x.outcome != o {
		panic("resolve: attempt " + tx.String() + " both committed and dead")
	}
	if o == cell.Dead {
		x.known = f.clock.Moment()
	}
	f.learnList(x, m)
}

func (f *fates) learnList(x *fate, m cell.Members) {
	if x.cleared || x.list != nil || len(m.List) == 0 || !m.Whole() {
		return
	}
	x.list, x.left = m.List, len(m.List)
	f.listed += len(x.list)
	for f.listed > listedMax && len(f.order) > 1 {
		f.forgetOldest()
	}
}

func (f *fates) remember(tx txid.ID, x *fate) {
	if len(f.order) == fatesMax {
		f.forgetOldest()
	}
	f.order = append(f.order, tx)
	f.byTx[tx] = x
}

func (f *fates) forgetOldest() {
	tx := f.order[0]
	x := f.byTx[tx]
	f.order = f.order[1:]
	f.listed -= len(x.list)
	x.list, x.clear = nil, nil // the caller may still hold it
	delete(f.byTx, tx)
}

// clear records that a member does not hold the committed attempt's intent.
func (f *fates) clear(tx txid.ID, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.byTx[tx]; x != nil && x.outcome == cell.Committed {
		f.clearMember(x, name)
	}
}

// clearAll records that no member holds the committed attempt's intent.
func (f *fates) clearAll(tx txid.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.byTx[tx]; x != nil && x.outcome == cell.Committed && !x.cleared {
		f.clearWhole(x)
	}
}

// clearWhole: the members do not matter any more.
func (f *fates) clearWhole(x *fate) {
	f.listed -= len(x.list)
	x.cleared, x.list, x.clear = true, nil, nil
}

func (f *fates) clearMember(x *fate, name string) {
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
		f.clearWhole(x)
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

// peek returns what the handle remembers of a cell.
type peek func(name string) (store.Snapshot, bool)

// isCleared tells whether no member of the committed attempt, but perhaps one,
// holds its intent: the rule for dropping a mark. Beside what it was told, it goes
// by cells that were read after the attempt was known to have committed.
func (f *fates) isCleared(tx txid.ID, m cell.Members, but string, look peek) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.byTx[tx]
	if x == nil || x.outcome != cell.Committed {
		return false
	}
	f.learnList(x, m)
	if x.list == nil {
		return x.cleared || f.primaryClears(x, tx, m.Primary(), but, look)
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
		f.seen(x, tx, s, m.Long && i > 0)
	}
	return true
}

// primaryClears: with a long list that nobody here knows, only the primary tells.
func (f *fates) primaryClears(
	x *fate, tx txid.ID, p cell.Member, but string, look peek,
) bool {
	if p.Name == but {
		return false
	}
	if s, ok := look(p.Name); ok && s.Proved > x.since && off(s, tx, p) {
		f.seen(x, tx, s, false)
	}
	return x.cleared
}

// seen learns from a member that is off, read after the attempt was known to have
// committed: if it is also without the mark, somebody else knew that no member
// holds the intent (with a long list, of the primary alone).
func (f *fates) seen(x *fate, tx txid.ID, s store.Snapshot, longSecondary bool) {
	f.clearMember(x, s.Name)
	if _, marked := s.Cell.Mark(tx); !marked && !longSecondary && !x.cleared {
		f.clearWhole(x)
	}
}

// off: neither at its expected version nor holding the attempt's intent. Nothing
// is concluded from a condemned tombstone.
func off(s store.Snapshot, tx txid.ID, m cell.Member) bool {
	return string(s.Version) != m.Expected && !s.Cell.Holds(tx) && !s.Cell.Condemned
}

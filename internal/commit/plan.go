package commit

import (
	"context"
	"slices"
	"strings"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/scan"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// plan is what one attempt would write, and on what.
type plan struct {
	// members are the keys of the write set, in name order.
	members []*member
	// others are the keys read, but not written.
	others []*entry
	// spans are the ranges that were scanned.
	spans []*scan.Span
	// stale says that something read has changed: the function must run again.
	stale bool
	// othersNow are the others as they were read after a write had been refused.
	othersNow []resolve.Reading
}

// member is one cell of an attempt.
type member struct {
	e      *entry
	action cell.Action
	value  cell.Value
	// base is what the write replaces. Its intent, if any, is final.
	base resolve.Reading
	// writer is the effective writer at base.
	writer txid.ID
	// fold is what the write does to what it finds in base.
	fold cell.Fold

	// old says that the cell must be read again before the function uses it.
	old bool
	// given says that the function has run on the value that was locked.
	given bool

	write  *store.Write
	result store.Result
	err    error
	// refused is the cell as it was read after it had refused the write, or perhaps.
	refused store.Snapshot
	// landed is the cell with the attempt's intent, once that is known to be there.
	landed store.Snapshot
}

// newPlan finds out what the write set's cells are now: final in every case, since a
// writer never replaces an undecided intent.
func (t *txn) newPlan(tx *Tx) (*plan, error) {
	p := &plan{members: make([]*member, 0, len(tx.entries)), spans: tx.spans}
	slab := make([]member, len(tx.entries))
	for i, e := range tx.entries {
		switch {
		case e.op != opNone:
			slab[i] = newMember(e)
			p.members = append(p.members, &slab[i])
		case e.read:
			p.others = append(p.others, e)
		}
	}
	if n := len(p.members); n > cell.MembersMax {
		return nil, &SizeError{What: "number of keys written", Size: n, Limit: cell.MembersMax}
	}
	slices.SortFunc(p.members, func(a, b *member) int {
		return strings.Compare(a.e.name, b.e.name)
	})
	if err := t.settle(p.members); err != nil {
		return nil, err
	}
	if err := t.lookAgain(p.members); err != nil {
		return nil, err
	}
	for _, m := range p.members {
		_, m.writer = m.base.Effective()
		if m.e.outdated(m.base) {
			p.stale = true
		}
	}
	if p.stale {
		t.startStale(p)
	}
	return p, nil
}

func newMember(e *entry) member {
	m := member{e: e}
	switch e.op {
	case opPut:
		m.action, m.value = cell.Put, e.staged()
	case opDelete:
		m.action = cell.Delete
	default:
		m.action = cell.Lock
	}
	return m
}

// newLock is a member that is to be locked, and has not been.
func newLock(e *entry) *member {
	return &member{e: e, action: cell.Lock, result: store.NotApplied}
}

// settle finds the members' bases, without requests where nothing is undecided.
func (t *txn) settle(members []*member) error {
	var undecided []*member
	for _, m := range members {
		tx, err := t.e.rs.Claim(t.ctx, m.e.name)
		if !tx.IsZero() { // also if it failed: it is queued again when the transaction ends
			t.claimed = append(t.claimed, leftover{name: m.e.name, tx: tx})
		}
		if err != nil {
			return err
		}
		if m.base = t.latest(m.e); !m.base.Final() {
			undecided = append(undecided, m)
		}
	}
	if len(undecided) == 0 {
		return nil
	}
	return t.settleAll(undecided)
}

func (t *txn) settleAll(members []*member) error {
	return seam.Each(t.e.rt, len(members), func(i int) (err error) {
		m := members[i]
		m.base, err = t.e.rs.Settle(t.ctx, m.base.Snapshot, t.writer())
		return err
	})
}

// echoAge is how old a base may be, in latencies of a write, where a refusal may be an echo.
// It then proves the attempt dead only if the cell remembers all its writers since the base,
// of which it remembers cell.RecentMax: so many are not written in that time, that of the
// write itself and that of the look at what refused it.
const echoAge = 2

// lookAgain reads bases that are too old for a refusal to tell anything, where somebody on
// the way to the store may send a write twice: those that the transaction has not read itself,
// what is taken to be absent unread included, and those that it has read long ago.
func (t *txn) lookAgain(members []*member) error {
	st := t.e.st
	if st.SendsOnce() {
		return nil
	}
	since := t.e.rt.Now().Add(-echoAge * st.PutLatency())
	old := slices.DeleteFunc(slices.Clone(members), func(m *member) bool {
		return m.base.Proved > t.begun && m.base.Until.After(since)
	})
	if len(old) == 0 {
		return nil
	}
	return seam.Each(t.e.rt, len(old), func(i int) (err error) {
		old[i].base, err = t.e.rs.Effective(t.ctx, old[i].e.name, t.writer())
		return err
	})
}

// writer is the transaction's part where it wants to write a cell.
func (t *txn) writer() resolve.Role {
	return resolve.Role{Writer: true, Ranked: true, Priority: t.priority}
}

// latest is the newest that is known of a cell without a request. A key that is to be
// inserted, and of which nothing is known, is taken to be absent.
func (t *txn) latest(e *entry) resolve.Reading {
	s, ok := t.e.st.Cached(e.name)
	switch {
	case ok && (!e.known || s.Proved > e.base.Proved):
		return t.e.rs.Known(s)
	case e.known:
		return t.e.rs.Known(e.base.Snapshot)
	}
	return resolve.Reading{Snapshot: store.NoObject(e.name)}
}

// learn takes over what was read of a cell that has refused a write.
func (t *txn) learn(m *member) {
	if m.refused.Cell != nil {
		m.e.known, m.e.base = true, t.e.rs.Known(m.refused)
	}
}

// startStale makes the members' bases the start of the function's next run.
func (t *txn) startStale(p *plan) {
	others := make([]resolve.Reading, len(p.others))
	for i, e := range p.others {
		others[i] = e.base
	}
	for _, m := range p.members {
		m.e.known, m.e.base = true, m.base
	}
	t.startFrom(p, others)
}

// needless tells whether the plan only deletes what is absent already: then the
// transaction need not write, but has read that.
func (p *plan) needless() bool {
	for _, m := range p.members {
		if m.action == cell.Put || m.action == cell.Delete && !m.base.Absent() {
			return false
		}
	}
	for _, m := range p.members {
		if !m.e.read {
			m.e.setRead(m.base)
		}
	}
	return true
}

// mode is the protocol's: 0 stands for a direct commit.
func (p *plan) mode() cell.Mode {
	switch {
	case len(p.others) > 0 || len(p.spans) > 0:
		return cell.Pending
	case len(p.members) > 1:
		return cell.Staged
	}
	return 0
}

// relieve decides what the members' writes fold. It makes room for marks where that is
// needed, and tells whether it had to: then the cells may have changed.
func (t *txn) relieve(p *plan) (relieved bool, err error) {
	for i, m := range p.members {
		extra := 0
		if i == 0 && p.mode() == cell.Pending && len(p.members) > 1 {
			extra = 1
		}
		made, err := t.makeRoom(t.ctx, m, extra)
		if relieved = relieved || made; err != nil {
			return true, err
		}
	}
	return relieved, nil
}

// makeRoom decides what one member's write folds, and makes room for its marks and extra ones
// more.
func (t *txn) makeRoom(ctx context.Context, m *member, extra int) (made bool, err error) {
	m.fold = t.e.rs.FoldOf(m.base)
	if cell.MarksAfter(m.base.Cell, m.fold)+extra <= cell.MarksMax {
		return false, nil
	}
	return true, t.e.rs.Relieve(ctx, m.base, extra)
}

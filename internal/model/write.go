package model

import (
	"math/bits"
	"slices"
)

// bump is called by every write of cell c: its version changes.
func (m *model) bump(s *state, c uint8) {
	st := func(r *ref) {
		if *r == current {
			*r = stale
		}
	}
	for i := range s.Att {
		a := &s.Att[i]
		st(&a.Exp[c])
		if a.Used != 0 {
			a.Old |= bit(c)
		}
	}
	for i := range s.Cl {
		cl := &s.Cl[i]
		gone := cl.PC == pcCrashed
		st(&cl.V[c])
		if cl.V[c] == absent {
			cl.Old |= bit(c)
		}
		if cl.ST != 0 && m.primary(s, cl.ST) == c {
			st(&cl.SPV)
		}
		for j := range cl.Op {
			if op := &cl.Op[j]; op.Cell == c {
				st(&op.Exp)
				if gone && op.Exp == stale && !m.blind(op) {
					*op = write{} // nobody waits for it, and it will be refused
				}
			}
		}
	}
	for j := range s.Late {
		if op := &s.Late[j]; op.Cell == c {
			st(&op.Exp)
			if op.Exp == stale && !m.blind(op) {
				*op = write{}
			}
		}
	}
	s.packLate()
}

func (s *state) packLate() {
	if s.Late[0].St == opNone {
		s.Late[0], s.Late[1] = s.Late[1], write{}
	}
}

func (c *cell) push(a uint8, capacity int) {
	copy(c.Recent[1:capacity], c.Recent[:capacity-1])
	c.Recent[0] = a
}

// names reports whether the cell names the attempt as one that was committed there.
func (c *cell) names(a uint8) bool {
	return c.Writer == a || slices.Contains(c.Recent[:], a)
}

// tells (Unknown outcomes): the cell's recent attempts reach back to the writer that the attempt
// saw there, or the ring was never full; a lock does not enter them.
func (m *model) tells(s *state, a, c uint8) bool {
	if m.action(s, a, c) == actLock && !m.mut.lockTells {
		return false
	}
	for _, r := range s.Cell[c].Recent[:m.cfg.ring()] {
		if r == s.att(a).ExpW[c] || r == 0 {
			return true
		}
	}
	return false
}

// commitTo makes the part of attempt a in the cell its committed value. A lock leaves value and
// writer as they are, and does not enter the ring.
func (c *cell) commitTo(a, act uint8, capacity int) {
	switch act {
	case actPut:
		c.Present, c.Writer = 1, a
	case actDelete:
		c.Present, c.Writer = 0, a
	}
	if act != actLock {
		c.push(a, capacity)
	}
	c.Tx, c.Act = 0, 0
}

// apply lands a write. It reports whether the write was accepted.
func (m *model) apply(s *state, op *write) bool {
	c := op.Cell
	cell := &s.Cell[c]
	if !s.at(c, op.Exp) && !m.blind(op) {
		return false
	}
	cell.Condemned = 0 // any write of the cell lifts the condemnation
	switch op.Kind {
	case kFence, kDrop, kBeat, kUpdate:
	default:
		m.carryMarks(cell, op.Drop)
	}
	switch op.Kind {
	case kIntent:
		m.replace(s, op)
		m.place(s, op)
	case kDirect:
		m.replace(s, op)
		m.commitValue(s, op)
	case kCommit:
		if cell.Tx != op.Att && !m.mut.commitBlind {
			m.fail("commit of %s on a primary without its intent", m.aname(op.Att))
		}
		m.commitValue(s, op)
		if op.Fold&foldNoMark == 0 {
			cell.Marks |= abit(op.Att)
		}
	case kFold:
		m.replace(s, op)
	case kDrop:
		cell.Tx, cell.Act = 0, 0
	case kBeat:
		if m.blind(op) {
			cell.Tx, cell.Act = op.Att, actLock
		}
	case kUpdate:
		cell.Act = m.action(s, op.Att, c)
	}
	cell.Exists, cell.At = 1, s.Now
	m.bump(s, c)
	if n := bits.OnesCount8(cell.Marks); n > m.cfg.marks() {
		m.fail("%s has %d marks", m.cname(c), n)
	}
	return true
}

// blind is a mutation's: the write does not look at the version.
func (m *model) blind(op *write) bool {
	return m.mut.commitBlind && op.Kind == kCommit || m.mut.beatBlind && op.Kind == kBeat
}

// carryMarks (Folding and marks): a mark stays until a write by a client that knows that no
// member holds the intent of its attempt.
func (m *model) carryMarks(cell *cell, drop uint8) {
	if m.mut.dropMarks {
		drop = 0xff
	}
	if cell.Marks&drop != 0 {
		m.see(covDropped)
	}
	cell.Marks &^= drop
}

// replace (Folding and marks): the write resolves the final intent in the cell.
func (m *model) replace(s *state, op *write) {
	c := op.Cell
	cell := &s.Cell[c]
	t := cell.Tx
	switch {
	case t == 0:
	case op.Fold&foldCommitted != 0:
		if s.att(t).Truth&truthCommitted == 0 {
			m.fail("%s is folded as committed into %s, but has not committed",
				m.aname(t), m.cname(c))
		}
		s.att(t).Folded |= bit(c)
		cell.commitTo(t, cell.Act, m.cfg.ring())
		bare := m.mut.foldNoMark || m.mut.bareSecondary && !m.txnOf(s, t).staged()
		if op.Fold&foldNoMark == 0 && !bare {
			cell.Marks |= abit(t)
		}
	default:
		own := m.mut.reuseID && t == op.Att
		if op.Fold&foldDead == 0 && !m.mut.commitBlind && !own {
			m.fail("the intent of %s in %s is replaced without a verdict", m.aname(t), m.cname(c))
		}
		if m.cfg.Leaps > 0 && s.att(t).Truth&truthCommitted == 0 {
			s.att(t).Landed &^= bit(c) // the others may land again where there was nothing
		}
		cell.Tx, cell.Act = 0, 0
	}
}

// place puts an intent into the cell. A staged attempt commits at the instant its last one lands.
func (m *model) place(s *state, op *write) {
	c, a, t := op.Cell, s.att(op.Att), m.txnOf(s, op.Att)
	cell := &s.Cell[c]
	cell.Tx, cell.Act = op.Att, t.action(c)
	if t.LockFirst {
		cell.Act = actLock
	}
	a.Landed |= bit(c)
	if t.staged() && a.Landed == t.members() {
		m.commits(s, op.Att)
	}
}

// commitValue is a commit point: the attempt's value becomes the committed one.
func (m *model) commitValue(s *state, op *write) {
	c := op.Cell
	s.att(op.Att).Folded |= bit(c)
	s.Cell[c].commitTo(op.Att, m.action(s, op.Att, c), m.cfg.ring())
	m.commits(s, op.Att)
}

// toLate: the write stays on its way, its client no longer waits for it.
func (m *model) toLate(n *state, op write) bool {
	if op.Exp == stale && !m.blind(&op) {
		return true // can never be accepted
	}
	for j := range n.Late {
		if n.Late[j].St == opNone {
			n.Late[j] = op
			return true
		}
	}
	return false
}

// landing: a write in flight is applied or refused; or its answer is lost, and it has been
// applied, or will be late, or never; or it has been delivered twice, and the answer is that to the
// second one.
func (m *model) landing(s *state, i, j int) {
	name := m.cl(i)
	op0 := &s.Cl[i].Op[j]
	if s.Cl[i].PC == pcCrashed {
		m.do(s, -1, func(n *state) {
			m.apply(n, &n.Cl[i].Op[j])
			n.Cl[i].Op[j] = write{}
		}, "%s, crashed: %s arrives", name, m.opName(op0))
		return
	}
	lands := s.at(op0.Cell, op0.Exp)
	what := "is refused"
	if lands {
		what = "lands"
	}
	m.do(s, i, func(n *state) {
		x := &n.Cl[i]
		op := &x.Op[j]
		had := s.at(op.Cell, x.V[op.Cell]) // in its cache at this very version
		m.hear(n, i)
		if op.St = opRefused; m.apply(n, op) {
			op.St = opOK
			m.accepted(n, i, op, had)
			m.landedAt(n, i, op, n.Now)
		}
	}, "%s: %s %s", name, m.opName(op0), what)
	// ends is a step that applies the write or not, and leaves the client with an answer.
	ends := func(what string, answer uint8, land func(n *state, op *write)) {
		m.do(s, i, func(n *state) {
			op := &n.Cl[i].Op[j]
			land(n, op)
			op.St = answer
		}, "%s: %s %s", name, m.opName(op0), what)
	}
	if s.Lost > 0 && lands {
		ends("lands, its answer is lost", opUnknown, func(n *state, op *write) {
			n.Lost--
			m.apply(n, op)
		})
	}
	if s.Lost > 0 {
		ends("is not answered; it may land late", opUnknown, func(n *state, op *write) {
			n.Lost--
			m.toLate(n, *op)
		})
	}
	if s.Duplicate > 0 && lands {
		ends("lands, and its duplicate is refused", opRefused, func(n *state, op *write) {
			n.Duplicate--
			m.apply(n, op)
		})
	}
}

// accepted: what a client knows after its write was accepted.
func (m *model) accepted(n *state, i int, op *write, had bool) {
	x := &n.Cl[i]
	c := op.Cell
	cell := &n.Cell[c]
	if t := x.I[c]; op.Fold&foldCommitted != 0 && t != 0 {
		x.Clear[t-1] |= bit(c)
	}
	if op.Kind == kCommit {
		x.Clear[op.Att-1] |= bit(c)
	}
	if (op.Kind == kFence || op.Kind == kDrop) && !had {
		return // it knows the new version, but does not use the cell
	}
	x.V[c], x.I[c], x.A[c], x.W[c] = current, cell.Tx, cell.Act, cell.Writer
	if op.Kind == kBeat {
		*op = write{}
	}
}

package model

// Values of memory.Fail in the phases after a wave.
const (
	fDead uint8 = 1 << iota
	fCommitted
	fFate
	fAtExpected
	fLate
)

// What a read of a doubtful cell tells.
const (
	nothingToSend uint8 = iota
	resendOrFence
	mustFence
)

// reread (Unknown outcomes): a client whose write ended unknown reads the cell; so it does after a
// refusal that proves nothing. It returns whether the client has to fence its attempt, or may
// choose between that and sending the same bytes again.
func (m *model) reread(s *state, i int, c uint8) uint8 {
	cl, cell := &s.Cl[i], &s.Cell[c]
	a, t := cl.Att, m.txn(s, i)
	op := &cl.Op[c]
	m.snapshot(s, i, c)
	cl.Todo &^= bit(c)
	switch {
	case m.expired(s, i) && m.lateReread(s, i, c):
	case cell.Tx == a && op.Kind == kDrop:
		return mustFence
	case cell.Tx == a && op.Kind == kCommit: // it is sent again, at its present version
		if op.St == opUnknown {
			cl.Rs |= bit(c)
		}
		op.Exp, op.St = cl.V[c], opFlying
		if cl.Quit != 0 {
			return mustFence
		}
	case cell.Tx == a: // the write landed
		op.Kind, op.St = kIntent, opOK
		m.landedAt(s, i, op, s.att(a).Born)
		m.landedAt(s, i, op, s.Now)
		if cl.Fail&fFate != 0 { // and another member was seen off before
			m.conclude(cl, fDead)
			m.see(covReadAfter)
		}
	case cell.names(a) || cell.Marks&abit(a) != 0:
		m.conclude(cl, fCommitted)
		m.see(covDuplicate)
	case op.Kind != kCommit && op.Kind != kDrop && m.atExpected(s, a, c):
		switch {
		case cl.Fail&fFate != 0 && m.mut.expectedTells:
			m.conclude(cl, fDead)
			m.see(covReadAfter)
		case m.mut.fateEarly:
			cl.Fail |= fAtExpected
		case cl.Quit != 0, m.mustBury(s, i, c):
			return mustFence
		default: // the same bytes are sent again
			return resendOrFence
		}
	case t.Esc && op.Kind == kIntent && c != t.primary():
		cl.Fail |= fAtExpected // tried again, the others are kept
	case m.mut.insertGoesOn && op.St == opRefused && cell.Tx == 0 && cell.Present == 0:
		*op = m.newOp(s, i, op.Kind, c, a)
	case m.unsent(t, op, cl.Rest):
		m.conclude(cl, fDead)
	case m.condemned(s, c) && !m.mut.noOwnLift:
		m.lift(s, i, c)
	case m.tells(s, a, c), op.St == opRefused && m.mut.duplicateOff,
		op.Kind == kCommit && m.neverLands(op, cl.Rs&bit(c) != 0):
		m.conclude(cl, fDead)
	default:
		cl.Fail |= fFate
	}
	if op.St > opFlying && cl.SPC != stLift {
		cl.Done |= bit(c)
	}
	return nothingToSend
}

// mustBury: of a write of an attempt that commits by landing, where nothing is expected, another
// copy is never sent. What the first has written may have been deleted and swept meanwhile.
func (m *model) mustBury(s *state, i int, c uint8) bool {
	t := m.txn(s, i)
	return s.Cell[c].Exists == 0 && (t.direct() || t.staged()) && !m.mut.resendAbsent
}

// neverLands reports whether a commit write that was not seen to land never will.
func (m *model) neverLands(op *write, again bool) bool {
	once := m.cfg.sendsOnce() || m.mut.duplicateCommit
	return op.St == opRefused && !again && once || m.mut.commitLost
}

// unsent: of a pending attempt the commit write was never sent, or of a staged one some intent
// (Hot keys): then it is dead.
func (m *model) unsent(t *txn, op *write, rest uint8) bool {
	if t.staged() {
		return rest != 0 && !m.mut.hotDoubt
	}
	return !t.direct() && (op.Kind == kIntent || op.Kind == kFence)
}

// conclude ends the reading: the outcome is known.
func (m *model) conclude(cl *memory, how uint8) {
	cl.Fail |= how
	cl.Todo = 0
}

// fateRead: the owner asks for the status itself, of all members. One of them has been seen off
// before, by reread. So does the owner of a commit write that is unknown, if the primary is off.
func (m *model) fateRead(s *state, i int, c uint8) {
	cl, cell := &s.Cl[i], &s.Cell[c]
	a := cl.Att
	m.snapshot(s, i, c)
	cl.Todo &^= bit(c)
	switch {
	case cell.names(a) || cell.Marks&abit(a) != 0:
		m.conclude(cl, fCommitted)
	case cell.Tx == a: // read after one that is off
		m.see(covReadAfter)
		m.conclude(cl, fDead)
	case m.condemned(s, c) && !m.mut.noOwnLift:
		m.lift(s, i, c)
	case m.off(s, a, c) && m.tells(s, a, c):
		m.conclude(cl, fDead)
	}
}

// canTell is the ghost side of ErrInDoubt: could the fate still be read? (With
// an omniscient reader: no member that was read before can tell any more.)
func (m *model) canTell(s *state, a uint8) bool {
	for c := range uint8(maxCells) {
		cell := &s.Cell[c]
		if m.members(s, a)&bit(c) == 0 {
			continue
		}
		if m.atExpected(s, a, c) || cell.Tx == a || cell.Marks&abit(a) != 0 || cell.names(a) ||
			m.tells(s, a, c) {
			return true
		}
	}
	return false
}

// ownFence: a caller that leaves makes impossible what may be on its way, as anyone else would. A
// refused fence leaves the write unknown.
func (m *model) ownFence(n *state, i int, c uint8) {
	x := &n.Cl[i]
	kind := kFence
	if k := x.Op[c].Kind; k == kCommit || k == kDrop {
		kind = kDrop
	}
	x.Op[c] = write{St: opFlying, Kind: kind, Cell: c, Exp: x.V[c], Att: x.Att}
	x.Rs |= bit(c) // its refusal says nothing about the write before it
}

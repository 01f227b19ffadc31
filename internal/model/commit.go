package model

// toSettle (Conflicts): a writer never replaces an undecided intent.
func (m *model) toSettle(s *state, i int) {
	cl := &s.Cl[i]
	w := m.toWrite(s, i)
	cl.PC = pcSettle
	for c := range uint8(maxCells) {
		if w&bit(c) != 0 && cl.I[c] != 0 && !m.known(cl, cl.I[c]) {
			cl.Need |= bit(c)
		}
	}
}

// settled: every cell to be written is free. What follows is the next phase.
func (m *model) settled(s *state, i int) {
	t := m.txn(s, i)
	w := m.toWrite(s, i)
	if m.toSettle(s, i); s.Cl[i].Need != 0 { // what was known is not believed any more
		return
	}
	for c := range uint8(maxCells) {
		if w&bit(c) != 0 && (m.hasChanged(s, i, c) || m.mustRelieve(s, i, c)) {
			return
		}
	}
	if m.mut.validateEarly && !t.staged() && !t.direct() && !t.Esc {
		m.validate(s, i, pcValidate, t.onlyRead())
		return
	}
	switch {
	case t.Grounded && m.mustGround(s, i):
		m.ground(s, i)
	case m.mustUpload(s, i):
		s.Cl[i].PC = pcUpload
	case m.mustGround(s, i):
		m.ground(s, i)
	default:
		m.send(s, i)
	}
}

// toWrite is what the next wave writes.
func (m *model) toWrite(s *state, i int) uint8 {
	if t := m.txn(s, i); t.Esc {
		return t.next(s.Cl[i].Rest)
	}
	return m.txn(s, i).members()
}

// hasChanged reports whether a cell to be written is not what the function saw; the next phase is
// then chosen. A CAS at the version read stands for the value read only if no intent was
// undecided then.
func (m *model) hasChanged(s *state, i int, c uint8) bool {
	cl := &s.Cl[i]
	t := m.txn(s, i)
	e := m.effective(cl, c)
	switch {
	case t.Acc[c] == acInsert && !m.isAbsent(s, c, e):
		// Insert returns ErrExists, a read that is validated like any other.
		for k := range cl.Seen {
			cl.Seen[k] = unseen
		}
		cl.Seen[c] = e
		m.validate(s, i, pcROVal, bit(c))
		return true
	case t.Acc[c] == acInsert:
		cl.Seen[c] = absentValue
	case t.Esc:
		if t.reads()&bit(c) != 0 && !(m.mut.lockOldValues && cl.Seen[c] != unseen) {
			cl.Seen[c] = e
		}
	case cl.Seen[c] != unseen && cl.Seen[c] != e && !m.mut.casByVersion:
		m.see(covEffective)
		m.begin(s, i, false)
		return true
	}
	return false
}

// mustRelieve reports whether a cell to be written is full of marks. It is then relieved of one;
// if there is none, of the need for the mark of the intent that is to be folded.
func (m *model) mustRelieve(s *state, i int, c uint8) bool {
	cl := &s.Cl[i]
	t := m.txn(s, i)
	extra := 0
	if !t.staged() && !t.direct() && c == t.primary() && t.members() != bit(c) {
		extra = 1
	}
	if !m.full(s, i, c, extra) {
		return false
	}
	cl.PC, cl.RC, cl.RU = pcRelief, c, cl.I[c]
	if _, drop := m.foldOf(s, i, c); s.Cell[c].Marks&^drop != 0 {
		cl.RU = low(s.Cell[c].Marks&^drop) + 1
	}
	m.reliefTodo(s, i)
	return true
}

// send makes a new attempt, with an id of its own. Its writes fold what is final in their cells,
// earlier attempts of the transaction among that.
func (m *model) send(s *state, i int) {
	cl := &s.Cl[i]
	t := m.txn(s, i)
	cl.PC = pcWave
	w := m.toWrite(s, i)
	if !t.Esc || w == bit(t.primary()) {
		if m.mut.reuseID && cl.Att != 0 {
			cl.KD &^= abit(cl.Att)
		} else {
			cl.Att = m.first[i] + cl.NAtt
			cl.NAtt++
		}
		cl.Fail, cl.Rs, cl.Done = 0, 0, 0
	}
	a := s.att(cl.Att)
	if a.Used == 0 {
		a.Born, cl.First, cl.Last = cl.Told, 0, 0
		a.Val = cl.Val
	}
	a.Used, a.Txn = 1, m.txnIndex(s, i)
	cl.Lists |= abit(cl.Att)
	kind := kIntent
	if t.direct() {
		kind = kDirect
	}
	if !t.Esc {
		cl.clearOps()
		cl.Rest = 0
		if t.Hot != 0 {
			cl.Rest = w &^ bit(t.Hot-1)
		}
	}
	for c := range uint8(maxCells) {
		if w&bit(c) == 0 {
			continue
		}
		a.Exp[c], a.ExpW[c] = cl.V[c], m.effective(cl, c)
		a.Old = a.Old&^bit(c) | cl.Old&bit(c)
		op := m.newOp(s, i, kind, c, cl.Att)
		if cl.Rest&bit(c) != 0 && !t.Esc {
			op.St = opNone // hot order: sent later
		}
		cl.Op[c] = op
	}
	m.record(s, i)
}

// commitOp sends the commit write: the primary goes from its intent to its value, with the mark.
func (m *model) commitOp(s *state, i int) {
	cl := &s.Cl[i]
	t := m.txn(s, i)
	m.endBeat(s, i)
	if m.expired(s, i) && !m.mut.lateCommit || cl.Left != 0 { // the commit write has not been sent
		m.dead(s, i, true)
		return
	}
	p := t.primary()
	cl.clearOps()
	op := write{St: opFlying, Kind: kCommit, Cell: p, Exp: cl.V[p], Att: cl.Att}
	_, op.Drop = m.foldOf(s, i, p)
	if t.members() == bit(p) || m.mut.foldNoMark {
		op.Fold = foldNoMark
	}
	cl.Op[p] = op
	cl.PC = pcCommit
	m.record(s, i)
}

// success: the owner knows that its attempt has committed, and answers. Then it goes on with its
// next transaction, resolves, or stops.
func (m *model) success(s *state, i int) {
	cl := &s.Cl[i]
	t := m.txn(s, i)
	m.verdict(s, i, cl.Att, true)
	m.tell(s, i, hOK)
	prog := m.cfg.Clients[i].Prog
	cl.Fail, cl.Rs, cl.Rest, cl.Done = 0, 0, 0, 0
	cl.Seen = [maxCells]uint8{}
	cl.clearOps()
	cl.RC, cl.RU = 0, 0
	switch {
	case int(cl.Pos)+1 < len(prog) && cl.NAtt < m.cfg.Clients[i].Attempts: // chaining
		cl.Pos++
		cl.PC, cl.Alone, cl.Val = pcIdle, 0, 0
	case m.cfg.Clients[i].Resolve && !t.direct():
		cl.PC = pcResolve
		for c := range uint8(maxCells) {
			if t.members()&bit(c) != 0 && cl.I[c] == cl.Att {
				cl.Op[c] = m.newOp(s, i, kFold, c, cl.Att)
			}
		}
	default:
		m.stop(s, i, pcDone)
	}
}

// dead: the owner knows that its attempt is dead. It makes a new one without running the function,
// or runs that again, or ends.
func (m *model) dead(s *state, i int, rerun bool) {
	cl := &s.Cl[i]
	if !m.mut.reuseID {
		m.verdict(s, i, cl.Att, false)
	}
	again := cl.answered(false)
	if cl.Left != 0 {
		rerun = true
		m.goOnAlone(s, i)
	}
	m.endBeat(s, i)
	cl.clearOps()
	if cl.Quit != 0 || cl.NAtt >= m.cfg.Clients[i].Attempts {
		m.giveUp(s, i, again)
		return
	}
	if m.mut.reuseID {
		cl.NAtt++ // the next "attempt" goes on under the same id
	} else {
		cl.Att = 0
	}
	if rerun || m.txn(s, i).Esc {
		m.begin(s, i, false)
		return
	}
	cl.PC, cl.Fail, cl.Need, cl.Rest, cl.Rs = pcRead, 0, 0, 0, 0
	cl.Done = 0
	cl.Todo = again
}

// giveUp: a transaction that gives up removes what it left, in the background.
func (m *model) giveUp(s *state, i int, doubtful uint8) {
	cl := &s.Cl[i]
	if !m.cfg.Clients[i].Resolve || m.txn(s, i).direct() {
		m.end(s, i, hAborted)
		return
	}
	m.tell(s, i, hAborted)
	cl.Fail, cl.Rs, cl.Rest, cl.Done = 0, 0, 0, 0
	cl.Seen = [maxCells]uint8{}
	cl.PC, cl.Todo = pcResRead, doubtful
	for c := range uint8(maxCells) {
		if cl.I[c] == cl.Att && doubtful&bit(c) == 0 {
			cl.Op[c] = m.newOp(s, i, kFold, c, cl.Att)
		}
	}
}

// refused (Unknown outcomes): a write that was sent once and refused proves the attempt dead, even
// with others of the wave still in flight. (An escalated transaction tries again, except in its
// primary.)
func (m *model) refused(s *state, i int) bool {
	cl := &s.Cl[i]
	dead := false
	for c := range uint8(maxCells) {
		dead = dead || m.proves(s, i, c)
	}
	for c := range cl.Op[:maxCells] {
		if dead && cl.Op[c].St == opFlying && m.toLate(s, cl.Op[c]) {
			cl.Op[c].St = opUnknown
		}
	}
	return dead && !cl.flying()
}

// proves reports whether the answer to one write proves the attempt dead.
func (m *model) proves(s *state, i int, c uint8) bool {
	cl, t := &s.Cl[i], m.txn(s, i)
	op := &cl.Op[c]
	if op.St != opRefused || op.Kind != kIntent && op.Kind != kDirect {
		return false
	}
	if !m.cfg.sendsOnce() && !m.mut.duplicateRefused {
		return false // it may be the duplicate of one that has landed
	}
	again := t.Esc && c != t.primary() || m.mut.insertGoesOn && t.Acc[c] == acInsert
	return (cl.Rs&bit(c) == 0 || m.mut.noReread) && !again
}

// waveEnd: all writes of the wave have been answered, and the doubtful ones read.
func (m *model) waveEnd(s *state, i int) {
	cl := &s.Cl[i]
	t := m.txn(s, i)
	cl.Done = 0
	switch {
	case t.Esc && cl.Fail == fAtExpected: // that lock is tried again, the others are kept
		cl.Fail = 0
		cl.Rest &^= cl.answered(true)
		cl.PC, cl.Todo = pcRead, cl.answered(false)
		cl.clearOps()
	case cl.Fail&fCommitted != 0:
		m.success(s, i)
	case cl.Fail&fLate != 0:
		m.end(s, i, hInDoubt)
	case cl.Fail&fDead != 0:
		m.dead(s, i, false)
	case cl.Fail&fFate != 0:
		early := m.mut.fateBefore && cl.answered(true) != 0
		if early || cl.Fail&fAtExpected != 0 { // only in mutations
			m.dead(s, i, false)
			return
		}
		cl.PC, cl.Todo, cl.Fail = pcFate, t.members(), 0
	case cl.Fail&fAtExpected != 0:
		cl.Fail = 0
		cl.PC, cl.Todo = pcReread, cl.answered(false)
	default:
		m.landed(s, i)
	}
}

// landed: all writes of the wave have landed.
func (m *model) landed(s *state, i int) {
	cl := &s.Cl[i]
	t := m.txn(s, i)
	if cl.Rest == 0 && cl.PC != pcTogether && m.apart(s, i) {
		cl.PC, cl.Todo, cl.Done = pcTogether, t.members(), 0
		return
	}
	switch {
	case t.Esc:
		m.locked(s, i)
	case cl.Rest != 0: // hot order: now the rest
		for c := range uint8(maxCells) {
			if cl.Rest&bit(c) != 0 {
				cl.Op[c].St = opFlying
				if cl.V[c] == stale {
					cl.Op[c].Exp = stale
				}
			}
		}
		cl.Rest = 0
		cl.PC = pcWave
	case t.direct() || t.staged():
		m.success(s, i)
	case m.mut.noValidation || m.mut.validateEarly:
		m.commitOp(s, i)
	default:
		m.validate(s, i, pcValidate, t.onlyRead())
	}
}

// locked (Escalation): some keys are locked; when all are, the intents get their values, but
// that of the primary, which commits.
func (m *model) locked(s *state, i int) {
	cl := &s.Cl[i]
	t := m.txn(s, i)
	cl.Rest &^= t.next(cl.Rest)
	cl.clearOps()
	if cl.Rest != 0 {
		cl.PC, cl.Todo = pcRead, t.next(cl.Rest)
		return
	}
	if !t.LockFirst {
		m.commitOp(s, i)
		return
	}
	cl.PC = pcUpdate
	for c := range uint8(maxCells) {
		if c != t.primary() && t.members()&bit(c) != 0 && t.action(c) != actLock {
			cl.Op[c] = write{St: opFlying, Kind: kUpdate, Cell: c, Exp: cl.V[c], Att: cl.Att}
		}
	}
}

// beats (Heartbeats): while something else keeps a pending attempt from committing, its owner
// rewrites the primary. If that comes to nothing, it looks at the primary.
func (m *model) beats(s *state, i int) {
	cl, t := &s.Cl[i], m.txn(s, i)
	if m.cfg.Beats == 0 || t.members() == 0 {
		return
	}
	p := t.primary()
	switch beat := &cl.Op[beatSlot]; {
	case beat.St > opFlying:
		m.do(s, i, func(n *state) { m.missedBeat(n, i) },
			"%s, after a heartbeat that came to nothing, reads %s", m.cl(i), m.cellText(s, p))
	case beat.St == opNone && cl.Beats < m.cfg.Beats && m.beating(s, i):
		m.do(s, -1, func(n *state) {
			x := &n.Cl[i]
			x.Beats++
			x.Op[beatSlot] = write{St: opFlying, Kind: kBeat, Cell: p, Exp: x.V[p], Att: x.Att}
		}, "%s sends a heartbeat to %s", m.cl(i), m.cname(p))
	}
}

// beating reports whether the client has a pending attempt whose primary is locked, and whose
// commit write has not been sent.
func (m *model) beating(s *state, i int) bool {
	cl, t := &s.Cl[i], m.txn(s, i)
	p := t.primary()
	if cl.Att == 0 || cl.SPC != stIdle || cl.V[p] == absent || cl.I[p] != cl.Att {
		return false
	}
	switch cl.PC {
	case pcRead, pcSettle, pcUpdate:
		return t.Esc
	case pcWave:
		return t.Esc && cl.Op[p].St == opNone
	}
	return cl.PC == pcValidate
}

// missedBeat: a heartbeat was refused, or not answered. If the primary does not hold the intent any
// more, the attempt is dead, as its commit write has not been sent.
func (m *model) missedBeat(s *state, i int) {
	cl := &s.Cl[i]
	p := m.txn(s, i).primary()
	cl.Op[beatSlot] = write{}
	m.snapshot(s, i, p)
	if cl.I[p] != cl.Att {
		m.leave(s, i)
		m.dead(s, i, true)
	}
}

// leave: what the attempt still has on its way may land, and nobody waits for it.
func (m *model) leave(s *state, i int) {
	cl := &s.Cl[i]
	for j := range cl.Op[:fenceSlot] {
		if cl.Op[j].St == opFlying {
			m.toLate(s, cl.Op[j])
		}
	}
	cl.inquiry, cl.Need, cl.Todo = inquiry{}, 0, 0
}

// endBeat: a heartbeat that is under way may land later.
func (m *model) endBeat(s *state, i int) {
	cl := &s.Cl[i]
	if cl.Op[beatSlot].St == opFlying {
		m.toLate(s, cl.Op[beatSlot])
	}
	cl.Op[beatSlot] = write{}
}

// riderLeaves (One handle: turns and groups): the caller of a rider leaves. Before the group has
// sent a write that may commit, nothing of that rider is done, and the functions of the others run
// again; later it is in doubt.
func (m *model) riderLeaves(s *state, i int) {
	cl, t := &s.Cl[i], m.txn(s, i)
	h := &s.Hist[m.cfg.Clients[i].Leaves-1]
	m.dirty = true
	sealed := cl.Att != 0 && (t.staged() || t.direct() || cl.PC == pcCommit)
	h.Stat = hAborted
	switch {
	case m.mut.leftIn:
	case sealed && m.mut.leftSure:
	case sealed:
		h.Stat = hInDoubt
	case cl.PC == pcRead || cl.PC == pcSettle:
		cl.Left = 1
		m.goOnAlone(s, i)
		cl.inquiry = inquiry{}
		m.begin(s, i, false)
	default:
		cl.Left = 1 // the group learns when it is about to commit
	}
}

// goOnAlone: who has left is left out.
func (m *model) goOnAlone(s *state, i int) {
	if cl := &s.Cl[i]; cl.Left != 0 {
		cl.Left, cl.Alone = 0, m.cfg.Clients[i].Stays+1
	}
}

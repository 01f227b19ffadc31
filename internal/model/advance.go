package model

// advance runs a client up to its next call of the backend or choice.
func (m *model) advance(s *state, i int) {
	cl := &s.Cl[i]
	for m.wrong == "" {
		switch {
		case cl.PC == pcIdle || cl.PC == pcDone || cl.PC == pcCrashed || cl.PC == pcSweep,
			cl.PC == pcUpload:
			return
		case cl.SPC == stKill, cl.SPC == stLift:
			if cl.Op[fenceSlot].St == opFlying {
				return
			}
			m.fenceAnswered(s, i)
			continue
		case cl.SPC == stUndecided:
			if !m.readsThrough(s, i) {
				return
			}
			c := cl.SS
			cl.endStatus()
			m.finish(s, i, c, true)
			continue
		case cl.SPC != stIdle:
			return
		case cl.Need != 0:
			c := low(cl.Need)
			if t := cl.I[c]; t == 0 || m.known(cl, t) {
				m.finish(s, i, c, false)
			} else {
				m.beginStatus(s, i, c, t)
			}
			continue
		case cl.Todo != 0 || cl.List != 0:
			return
		}
		if !m.phaseEnd(s, i) {
			return
		}
	}
}

// fenceAnswered: a kill has been answered, or the rewriting of a condemned tombstone.
func (m *model) fenceAnswered(s *state, i int) {
	cl := &s.Cl[i]
	op := cl.Op[fenceSlot]
	cl.Op[fenceSlot] = write{}
	switch {
	case cl.SPC == stLift:
		m.lifted(s, i, op)
	case op.St == opOK || m.mut.killGuess:
		m.see(covKilled)
		m.verdict(s, i, cl.ST, false)
		cl.endStatus()
	default: // nothing is known
		m.again(cl)
	}
}

// readsThrough (What an intent means) reports whether a client that has found an attempt undecided
// may use the committed value: the attempt is staged, or its primary is at its expected version.
func (m *model) readsThrough(s *state, i int) bool {
	cl := &s.Cl[i]
	base := m.txnOf(s, cl.ST).staged() || cl.SExp != 0 || m.mut.throughPending
	return cl.PC == pcFoldRead || base && cl.reading() && !m.txn(s, i).Esc
}

// phaseEnd: nothing is left to be read in this phase. It reports whether the client goes on at
// once; else it waits for answers.
func (m *model) phaseEnd(s *state, i int) bool {
	cl := &s.Cl[i]
	t := m.txn(s, i)
	switch cl.PC {
	case pcRead:
		m.hasRead(s, i)
	case pcROVal:
		return m.validatedReads(s, i)
	case pcSettle:
		m.settled(s, i)
	case pcWave:
		return m.waveAnswered(s, i)
	case pcReread:
		cl.PC = pcWave
		if k := cl.Op[t.primary()].Kind; k == kCommit || k == kDrop {
			cl.PC = pcCommit
			if cl.Fail != 0 {
				m.waveEnd(s, i)
			}
		}
	case pcFate:
		m.fateKnown(s, i)
	case pcTogether, pcHolder:
		m.together(s, i)
	case pcValidate:
		m.validated(s, i)
	case pcCommit:
		return m.commitAnswered(s, i)
	case pcUpdate:
		return m.updated(s, i)
	case pcGround:
		return m.grounded(s, i)
	default:
		return m.cleanup(s, i)
	}
	return true
}

// hasRead: the function has run.
func (m *model) hasRead(s *state, i int) {
	cl, t := &s.Cl[i], m.txn(s, i)
	if cl.Fail != 0 {
		m.begin(s, i, false)
		return
	}
	if t.Kind != txRead {
		m.toSettle(s, i)
		return
	}
	// Three ways to commit, "reads only": a key whose request was sent after all others were
	// answered needs no validation.
	must := t.keys()
	switch {
	case t.Scan != 0: // a range is listed again in any case
	case must&(must-1) == 0:
		must = 0
	case t.Seq || m.mut.roSkipOne:
		must &^= high(must) // of parallel reads, any may be answered last
	}
	if !m.mut.roTrustCache {
		must |= t.Cached
	}
	if m.mut.roEarlyValidate {
		must &^= cl.Done
		cl.Done = 0
	}
	if m.mut.roSkip {
		must = 0
	}
	m.validate(s, i, pcROVal, must)
}

// validatedReads ends a transaction that only reads.
func (m *model) validatedReads(s *state, i int) bool {
	cl := &s.Cl[i]
	if cl.Fail != 0 {
		m.begin(s, i, false)
		return true
	}
	m.record(s, i)
	if m.txn(s, i).Kind == txRead {
		m.end(s, i, hOK)
	} else {
		m.end(s, i, hExists)
	}
	return false
}

// waveAnswered: some or all of the writes of a wave have been answered.
func (m *model) waveAnswered(s *state, i int) bool {
	cl := &s.Cl[i]
	if m.refused(s, i) {
		m.dead(s, i, false)
		return true
	}
	if cl.flying() {
		return false
	}
	for c := range cl.Op[:maxCells] {
		if o := &cl.Op[c]; o.Kind == kFence && o.St == opOK {
			m.see(covOwnFence)
			if cl.Fail |= fDead; m.expired(s, i) { // it may be another absence
				cl.Fail = fLate
			}
		}
	}
	bad := cl.answered(false) &^ cl.Done
	switch {
	case bad == 0 || cl.Fail&(fDead|fCommitted|fLate) != 0:
		m.waveEnd(s, i)
	case m.mut.unknownFails:
		m.dead(s, i, false)
	default:
		cl.PC, cl.Todo = pcReread, bad
	}
	return true
}

// fateKnown: the owner has asked all members.
func (m *model) fateKnown(s *state, i int) {
	cl := &s.Cl[i]
	switch {
	case cl.KC&abit(cl.Att) != 0 || cl.Fail&fCommitted != 0:
		m.success(s, i)
	case (cl.KD&abit(cl.Att) != 0 || cl.Fail&fDead != 0) && !(m.expired(s, i) && !m.mut.lateTells):
		m.dead(s, i, false)
	case m.expired(s, i):
		m.end(s, i, hInDoubt)
	default:
		m.see(covInDoubt)
		if m.canTell(s, cl.Att) {
			m.fail("ErrInDoubt, but the fate of %s can be read", m.aname(cl.Att))
		}
		m.end(s, i, hInDoubt)
	}
}

// validated: what a pending attempt has read has been validated.
func (m *model) validated(s *state, i int) {
	cl := &s.Cl[i]
	switch {
	case cl.Fail != 0 && m.mut.validateEarly:
		m.begin(s, i, false)
	case cl.Fail != 0:
		m.dead(s, i, true)
	case m.mut.validateEarly && cl.Att == 0:
		m.send(s, i)
	default:
		m.commitOp(s, i)
	}
}

// commitAnswered: the commit write of a pending attempt has been answered, or not.
func (m *model) commitAnswered(s *state, i int) bool {
	cl := &s.Cl[i]
	p := m.txn(s, i).primary()
	switch op := &cl.Op[p]; {
	case op.St == opFlying:
		return false
	case op.Kind == kDrop && op.St == opOK:
		m.dead(s, i, true)
	case op.St == opOK:
		m.success(s, i)
	default:
		cl.PC, cl.Todo = pcReread, bit(p)
	}
	return true
}

// updated (Escalation): the locks have their final values, or not.
func (m *model) updated(s *state, i int) bool {
	cl := &s.Cl[i]
	switch {
	case cl.flying():
		return false
	case cl.answered(false) != 0 && !m.mut.updateLost:
		m.dead(s, i, true)
	default:
		m.commitOp(s, i)
	}
	return true
}

// cleanup: the phases that fold what is final.
func (m *model) cleanup(s *state, i int) bool {
	cl, t := &s.Cl[i], m.txn(s, i)
	if cl.flying() && cl.PC != pcResRead {
		return false
	}
	switch cl.PC {
	case pcResolve:
		bad := cl.answered(false)
		if bad == 0 {
			m.stop(s, i, pcDone)
			return false
		}
		cl.clearOps()
		cl.PC, cl.Todo = pcResRead, bad
	case pcResRead:
		cl.PC = pcResolve
	case pcFoldRead:
		cl.PC = pcFoldWave
		for c := range uint8(maxCells) {
			x := cl.I[c]
			if t.keys()&bit(c) != 0 && x != 0 && m.known(cl, x) && !m.full(s, i, c, 0) {
				cl.Op[c] = m.newOp(s, i, kFold, c, x)
			}
		}
	case pcFoldWave:
		m.end(s, i, hAborted)
		return false
	case pcRelief:
		cl.PC, cl.RU, cl.RC = pcRead, 0, 0
		cl.Todo = t.members()
		if t.Esc {
			cl.Todo = t.next(cl.Rest)
		}
	case pcReliefFold:
		cl.clearOps()
		cl.PC = pcRelief
		m.reliefTodo(s, i)
	}
	return true
}

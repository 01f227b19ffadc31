package model

import "slices"

func (m *model) known(cl *memory, a uint8) bool { return (cl.KC|cl.KD)&abit(a) != 0 }

// verdict records what somebody concluded about an attempt and compares it
// with the truth and with what anybody else concluded.
func (m *model) verdict(s *state, i int, a uint8, committed bool) {
	t := s.att(a)
	cl := &s.Cl[i]
	if committed {
		cl.KC |= abit(a)
		t.Truth |= saidCommitted
		if t.Truth&truthCommitted == 0 {
			m.fail("%s concludes that %s has committed; it has not", m.cl(i), m.aname(a))
		}
	} else {
		cl.KD |= abit(a)
		if m.over(s, a) && cl.Att != a {
			return
		}
		t.Truth |= saidDead
		if cl.Att == a {
			t.Truth |= ownerDead
		}
		if t.Truth&truthCommitted != 0 {
			m.fail("%s concludes that %s is dead; it has committed", m.cl(i), m.aname(a))
		}
	}
	if t.Truth&saidDead != 0 && t.Truth&saidCommitted != 0 {
		m.fail("verdicts on %s contradict", m.aname(a))
	}
}

// over reports whether an attempt has committed, and been folded and swept so long ago that nothing
// of it is left. An observer that has stood still may then kill it: its fence finds nothing, as the
// attempt had once expected. That does no harm.
func (m *model) over(s *state, a uint8) bool {
	return s.Now > 0 && s.att(a).Truth&truthCommitted != 0 && m.helped(s, abit(a))
}

// commits is called at the commit point of an attempt.
func (m *model) commits(s *state, a uint8) {
	t := s.att(a)
	if t.Truth&(saidDead|ownerDead) != 0 {
		m.fail("%s commits after somebody concluded that it is dead", m.aname(a))
	}
	t.Truth |= truthCommitted
	for b := range s.Att {
		o := &s.Att[b]
		if uint8(b+1) == a || o.Used == 0 || o.Truth&truthCommitted == 0 {
			continue
		}
		for _, u := range m.covers(t.Txn) {
			if slices.Contains(m.covers(o.Txn), u) {
				m.fail("two attempts of %s commit", m.cfg.Txns[u].Name)
			}
		}
	}
}

// beginStatus asks for the status of T for cell c, in which the client saw its intent.
func (m *model) beginStatus(s *state, i int, c, a uint8) {
	cl := &s.Cl[i]
	cl.SPC, cl.ST, cl.SS = stWave, a, c
	cl.SHold, cl.SExp, cl.SOff, cl.SList, cl.SPV = 0, 0, 0, 0, stale
	t := m.txnOf(s, a)
	p := t.primary()
	if m.mut.confirmFirst {
		cl.SPC = stFirst
	}
	switch {
	case !t.staged() && c == p: // c is the primary: undecided
		cl.SPC = stUndecided
		cl.SHold, cl.SPV = bit(p), cl.V[c]
	case !t.staged():
		cl.SRem = bit(p)
	case t.Long && c != p: // a long list: first the primary
		cl.SRem = bit(p)
	default: // all other members, in one wave
		cl.SList = 1
		cl.SRem = t.members() &^ bit(c)
	}
}

// again: s is read again, and the status asked again.
func (m *model) again(cl *memory) {
	c := cl.SS
	cl.endStatus()
	cl.Need &^= bit(c)
	cl.Todo |= bit(c)
}

func (cl *memory) endStatus() {
	cl.inquiry = inquiry{}
}

// statusRead is one read of the wave.
func (m *model) statusRead(s *state, i int, c uint8) {
	cl, cell := &s.Cl[i], &s.Cell[c]
	a := cl.ST
	t := m.txnOf(s, a)
	cl.SRem &^= bit(c)
	m.hear(s, i)
	m.learn(s, i, c)
	if cell.Marks&abit(a) != 0 {
		m.see(covMark)
		m.verdict(s, i, a, true)
		cl.endStatus()
		return
	}
	switch {
	case cell.Tx == a:
		cl.SHold |= bit(c)
		if c == t.primary() {
			cl.SPV = current
			if t.staged() && cl.SList == 0 {
				cl.SList = 1
				cl.SRem = t.members() &^ bit(c) &^ bit(cl.SS)
			}
		}
	case m.atExpected(s, a, c):
		cl.SExp |= bit(c)
	case m.condemned(s, c) && !m.mut.noLift:
		m.lift(s, i, c)
		return
	default:
		cl.SOff |= bit(c)
	}
	m.statusEnd(s, i)
}

// statusEnd: the answer, once the wave is complete.
func (m *model) statusEnd(s *state, i int) {
	cl := &s.Cl[i]
	a := cl.ST
	t := m.txnOf(s, a)
	if cl.SRem != 0 {
		return
	}
	switch {
	case cl.SOff != 0: // dead, if the cell itself confirms
		if m.mut.noConfirm || m.mut.confirmFirst {
			m.verdict(s, i, a, false)
			cl.endStatus()
		} else {
			cl.SPC = stConfirm
		}
	case cl.SExp != 0 || !t.staged():
		if m.mut.expectedDead && t.staged() {
			cl.SPC = stConfirm
			return
		}
		cl.SPC = stUndecided
	default: // all hold the intent
		if m.mut.baseWhenAllHold && cl.reading() {
			cl.SPC = stUndecided
			return
		}
		m.see(covAllHold)
		m.verdict(s, i, a, true)
		cl.endStatus()
	}
}

// confirm reads the cell itself again, after all answers. If it still holds the intent, the attempt
// is dead; if not, somebody has settled it, and everything starts over.
func (m *model) confirm(s *state, i int) {
	cl := &s.Cl[i]
	c, a := cl.SS, cl.ST
	m.snapshot(s, i, c)
	if cl.I[c] == a {
		m.see(covConfirmed)
		m.verdict(s, i, a, false)
	} else {
		m.see(covStartOver)
	}
	cl.endStatus()
	m.classify(s, i, c)
}

// kills returns the fences (Conflicts): of a member at the version that the attempt expects of it;
// or the removal of a pending intent from the primary.
func (m *model) kills(s *state, i int) (ops []write) {
	cl := &s.Cl[i]
	a := cl.ST
	t := m.txnOf(s, a)
	for c := range uint8(maxCells) {
		switch {
		case cl.SExp&bit(c) != 0:
			ops = append(ops, fence(c, s.att(a).Exp[c], a))
		case cl.SHold&bit(c) != 0 && !t.staged() && c == t.primary():
			ops = append(ops, write{St: opFlying, Kind: kDrop, Cell: c, Exp: cl.SPV, Att: a})
		case m.mut.fenceAnywhere && t.staged() && t.members()&bit(c) != 0:
			ops = append(ops, fence(c, current, a))
		}
	}
	return
}

// confirmFirst is a mutation's: the confirming read, before the wave.
func (m *model) confirmFirst(s *state, i int) {
	cl := &s.Cl[i]
	c, a := cl.SS, cl.ST
	m.snapshot(s, i, c)
	if cl.I[c] != a {
		cl.endStatus()
		m.classify(s, i, c)
		return
	}
	cl.SPC = stWave
	if cl.SRem == 0 {
		cl.SPC = stUndecided
	}
}

func fence(c uint8, at ref, a uint8) write {
	return write{St: opFlying, Kind: kFence, Cell: c, Exp: at, Att: a}
}

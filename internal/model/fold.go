package model

// learn is what a client may remember of any cell that it reads: a mark proves that its attempt
// committed, and a cell without the intent of an attempt that it knows to have committed, that this
// member is clear. What was read before it knew proves nothing.
func (m *model) learn(s *state, i int, c uint8) {
	cl, cell := &s.Cl[i], &s.Cell[c]
	cl.KC |= cell.Marks
	for a := uint8(1); a <= maxAttempts; a++ {
		t := m.txnOf(s, a)
		if s.att(a).Used == 0 {
			if m.mut.clearStale && m.futureMember(a, c) {
				cl.Clear[a-1] |= bit(c)
			}
			continue
		}
		mark := cell.Marks&abit(a) != 0
		if c == t.primary() && (mark || cell.Tx == a && !t.Esc) {
			cl.Lists |= abit(a)
		}
		committed := cl.KC&abit(a) != 0
		if !committed && !m.mut.clearEarly || t.members()&bit(c) == 0 || !m.off(s, a, c) ||
			m.condemned(s, c) && !m.mut.condemnedOff {
			continue
		}
		cl.Clear[a-1] |= bit(c)
		if mark || !committed || t.listAtPrimary() && (c != t.primary() || m.mut.noListRule) {
			continue
		}
		// One member off and without the mark: somebody else knew.
		cl.Lists |= abit(a)
		cl.Clear[a-1] = t.members()
	}
}

// canDrop (Folding and marks) reports whether the client knows that no member but (perhaps) c holds
// the intent of a. Who has not read a long list does not know.
func (m *model) canDrop(s *state, i int, a, c uint8) bool {
	cl := &s.Cl[i]
	t := m.txnOf(s, a)
	if t.listAtPrimary() && cl.Lists&abit(a) == 0 {
		return false
	}
	left := t.members() &^ bit(c) &^ cl.Clear[a-1]
	if m.mut.dropEarly {
		return left&(left-1) == 0
	}
	return left == 0
}

// foldOf: what a write of c by this client does to the final intent in it, and which marks it
// leaves out.
func (m *model) foldOf(s *state, i int, c uint8) (fold, drop uint8) {
	cl := &s.Cl[i]
	if t := cl.I[c]; t != 0 {
		if cl.KC&abit(t) != 0 {
			fold = foldCommitted
			if m.canDrop(s, i, t, c) {
				fold |= foldNoMark
			}
		} else if cl.KD&abit(t) != 0 {
			fold = foldDead
		}
	}
	for a := uint8(1); a <= maxAttempts; a++ {
		if cl.KC&abit(a) != 0 && m.canDrop(s, i, a, c) {
			drop |= abit(a)
		}
	}
	return
}

// full reports whether this write would exceed the limit of marks.
func (m *model) full(s *state, i int, c uint8, extra int) bool {
	cl := &s.Cl[i]
	if cl.V[c] != current {
		return false
	}
	fold, drop := m.foldOf(s, i, c)
	marks := s.Cell[c].Marks &^ drop
	if fold&foldCommitted != 0 && fold&foldNoMark == 0 {
		marks |= abit(cl.I[c])
	}
	n := extra
	for ; marks != 0; marks &= marks - 1 {
		n++
	}
	return n > m.cfg.marks()
}

// reliefTodo: which members must be read before the mark RU can go from RC? What intents remain are
// folded.
func (m *model) reliefTodo(s *state, i int) {
	cl := &s.Cl[i]
	t := m.txnOf(s, cl.RU)
	if t.listAtPrimary() && cl.Lists&abit(cl.RU) == 0 {
		cl.Todo = bit(t.primary())
		return
	}
	cl.Todo = t.members() &^ bit(cl.RC) &^ cl.Clear[cl.RU-1]
}

// reliefRead reads one of them, and folds an intent that remains.
func (m *model) reliefRead(s *state, i int, c uint8) {
	cl := &s.Cl[i]
	m.snapshot(s, i, c)
	cl.Todo &^= bit(c)
	if m.condemned(s, c) && m.off(s, cl.RU, c) && !m.mut.condemnedOff {
		m.lift(s, i, c)
		return
	}
	if cl.I[c] != cl.RU {
		u := m.txnOf(s, cl.RU)
		if u.listAtPrimary() && cl.Lists&abit(cl.RU) == 0 && c == u.primary() {
			m.fail("%s must be relieved of the mark of %s, and nobody knows its members",
				m.cname(cl.RC), m.aname(cl.RU))
			return
		}
		if cl.Todo == 0 {
			m.reliefTodo(s, i)
		}
		return
	}
	if m.full(s, i, c, 0) { // that cell must be relieved first
		m.see(covReliefDeep)
		_, drop := m.foldOf(s, i, c)
		cl.RC, cl.RU = c, low(s.Cell[c].Marks&^drop)+1
		m.reliefTodo(s, i)
		return
	}
	m.see(covRelief)
	cl.Op[c] = m.newOp(s, i, kFold, c, cl.RU)
	cl.Todo = 0
	cl.PC = pcReliefFold
}

// futureMember is for the mutation "off-before": is c a member of what a will be an attempt at?
func (m *model) futureMember(a, c uint8) bool {
	for i, cl := range m.cfg.Clients {
		for _, t := range cl.Prog {
			its := a >= m.first[i] && a < m.first[i]+cl.Attempts
			if its && m.cfg.Txns[t].members()&bit(c) != 0 {
				return true
			}
		}
	}
	return false
}

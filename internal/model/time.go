package model

// condemned: a tombstone that a sweep has condemned may be about to vanish. Whoever wants to
// conclude anything from it rewrites it first without the condemnation.
func (m *model) condemned(s *state, c uint8) bool { return s.Cell[c].Condemned == 1 }

// lift rewrites the condemned tombstone c at the version just read. It is no
// kill: it needs no patience. The client does nothing else meanwhile; whatever
// it could read then it could as well have read before it read c.
func (m *model) lift(s *state, i int, c uint8) {
	cl := &s.Cl[i]
	cl.SPC = stLift
	cl.Op[fenceSlot] = write{St: opFlying, Kind: kFence, Cell: c, Exp: current}
}

// lifted: if the rewrite was accepted, the cell counts as read at that instant;
// otherwise it is read again.
func (m *model) lifted(s *state, i int, op write) {
	cl := &s.Cl[i]
	ok := op.St == opOK
	if ok {
		m.see(covLifted)
	}
	if cl.ST != 0 { // within status(T)
		cl.SPC = stWave
		if ok {
			cl.SOff |= bit(op.Cell)
		} else {
			cl.SRem |= bit(op.Cell)
		}
		m.statusEnd(s, i)
		return
	}
	cl.SPC = stIdle
	switch {
	case !ok:
		cl.Todo |= bit(op.Cell)
	case cl.PC == pcReread:
		m.reread(s, i, op.Cell)
	case cl.PC == pcFate:
		m.fateRead(s, i, op.Cell)
	case cl.PC == pcRelief:
		m.reliefRead(s, i, op.Cell)
	}
}

// sweeping (Time): a tombstone without intent and marks goes in two steps. It is condemned; if it
// is still the same version one horizon later, it is removed. (Its age when it is condemned does
// not matter.)
func (m *model) sweeping(s *state, i int) {
	keys := m.txn(s, i).keys()
	for c := range uint8(maxCells) {
		if keys&bit(c) == 0 || !m.tombstone(s, c) {
			continue
		}
		if !m.condemned(s, c) && !m.mut.oneStep {
			m.do(s, -1, func(n *state) {
				n.Cell[c].Condemned, n.Cell[c].At, n.Cell[c].Marks = 1, n.Now, 0
				m.bump(n, c)
			}, "%s condemns the tombstone %s", m.cl(i), m.cname(c))
		} else if m.mut.sweepAnytime || m.horizonPassed(s, c) {
			m.do(s, -1, func(n *state) {
				n.Cell[c] = cell{}
				m.bump(n, c)
				if m.cfg.Leaps == 0 {
					m.end(n, i, hAborted)
				}
			}, "%s sweeps the tombstone %s", m.cl(i), m.cname(c))
		}
	}
}

func (m *model) tombstone(s *state, c uint8) bool {
	cell := &s.Cell[c]
	return cell.Exists == 1 && cell.Present == 0 && cell.Tx == 0 &&
		(cell.Marks == 0 || m.mut.sweepMarked || m.cfg.Leaps > 0 && m.helped(s, cell.Marks))
}

// helped reports whether a sweep that helps the attempts of these marks has nothing to do.
func (m *model) helped(s *state, marks uint8) bool {
	for c := range s.Cell {
		if a := s.Cell[c].Tx; a != 0 && marks&abit(a) != 0 {
			return false
		}
	}
	return true
}

// horizonPassed: with a clock, that says so. Otherwise: an attempt that counts on an absence must
// be over, its last resend included, within the horizon. Here the ghost fields Old stand for the
// passing of time: no write that was sent before this version was written is still in flight,
// nobody still uses an absence seen before it, and no owner is still in doubt about an attempt
// older than it.
func (m *model) horizonPassed(s *state, c uint8) bool {
	if m.cfg.Leaps > 0 {
		return s.Now > s.Cell[c].At
	}
	flying := func(op *write) bool {
		return op.St == opFlying && op.Cell == c && op.Exp == absent && op.Att != 0 &&
			s.att(op.Att).Old&bit(c) != 0
	}
	for i := range s.Cl {
		cl := &s.Cl[i]
		live := cl.PC != pcIdle && cl.PC != pcDone && cl.PC != pcCrashed && cl.PC != pcSweep
		doubt := cl.Att != 0 && m.members(s, cl.Att)&bit(c) != 0 && s.att(cl.Att).Old&bit(c) != 0
		if live && (cl.Old&bit(c) != 0 || doubt && !m.mut.sweepDoubt) {
			return false
		}
		for j := range cl.Op {
			if flying(&cl.Op[j]) {
				return false
			}
		}
	}
	return !flying(&s.Late[0]) && !flying(&s.Late[1])
}

// leaps: a horizon passes by the store's clock. A client that freezes does not know: what it has
// decided to send it sends later. All others have nothing on its way, and know. What is in the
// network has arrived or never will, which is the one assumption about that clock.
func (m *model) leaps(s *state) {
	if s.Now == m.cfg.Leaps {
		return
	}
	for i := range m.cfg.Clients {
		cl := &s.Cl[i]
		if m.cfg.Clients[i].Freezes || cl.PC == pcCrashed {
			continue
		}
		if cl.flying() || cl.SPC != stIdle {
			return
		}
	}
	m.do(s, -1, func(n *state) {
		n.Now++
		n.Late = [maxLate]write{}
		for v := range n.Val {
			n.Val[v].Fenced = 0 // a pass of a sweep takes less
		}
		for b := range n.Att {
			n.Att[b].Truth &^= saidDead // nobody believes that any more
		}
		for i := range n.Cl {
			switch x := &n.Cl[i]; {
			case x.PC == pcDone:
			case x.PC == pcCrashed:
				x.clearOps()
			case !m.cfg.Clients[i].Freezes:
				m.hear(n, i)
			}
		}
	}, "a horizon passes")
}

// hear: an answer has told the store's time. That an attempt is dead is believed only for so long;
// of an own one that stays so.
func (m *model) hear(s *state, i int) {
	cl := &s.Cl[i]
	if cl.Told == s.Now {
		return
	}
	cl.Told = s.Now
	if !m.mut.deadForever {
		for a := uint8(1); a <= maxAttempts; a++ {
			if a < m.first[i] || a >= m.first[i]+m.cfg.Clients[i].Attempts {
				cl.KD &^= abit(a)
			}
		}
	}
}

// expired reports whether the client's attempt has lasted too long, as far as it knows.
func (m *model) expired(s *state, i int) bool {
	cl := &s.Cl[i]
	return cl.Att != 0 && cl.Told > s.att(cl.Att).Born
}

// landedAt notes when a write of the attempt was answered, by the store's clock.
func (m *model) landedAt(s *state, i int, op *write, at uint8) {
	cl := &s.Cl[i]
	if m.cfg.Leaps == 0 || op.Kind != kIntent {
		return
	}
	if cl.First == 0 || cl.First > at+1 {
		cl.First = at + 1
	}
	cl.Last = max(cl.Last, at+1)
}

// lateReread is reread for an attempt that has expired: nothing is sent again, and nothing is
// concluded from what is absent. It reports whether that is all.
func (m *model) lateReread(s *state, i int, c uint8) bool {
	cl, cell, t := &s.Cl[i], &s.Cell[c], m.txn(s, i)
	op := &cl.Op[c]
	a := cl.Att
	commits := op.Kind == kCommit || op.Kind == kDrop
	again := m.mut.lateResend && m.atExpected(s, a, c) || m.mut.lateCommit && commits
	if again || cell.names(a) || cell.Marks&abit(a) != 0 || cell.Tx == a && !commits {
		return false
	}
	switch {
	case !commits && !t.staged() && !t.direct(), m.unsent(t, op, cl.Rest),
		commits && m.neverLands(op, cl.Rs&bit(c) != 0):
		m.conclude(cl, fDead)
	case m.mut.lateTells:
		return false
	case m.condemned(s, c): // what is on its way may land when it is gone
		m.lift(s, i, c)
		return true
	default:
		m.conclude(cl, fLate)
	}
	cl.Done |= bit(c)
	return true
}

// apart reports whether the writes of an attempt may have landed so far apart that a sweep came
// between.
func (m *model) apart(s *state, i int) bool {
	cl, t := &s.Cl[i], m.txn(s, i)
	return cl.Last > cl.First && !t.direct() && !m.mut.notTogether
}

// togetherRead reads a member again of an attempt whose writes have landed far apart.
func (m *model) togetherRead(s *state, i int, c uint8) {
	cl, cell := &s.Cl[i], &s.Cell[c]
	m.snapshot(s, i, c)
	cl.Todo &^= bit(c)
	switch {
	case cell.names(cl.Att) || cell.Marks&abit(cl.Att) != 0:
		m.conclude(cl, fCommitted)
	case cell.Tx == cl.Att && cl.PC == pcHolder:
		m.conclude(cl, fDead)
	case cell.Tx == cl.Att:
		cl.Done |= bit(c)
	}
}

// together: if all members hold the intent, the attempt goes on. If one does not, and has no mark,
// but another still does, it is dead.
func (m *model) together(s *state, i int) {
	cl, t := &s.Cl[i], m.txn(s, i)
	held := cl.Done
	cl.Done = 0
	switch {
	case cl.Fail&fCommitted != 0:
		m.success(s, i)
	case cl.Fail&fDead != 0:
		m.dead(s, i, false)
	case cl.PC == pcTogether && held == t.members():
		m.landed(s, i)
	case !t.staged():
		m.dead(s, i, false)
	case cl.PC == pcTogether && held != 0:
		cl.PC, cl.Todo = pcHolder, bit(low(held))
	default:
		cl.PC, cl.Todo = pcFate, t.members()
	}
}

// mustUpload reports whether an external value must be written, or written anew, before an attempt
// links it.
func (m *model) mustUpload(s *state, i int) bool {
	cl, t := &s.Cl[i], m.txn(s, i)
	old := cl.Told > cl.UpAt && !m.mut.oldUpload
	return t.External != 0 && cl.Att == 0 && (cl.Val == 0 || old)
}

// uploads (External values): the value is written, under a new name.
func (m *model) uploads(s *state, i int) {
	m.do(s, i, func(n *state) {
		cl := &n.Cl[i]
		cl.UpAt = cl.Told
		m.hear(n, i)
		for v := range n.Val {
			if n.Val[v].Used == 0 {
				n.Val[v] = value{Used: 1, There: 1, Cell: m.txn(n, i).External - 1, At: n.Now}
				cl.Val = uint8(v + 1)
				break
			}
		}
		cl.PC = pcSettle
	}, "%s writes its external value", m.cl(i))
}

// mustGround reports whether a tombstone must be written before an attempt links an external value:
// that is linked over an object only, whose version never recurs.
func (m *model) mustGround(s *state, i int) bool {
	cl, t := &s.Cl[i], m.txn(s, i)
	return t.External != 0 && !t.Esc && cl.V[t.External-1] == absent && !m.mut.linkAbsent
}

// ground writes that tombstone.
func (m *model) ground(s *state, i int) {
	cl := &s.Cl[i]
	c := m.txn(s, i).External - 1
	cl.PC = pcGround
	cl.clearOps()
	cl.Op[c] = write{St: opFlying, Kind: kFence, Cell: c, Exp: absent}
}

// grounded: the tombstone is there, or the cell is read to find out what is.
func (m *model) grounded(s *state, i int) bool {
	cl := &s.Cl[i]
	if cl.flying() {
		return false
	}
	cl.Todo = cl.answered(false)
	cl.clearOps()
	m.toSettle(s, i)
	return true
}

// sweepsValues (Time): a value that no cell refers to goes when it is older than the horizon.
// Before that its cell is rewritten, or a tombstone left where there is none.
func (m *model) sweepsValues(s *state, i int) {
	for v := range s.Val {
		x := &s.Val[v]
		if x.There == 0 || s.Now <= x.At || m.txn(s, i).keys()&bit(x.Cell) == 0 {
			continue
		}
		switch {
		case x.Fenced != 0:
			m.do(s, -1, func(n *state) { n.Val[v].There = 0 },
				"%s removes the value of %s", m.cl(i), m.cname(x.Cell))
		case !m.links(s, uint8(v+1)):
			m.do(s, -1, func(n *state) {
				n.Val[v].Fenced = 1
				if c := &n.Cell[x.Cell]; !m.mut.notFenced {
					c.Exists, c.Condemned, c.At = 1, 0, n.Now
					m.bump(n, x.Cell)
				}
			}, "%s fences off the value of %s", m.cl(i), m.cname(x.Cell))
		}
	}
}

// links reports whether the cell of a value refers to it.
func (m *model) links(s *state, v uint8) bool {
	c := &s.Cell[s.Val[v-1].Cell]
	if w := c.Writer; c.Present != 0 && w != 0 && w != initial && s.att(w).Val == v {
		return true
	}
	return c.Tx != 0 && c.Act == actPut && s.att(c.Tx).Val == v
}

// values: a committed value is there.
func (m *model) values(s *state) {
	for c := range s.Cell {
		cell := &s.Cell[c]
		w := cell.Writer
		if t := cell.Tx; t != 0 && cell.Act == actPut && s.att(t).Truth&truthCommitted != 0 {
			w = t
		}
		if w == 0 || w == initial || s.att(w).Val == 0 {
			continue
		}
		v := &s.Val[s.att(w).Val-1]
		if v.There != 0 || int(v.Cell) != c {
			continue
		}
		m.fail("the value of %s in %s is gone", m.aname(w), m.cname(uint8(c)))
	}
}

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
	cl.Op[maxCells] = write{St: opFlying, Kind: kFence, Cell: c, Exp: current}
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
	for c := uint8(0); c < maxCells; c++ {
		if keys&bit(c) == 0 || !m.tombstone(s, c) {
			continue
		}
		if !m.condemned(s, c) && !m.mut.oneStep {
			m.do(s, -1, func(n *state) {
				n.Cell[c].Condemned = 1
				m.bump(n, c)
			}, "%s condemns the tombstone %s", m.cl(i), m.cname(c))
		} else if m.mut.sweepAnytime || m.horizonPassed(s, c) {
			m.do(s, -1, func(n *state) {
				n.Cell[c] = cell{}
				m.bump(n, c)
				m.end(n, i, hAborted)
			}, "%s sweeps the tombstone %s", m.cl(i), m.cname(c))
		}
	}
}

func (m *model) tombstone(s *state, c uint8) bool {
	cell := &s.Cell[c]
	return cell.Exists == 1 && cell.Present == 0 && cell.Tx == 0 &&
		(cell.Marks == 0 || m.mut.sweepMarked)
}

// horizonPassed: an attempt that counts on an absence must be over, its last resend included,
// within the horizon. Here the ghost fields Old stand for the passing of time: no write that was
// sent before this version was written is still in flight, nobody still uses an absence seen before
// it, and no owner is still in doubt about an attempt older than it.
func (m *model) horizonPassed(s *state, c uint8) bool {
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

package model

import "slices"

func (cl *memory) reading() bool {
	return cl.PC == pcRead || cl.PC == pcROVal || cl.PC == pcValidate
}

func (m *model) txn(s *state, i int) *txn { return &m.cfg.Txns[m.txnIndex(s, i)] }

func (m *model) txnIndex(s *state, i int) uint8 {
	if alone := s.Cl[i].Alone; alone != 0 {
		return alone - 1
	}
	return m.cfg.Clients[i].Prog[s.Cl[i].Pos]
}

// snapshot reads a cell.
func (m *model) snapshot(s *state, i int, c uint8) {
	cl, cell := &s.Cl[i], &s.Cell[c]
	m.hear(s, i)
	cl.V[c] = current
	if cell.Exists == 0 {
		cl.V[c] = absent
	}
	cl.I[c], cl.A[c], cl.W[c] = cell.Tx, cell.Act, cell.Writer
	cl.Old &^= bit(c)
	m.learn(s, i, c)
}

// classify (What an intent means): is the effective value known, or must status be asked?
func (m *model) classify(s *state, i int, c uint8) {
	cl := &s.Cl[i]
	cl.Todo &^= bit(c)
	if cl.I[c] == 0 || m.known(cl, cl.I[c]) {
		m.finish(s, i, c, false)
	} else if cl.A[c] == actLock && cl.reading() { // of a lock readers need no status
		m.finish(s, i, c, true)
	} else {
		cl.Need |= bit(c)
	}
}

// effective is the effective writer of a snapshot, given the verdicts that are known.
func (m *model) effective(cl *memory, c uint8) uint8 {
	if t := cl.I[c]; t != 0 && cl.KC&abit(t) != 0 && cl.A[c] != actLock {
		return t
	}
	return cl.W[c]
}

func (m *model) isAbsent(s *state, c, w uint8) bool {
	return w == 0 || w != initial && m.action(s, w, c) == actDelete
}

// finish: the effective writer of c is known in this phase.
func (m *model) finish(s *state, i int, c uint8, undecided bool) {
	cl := &s.Cl[i]
	cl.Need &^= bit(c)
	cl.Todo &^= bit(c)
	t := m.txn(s, i)
	w := cl.W[c]
	if !undecided {
		w = m.effective(cl, c)
	}
	switch cl.PC {
	case pcRead:
		if t.reads()&bit(c) == 0 || t.Acc[c] == acInsert || t.Esc {
			return
		}
		if cl.Seen[c] == unseen {
			cl.Seen[c] = w
		} else if cl.Seen[c] != w {
			cl.Fail = 1
		}
	case pcValidate, pcROVal:
		if cl.Seen[c] != w {
			cl.Fail = 1
		}
	}
}

// validateRead is a conditional GET. "Not modified" proves the value only for a cell that had no
// intent, or whose attempt was known to be final then; otherwise status is asked for again.
func (m *model) validateRead(s *state, i int, c uint8) {
	cl := &s.Cl[i]
	if s.at(c, cl.V[c]) {
		if m.mut.versionOnly {
			cl.Todo &^= bit(c)
			return
		}
		m.classify(s, i, c) // "not modified": the snapshot is as it was
		return
	}
	m.snapshot(s, i, c)
	m.classify(s, i, c)
}

// validate begins a validation of these keys. What a scan has read is listed again, pages in
// parallel; the other keys are read.
func (m *model) validate(s *state, i int, pc, keys uint8) {
	cl, t := &s.Cl[i], m.txn(s, i)
	cl.PC, cl.List = pc, keys&t.Scan
	cl.Todo = keys &^ cl.List
	if m.mut.notListed {
		cl.List = 0
	}
}

// list: a listing passes a name. What it shows was so at some instant within the call.
func (m *model) list(s *state, i int, c uint8) {
	cl, cell := &s.Cl[i], &s.Cell[c]
	cl.List &^= bit(c)
	m.hear(s, i)
	if cl.PC != pcRead {
		m.listedAgain(s, i, c)
		return
	}
	switch {
	case cell.Exists == 0:
		cl.V[c], cl.I[c], cl.A[c], cl.W[c] = absent, 0, 0, 0
		cl.Seen[c] = 0
	case cell.Present == 0 && cell.Tx == 0: // its size tells a tombstone; its writer is not known
		cl.V[c], cl.I[c], cl.A[c], cl.W[c] = current, 0, 0, cell.Writer
		cl.Seen[c] = absentValue
	default:
		cl.Todo |= bit(c)
	}
}

// listedAgain (Ranges): what follows from a name in the listing that validates.
func (m *model) listedAgain(s *state, i int, c uint8) {
	cl, cell := &s.Cl[i], &s.Cell[c]
	unknown := cl.Seen[c] == absentValue
	switch {
	case s.at(c, cl.V[c]) && (cl.I[c] == 0 || m.known(cl, cl.I[c]) || m.mut.listedAsRead):
		if cl.I[c] != 0 && m.effective(cl, c) != cl.Seen[c] && !m.mut.listedAsRead {
			cl.Fail = 1
		}
	case cell.Exists == 0: // gone
		if cl.Seen[c] != 0 && !m.mut.goneIgnored {
			cl.Fail = 1
		}
	case cl.V[c] == absent && m.mut.newIgnored:
	case unknown && m.mut.tombstoneAsRead:
	case unknown: // at another version
		cl.Fail = 1
	default:
		cl.Todo |= bit(c)
	}
}

// flying reports whether writes other than a heartbeat have not been answered.
func (cl *memory) flying() bool {
	return slices.ContainsFunc(cl.Op[:beatSlot], func(op write) bool { return op.St == opFlying })
}

func (cl *memory) answered(ok bool) (set uint8) {
	for j := range cl.Op[:maxCells] {
		if o := &cl.Op[j]; o.St > opFlying && (o.St == opOK) == ok {
			set |= bit(uint8(j))
		}
	}
	return
}

// clearOps forgets a wave, but not a heartbeat.
func (cl *memory) clearOps() {
	cl.Op = [slots]write{beatSlot: cl.Op[beatSlot]}
}

func (m *model) newOp(s *state, i int, kind, c, a uint8) write {
	fold, drop := m.foldOf(s, i, c)
	return write{
		St: opFlying, Kind: kind, Cell: c, Exp: s.Cl[i].V[c], Att: a, Fold: fold, Drop: drop,
	}
}

// start begins a transaction.
func (m *model) start(s *state, i int) {
	cl := &s.Cl[i]
	t := m.txn(s, i)
	before := uint8(0)
	for u := range s.Hist {
		if st := s.Hist[u].Stat; st > hRunning && st != hCrashed && st != hInDoubt {
			before |= bit(uint8(u))
		}
	}
	for c := range cl.Seen {
		cl.Seen[c] = unseen
	}
	for _, u := range m.covers(m.txnIndex(s, i)) {
		s.Hist[u] = outcome{Stat: hRunning, Before: before, Seen: cl.Seen}
	}
	switch t.Kind {
	case txSweep:
		cl.PC = pcSweep
		return
	case txFold:
		cl.PC = pcFoldRead
		cl.Todo = t.keys()
		return
	}
	m.begin(s, i, true)
}

// begin (re)starts the function. Keys to be inserted are not read.
func (m *model) begin(s *state, i int, useCache bool) {
	cl := &s.Cl[i]
	t := m.txn(s, i)
	cl.PC, cl.Fail, cl.Need, cl.Rest, cl.Rs = pcRead, 0, 0, 0, 0
	cl.Done = 0
	for c := range cl.Seen {
		if !m.mut.lockOldValues || !t.Esc {
			cl.Seen[c] = unseen
		}
	}
	cl.Todo = t.keys()
	if t.Esc {
		cl.Rest = t.keys()
		cl.Todo = t.next(cl.Rest)
		return
	}
	cl.List = t.Scan &^ t.members()
	cl.Todo &^= cl.List
	for c := range uint8(maxCells) {
		if t.inserts()&bit(c) != 0 && cl.V[c] == unread {
			cl.V[c], cl.I[c], cl.A[c], cl.W[c] = absent, 0, 0, 0
			cl.Todo &^= bit(c)
		} else if useCache && t.Cached&bit(c) != 0 && cl.V[c] != unread {
			m.classify(s, i, c)
		}
	}
}

// covers are the transactions that the one at u stands for: the riders of a group, or itself.
func (m *model) covers(u uint8) []uint8 {
	if t := &m.cfg.Txns[u]; len(t.Riders) > 0 {
		return t.Riders
	}
	return m.self[u : u+1]
}

// tell: the callers that are waiting get their answer.
func (m *model) tell(s *state, i int, stat uint8) {
	m.dirty = true
	for _, u := range m.covers(m.txnIndex(s, i)) {
		if s.Hist[u].Stat == hRunning {
			s.Hist[u].Stat = stat
		}
	}
}

// record notes what the functions have read, for the checker. A rider sees what those before have
// staged.
func (m *model) record(s *state, i int) {
	cl := &s.Cl[i]
	var staged uint8
	for _, u := range m.covers(m.txnIndex(s, i)) {
		t, h := &m.cfg.Txns[u], &s.Hist[u]
		h.Seen = cl.Seen
		for c := range uint8(maxCells) {
			if staged&t.reads()&bit(c) != 0 && !m.mut.ridersApart {
				h.Seen[c] = cl.Att
			}
			if t.members()&bit(c) != 0 && t.action(c) != actLock {
				staged |= bit(c)
			}
		}
	}
}

// end: the caller gets its answer, and the client stops.
func (m *model) end(s *state, i int, stat uint8) {
	m.tell(s, i, stat)
	m.dirty = true
	m.stop(s, i, pcDone)
}

// stop: of a crashed client only the writes in flight remain.
func (m *model) stop(s *state, i int, pc uint8) {
	cl := &s.Cl[i]
	ops := cl.Op
	*cl = memory{PC: pc}
	for j, op := range ops {
		if pc == pcCrashed && op.St == opFlying && (op.Exp != stale || m.blind(&op)) {
			cl.Op[j] = op
		}
	}
}

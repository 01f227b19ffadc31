package model

import (
	"fmt"
	"unsafe"
)

// model is one configuration under one set of mutations. It is the system that is explored.
type model struct {
	cfg   *config
	mut   mut
	first [maxClients]uint8 // the first attempt of each client
	self  [maxTxns]uint8    // the transactions
	hist  map[string]bool   // histories that have been judged
	cover [covLast]int

	// Of the step that is being made:
	wrong string
	dirty bool // a caller got an answer
	next  state
	out   func(to *state, wrong string)
	trace bool
	label string
}

// What runs have met on their way: a check that a configuration is not vacuous.
const (
	covMark = iota
	covAllHold
	covConfirmed
	covStartOver
	covUndecided
	covKilled
	covDuplicate
	covOwnFence
	covInDoubt
	covEffective
	covRelief
	covReliefDeep
	covLate
	covDropped
	covLifted
	covReadAfter
	covLast
)

var covNames = [covLast]string{
	covMark:       "committed by a mark",
	covAllHold:    "committed: all hold",
	covConfirmed:  "dead, confirmed",
	covStartOver:  "not confirmed: start over",
	covUndecided:  "undecided: waits or kills",
	covKilled:     "a fence was accepted",
	covDuplicate:  "refused or unknown, but had landed and been folded",
	covOwnFence:   "own fence accepted",
	covInDoubt:    "ErrInDoubt",
	covEffective:  "effective writer changed under the same version",
	covRelief:     "relief folds an intent",
	covReliefDeep: "relief of a cell in the way of a relief",
	covLate:       "a late write was accepted",
	covDropped:    "a mark was dropped",
	covLifted:     "a condemnation was lifted",
	covReadAfter:  "in doubt: dead, another member read after the one that is off",
}

func (m *model) see(what int) {
	if !m.trace {
		m.cover[what]++
	}
}

func newModel(cfg *config, x mut) *model {
	m := &model{cfg: cfg, mut: x, hist: map[string]bool{}}
	for u := range m.self {
		m.self[u] = uint8(u)
	}
	id := uint8(1)
	for i := range cfg.Clients {
		m.first[i] = id
		id += cfg.Clients[i].Attempts
	}
	if id > maxAttempts+1 {
		panic(cfg.Name + ": too many attempts")
	}
	return m
}

// Start is the state in which nobody has done anything.
func (m *model) Start() state {
	s := state{
		Lost: m.cfg.Lost, Duplicate: m.cfg.Duplicates, Crash: m.cfg.Crash, Kill: m.cfg.Kills,
	}
	for c := range maxCells {
		switch m.cfg.cell(uint8(c)) {
		case 'v': // a value
			s.Cell[c] = cell{Exists: 1, Present: 1, Writer: initial}
			s.Cell[c].Recent[0] = initial
		case 't': // an old tombstone, whose writer is forgotten
			s.Cell[c] = cell{Exists: 1}
		}
	}
	for i := range s.Cl {
		if i >= len(m.cfg.Clients) {
			s.Cl[i] = memory{PC: pcDone}
			continue
		}
		for c := range s.Cl[i].V {
			s.Cl[i].V[c] = unread
		}
	}
	return s
}

// Bytes is the state in memory: it has nothing but bytes.
func (m *model) Bytes(s *state) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(s)), int(unsafe.Sizeof(*s)))
}

// Ended reports whether nobody is running any more.
func (m *model) Ended(s *state) bool {
	for i := range m.cfg.Clients {
		if pc := s.Cl[i].PC; pc != pcDone && pc != pcCrashed && pc != pcSweep {
			return false
		}
	}
	return true
}

// Narrate makes Next tell its steps.
func (m *model) Narrate(on bool) { m.trace = on }

// Step is the step just made.
func (m *model) Step() string { return m.label }

func (m *model) fail(format string, args ...any) {
	if m.wrong == "" {
		m.wrong = fmt.Sprintf(format, args...)
	}
}

func (m *model) cname(c uint8) string { return string(rune('a' + c)) }
func (m *model) cl(i int) string      { return m.cfg.Clients[i].Name }
func (m *model) aname(a uint8) string {
	if a == initial {
		return "the initial value"
	}
	if a == 0 {
		return "nobody"
	}
	for i := len(m.cfg.Clients) - 1; i >= 0; i-- {
		if a >= m.first[i] {
			return fmt.Sprintf("%s#%d", m.cl(i), a-m.first[i]+1)
		}
	}
	return "?"
}

// do makes one step: f changes the state, then the client runs to its next call.
func (m *model) do(s *state, i int, f func(n *state), format string, args ...any) {
	m.next = *s
	m.wrong, m.dirty = "", false
	f(&m.next)
	if i >= 0 && m.wrong == "" {
		m.advance(&m.next, i)
	}
	if m.trace {
		m.label = fmt.Sprintf(format, args...)
	}
	if m.wrong == "" {
		m.invariants(&m.next)
	}
	m.out(&m.next, m.wrong)
}

// Next enumerates all steps from s.
func (m *model) Next(s *state, out func(to *state, wrong string)) {
	m.out = out
	m.leaps(s)
	for i := range m.cfg.Clients {
		m.client(s, i)
	}
	for j := range s.Late {
		if s.Late[j].St == opFlying {
			m.do(s, -1, func(n *state) {
				op := n.Late[j]
				n.Late[j] = write{}
				if m.apply(n, &op) {
					m.see(covLate)
				}
				n.packLate()
			}, "a late %s arrives", m.opName(&s.Late[j]))
		}
	}
}

var opNames = [...]string{
	kIntent: "intent",
	kDirect: "direct write",
	kCommit: "commit of the primary",
	kFold:   "fold",
	kFence:  "fence",
	kDrop:   "removal of a pending intent",
	kBeat:   "heartbeat",
	kUpdate: "final action into a lock intent",
}

// opName says what a write is, for whom steps are told.
func (m *model) opName(op *write) string {
	if !m.trace {
		return ""
	}
	switch {
	case op.Att == 0 && op.Exp == absent:
		return "tombstone under an external value, " + m.cname(op.Cell)
	case op.Att == 0:
		return "rewriting of the condemned tombstone " + m.cname(op.Cell)
	}
	return fmt.Sprintf("%s of %s into %s", opNames[op.Kind], m.aname(op.Att), m.cname(op.Cell))
}

// client enumerates the steps of one client.
func (m *model) client(s *state, i int) {
	cl := &s.Cl[i]
	if cl.PC == pcDone {
		return
	}
	for j := range cl.Op {
		if cl.Op[j].St == opFlying {
			m.landing(s, i, j)
		}
	}
	if cl.PC == pcCrashed {
		return
	}
	m.leaves(s, i)
	if m.asks(s, i) {
		return
	}
	// The reads of a phase go on while others' status is asked for.
	if cl.SPC == stLift || cl.SPC != stIdle && !cl.reading() {
		return
	}
	m.reads(s, i)
	if m.mut.roEarlyValidate {
		m.earlyValidation(s, i)
	}
	switch cl.PC {
	case pcIdle:
		m.begins(s, i)
	case pcSweep:
		m.sweeping(s, i)
		m.sweepsValues(s, i)
	case pcUpload:
		m.uploads(s, i)
	}
	m.beats(s, i)
}

// leaves: a client crashes; or its caller leaves, with ErrInDoubt, or while it settles its
// attempt first.
func (m *model) leaves(s *state, i int) {
	cl, who := &s.Cl[i], &m.cfg.Clients[i]
	if who.Crashes && s.Crash > 0 && (cl.PC != pcIdle || cl.Pos > 0) {
		m.do(s, -1, func(n *state) {
			n.Crash--
			m.tell(n, i, hCrashed)
			m.stop(n, i, pcCrashed)
		}, "%s crashes", who.Name)
	}
	if u := who.Leaves; u != 0 && s.Hist[u-1].Stat == hRunning && cl.Alone == 0 &&
		cl.SPC == stIdle {
		m.do(s, i, func(n *state) { m.riderLeaves(n, i) },
			"the caller of %s leaves", m.cfg.Txns[u-1].Name)
	}
	sending := (cl.PC == pcWave || cl.PC == pcCommit) && cl.flying() && cl.SPC == stIdle
	if !who.Quits || cl.Quit != 0 || !sending {
		return
	}
	m.do(s, -1, func(n *state) {
		m.tell(n, i, hInDoubt)
		m.stop(n, i, pcCrashed)
	}, "%s gives up with ErrInDoubt, writes in flight", who.Name)
	m.do(s, i, func(n *state) {
		x := &n.Cl[i]
		x.Quit = 1
		for j := range x.Op {
			if x.Op[j].St == opFlying && m.toLate(n, x.Op[j]) {
				x.Op[j].St = opUnknown
			}
		}
		// It may declare a pending attempt dead while its commit write has not been sent.
		if t := m.txn(n, i); x.PC == pcWave && !t.staged() && !t.direct() && !x.flying() {
			m.dead(n, i, false)
		}
	}, "%s gives up: from now on it only settles its attempt", who.Name)
}

// asks enumerates what a client does that asks for the status of an attempt; it reports whether
// nothing else can happen meanwhile.
func (m *model) asks(s *state, i int) (alone bool) {
	cl, name := &s.Cl[i], m.cl(i)
	switch cl.SPC {
	case stFirst: // only in a mutation
		m.do(s, i, func(n *state) { m.confirmFirst(n, i) },
			"%s reads %s again (before the wave)", name, m.cname(cl.SS))
		return true
	case stWave:
		for c := range uint8(maxCells) {
			if cl.SRem&bit(c) != 0 {
				m.do(s, i, func(n *state) { m.statusRead(n, i, c) },
					"%s, status(%s) for %s: reads %s", name, m.aname(cl.ST), m.cname(cl.SS),
					m.cellText(s, c))
			}
		}
	case stConfirm:
		m.do(s, i, func(n *state) { m.confirm(n, i) },
			"%s, status(%s): reads again, to confirm, %s", name, m.aname(cl.ST),
			m.cellText(s, cl.SS))
	case stUndecided:
		m.waitsOrKills(s, i)
	}
	return false
}

// waitsOrKills (Conflicts): it waits, or kills when its patience has run out.
func (m *model) waitsOrKills(s *state, i int) {
	cl, name := &s.Cl[i], m.cl(i)
	m.see(covUndecided)
	m.do(s, i, func(n *state) { m.again(&n.Cl[i]) },
		"%s finds %s undecided and waits", name, m.aname(cl.ST))
	if m.mut.killNoFence {
		m.do(s, i, func(n *state) {
			m.verdict(n, i, n.Cl[i].ST, false)
			n.Cl[i].endStatus()
		}, "%s declares %s dead without a fence", name, m.aname(cl.ST))
		return
	}
	if s.Kill == 0 || m.cfg.Clients[i].NoKill {
		return
	}
	for _, op := range m.kills(s, i) {
		m.do(s, i, func(n *state) {
			x := &n.Cl[i]
			n.Kill--
			x.SPC = stKill
			x.Op[fenceSlot] = op
		}, "%s sends a kill: %s", name, m.opName(&op))
	}
}

// reads enumerates the reads that are left in a phase.
func (m *model) reads(s *state, i int) {
	cl := &s.Cl[i]
	seq := cl.PC == pcRead && m.txn(s, i).Seq
	todo := cl.Todo
	if cl.List != 0 { // the page has not been answered
		todo &^= m.txn(s, i).Scan
	}
	for c := range uint8(maxCells) {
		if cl.List&bit(c) != 0 {
			m.do(s, i, func(n *state) { m.list(n, i, c) },
				"%s lists, and passes %s", m.cl(i), m.cellText(s, c))
		}
		if todo&bit(c) == 0 {
			continue
		}
		if seq && !m.mut.roEager && (cl.Need != 0 || cl.SPC != stIdle) {
			return
		}
		m.phaseRead(s, i, c)
		if seq || cl.PC == pcRelief || cl.PC == pcFoldRead {
			return // the order is fixed, or does not matter
		}
	}
}

// earlyValidation is a mutation's.
func (m *model) earlyValidation(s *state, i int) {
	cl, t := &s.Cl[i], m.txn(s, i)
	if cl.PC != pcRead || !t.Seq || cl.Todo != 0 {
		return
	}
	for c := range uint8(maxCells) {
		if t.keys()&^cl.Need&^cl.Done&bit(c) != 0 && s.at(c, cl.V[c]) &&
			(cl.I[c] == 0 || m.known(cl, cl.I[c])) && m.effective(cl, c) == cl.Seen[c] {
			m.do(s, i, func(n *state) { n.Cl[i].Done |= bit(c) },
				"%s validates %s too early", m.cl(i), m.cname(c))
		}
	}
}

// begins: the next transaction starts; before, the client may have read a cell into its cache.
func (m *model) begins(s *state, i int) {
	cl, t, name := &s.Cl[i], m.txn(s, i), m.cl(i)
	for c := range uint8(maxCells) {
		if t.Cached&bit(c) != 0 && cl.V[c] == unread {
			m.do(s, -1, func(n *state) { m.snapshot(n, i, c) },
				"%s has in its cache %s", name, m.cellText(s, c))
		}
	}
	m.do(s, i, func(n *state) { m.start(n, i) }, "%s begins %s", name, t.Name)
}

// phaseRead is one read of a phase.
func (m *model) phaseRead(s *state, i int, c uint8) {
	name, text := m.cl(i), m.cellText(s, c)
	switch s.Cl[i].PC {
	case pcRead, pcSettle, pcFoldRead:
		m.do(s, i, func(n *state) { m.snapshot(n, i, c); m.classify(n, i, c) },
			"%s reads %s", name, text)
	case pcValidate, pcROVal:
		m.do(s, i, func(n *state) { m.validateRead(n, i, c) }, "%s validates %s", name, text)
	case pcFate:
		m.do(s, i, func(n *state) { m.fateRead(n, i, c) }, "%s, in doubt, reads %s", name, text)
	case pcRelief:
		x := &s.Cl[i]
		m.do(s, i, func(n *state) { m.reliefRead(n, i, c) },
			"%s, to relieve %s of the mark of %s, reads %s",
			name, m.cname(x.RC), m.aname(x.RU), text)
	case pcResRead:
		m.do(s, i, func(n *state) {
			m.snapshot(n, i, c)
			x := &n.Cl[i]
			x.Todo &^= bit(c)
			if x.I[c] == x.Att {
				x.Op[c] = m.newOp(n, i, kFold, c, x.Att)
			}
		}, "%s, resolving, reads again %s", name, text)
	case pcTogether, pcHolder:
		m.do(s, i, func(n *state) { m.togetherRead(n, i, c) },
			"%s, whose writes have landed far apart, reads %s", name, text)
	case pcReread:
		m.rereads(s, i, c)
	}
}

// rereads: a client reads a cell whose write is of unknown outcome, and does what follows.
func (m *model) rereads(s *state, i int, c uint8) {
	name, text := m.cl(i), m.cellText(s, c)
	var next uint8
	m.do(s, i, func(n *state) {
		x := &n.Cl[i]
		switch next = m.reread(n, i, c); next {
		case resendOrFence:
			kind := kIntent
			if m.txn(n, i).direct() {
				kind = kDirect
			}
			x.Op[c] = m.newOp(n, i, kind, c, x.Att)
			x.Rs |= bit(c)
		case mustFence:
			m.ownFence(n, i, c)
		}
	}, "%s reads again %s", name, text)
	if next == resendOrFence && s.Kill > 0 {
		m.do(s, i, func(n *state) {
			m.reread(n, i, c)
			n.Kill--
			m.ownFence(n, i, c)
		}, "%s reads again %s, and fences its own attempt there", name, text)
	}
}

// cellText says what a cell holds.
func (m *model) cellText(s *state, c uint8) string {
	if !m.trace {
		return ""
	}
	x := &s.Cell[c]
	if x.Exists == 0 {
		return m.cname(c) + " (no object)"
	}
	t := m.cname(c) + " ("
	if x.Condemned == 1 {
		t += "condemned "
	}
	if x.Present == 0 {
		t += "tombstone of " + m.aname(x.Writer)
	} else {
		t += "value of " + m.aname(x.Writer)
	}
	if x.Tx != 0 {
		t += ", intent of " + m.aname(x.Tx)
	}
	for a := uint8(1); a <= maxAttempts; a++ {
		if x.Marks&abit(a) != 0 {
			t += ", mark of " + m.aname(a)
		}
	}
	return t + ")"
}

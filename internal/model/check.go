package model

import "math/bits"

// invariants are checked in every state.
func (m *model) invariants(s *state) {
	// While any cell holds the intent, each folded member of a committed attempt carries its mark.
	for b := range s.Att {
		t := &s.Att[b]
		if t.Truth&truthCommitted == 0 {
			continue
		}
		a := uint8(b + 1)
		held, bare := false, false
		for c := range uint8(maxCells) {
			if s.Cell[c].Tx == a {
				held = true
			}
			if t.Folded&bit(c) != 0 && s.Cell[c].Marks&abit(a) == 0 && m.members(s, a)&bit(c) != 0 {
				bare = true
			}
		}
		if held && bare && !m.mut.noGhost {
			m.fail("a member of %s was folded without its mark, or has lost it, while another one "+
				"holds the intent", m.aname(a))
			return
		}
	}
	m.beliefs(s)
	m.values(s)
	if m.dirty {
		m.serializable(s, nil)
	}
	if m.Ended(s) {
		m.terminal(s)
	}
}

// beliefs: what a client counts on is so, unless it stands still.
func (m *model) beliefs(s *state) {
	for i := range m.cfg.Clients {
		cl := &s.Cl[i]
		for dead := cl.KD; dead != 0 && !m.cfg.Clients[i].Freezes; dead &= dead - 1 {
			if a := low(dead) + 1; s.att(a).Truth&truthCommitted != 0 {
				m.fail("%s still believes that %s is dead; it has committed", m.cl(i), m.aname(a))
			}
		}
	}
}

// serializable looks for one order of the transactions that explains all reads, respects real
// time, and (at the end) the final values.
func (m *model) serializable(s *state, final *[maxCells]uint8) {
	o := ordering{m: m, s: s, final: final}
	for b := range s.Att {
		if t := &s.Att[b]; t.Truth&truthCommitted != 0 {
			for _, u := range m.covers(t.Txn) {
				o.by[u] = uint8(b + 1)
			}
		}
	}
	var room [maxTxns*(maxCells+3) + maxCells]byte
	key := room[:0]
	for u := range m.cfg.Txns {
		h, t, by := &s.Hist[u], &m.cfg.Txns[u], o.by[u]
		if t.Kind > txRead || len(t.Riders) > 0 {
			continue
		}
		if by != 0 || h.Stat == hExists || h.Stat == hOK {
			o.in |= bit(uint8(u))
		}
		switch {
		case h.Stat == hOK && by == 0 && t.Kind == txWrite:
			m.fail("%s reported success, but has not committed", t.Name)
			return
		case (h.Stat == hAborted || h.Stat == hExists) && by != 0:
			m.fail("%s reported failure, but has committed", t.Name)
			return
		}
		key = append(key, h.Stat, h.Before, by)
		key = append(key, h.Seen[:]...)
	}
	if final != nil {
		key = append(key, final[:]...)
	}
	ok, judged := m.hist[string(key)]
	if !judged {
		var values [maxCells]uint8
		for c := range values {
			if m.cfg.cell(uint8(c)) == 'v' {
				values[c] = initial
			}
		}
		ok = o.explains(0, values)
		m.hist[string(key)] = ok
	}
	if !ok {
		m.fail("the history is not strictly serializable")
	}
}

// ordering is the search for an order of transactions.
type ordering struct {
	m     *model
	s     *state
	in    uint8            // the transactions to be ordered
	by    [maxTxns]uint8   // the attempts that committed them
	final *[maxCells]uint8 // the values at the end, if it is one
}

// explains reports whether those that are not done can follow in some order.
func (o *ordering) explains(done uint8, values [maxCells]uint8) bool {
	if done == o.in {
		return o.ends(&values)
	}
	for u := range uint8(maxTxns) {
		left := o.in &^ done
		if left&bit(u) == 0 || o.s.Hist[u].Before&left != 0 || !o.sees(u, &values) {
			continue
		}
		then := values
		if o.by[u] != 0 {
			for c := range uint8(maxCells) {
				if t := &o.m.cfg.Txns[u]; t.members()&bit(c) != 0 && t.action(c) != actLock {
					then[c] = o.by[u]
				}
			}
		}
		if o.explains(done|bit(u), then) {
			return true
		}
	}
	return false
}

// sees reports whether a transaction has read these values.
func (o *ordering) sees(u uint8, values *[maxCells]uint8) bool {
	for c, v := range values {
		w := o.s.Hist[u].Seen[c]
		if w == unseen || o.m.cfg.Txns[u].reads()&bit(uint8(c)) == 0 || w == v {
			continue
		}
		gone := w == absentValue || o.m.isAbsent(o.s, uint8(c), w)
		if !gone || !o.m.isAbsent(o.s, uint8(c), v) {
			return false
		}
	}
	return true
}

// ends reports whether the values are those at the end.
func (o *ordering) ends(values *[maxCells]uint8) bool {
	if o.final == nil {
		return true
	}
	for c, f := range o.final {
		gone := o.m.isAbsent(o.s, uint8(c), f) && o.m.isAbsent(o.s, uint8(c), values[c])
		if f != values[c] && !gone {
			return false
		}
	}
	return true
}

// terminal: nobody is running any more. A fresh client, alone, must be able to
// read and to write every cell in a bounded number of steps; what it reads must
// fit the history; and then the writes still in flight may land.
func (m *model) terminal(s *state) {
	n := *s
	var final [maxCells]uint8
	for c := range uint8(maxCells) {
		if m.cfg.cell(c) == 0 {
			continue
		}
		ok := false
		for tries := 0; tries < 20 && m.wrong == ""; tries++ {
			a := n.Cell[c].Tx
			if a == 0 {
				final[c], ok = n.Cell[c].Writer, true
				break
			}
			v := m.soloStatus(&n, a)
			if v == saidCommitted {
				final[c], ok = n.Cell[c].Writer, true
				if n.Cell[c].Act != actLock {
					final[c] = a
				}
				break
			}
			if v == saidDead {
				final[c], ok = n.Cell[c].Writer, true
				break
			}
		}
		if !ok {
			m.fail("a fresh client cannot read %s", m.cname(c))
			return
		}
	}
	m.serializable(&n, &final)
	for c := uint8(0); c < maxCells && m.wrong == ""; c++ {
		if m.cfg.cell(c) != 0 && !m.soloFold(&n, c, 0) {
			m.fail("a fresh client cannot write %s", m.cname(c))
		}
	}
	// late writes
	for j := range n.Late {
		if op := n.Late[j]; op.St == opFlying {
			m.apply(&n, &op)
		}
	}
	for i := range n.Cl {
		for j := range n.Cl[i].Op {
			if op := n.Cl[i].Op[j]; op.St == opFlying {
				m.apply(&n, &op)
			}
		}
	}
}

// soloStatus is status(T), by a client that is alone; an undecided T is killed.
func (m *model) soloStatus(n *state, a uint8) uint8 {
	t := m.txnOf(n, a)
	say := func(committed bool) uint8 {
		x := n.att(a)
		if committed != (x.Truth&truthCommitted != 0) {
			m.fail("a fresh client gets the status of %s wrong", m.aname(a))
		}
		if committed {
			x.Truth |= saidCommitted
			return saidCommitted
		}
		x.Truth |= saidDead
		return saidDead
	}
	look := t.members()
	if !t.staged() {
		look = bit(t.primary())
	}
	holds, off := uint8(0), uint8(0)
	for k := range uint8(maxCells) {
		if look&bit(k) == 0 {
			continue
		}
		if n.Cell[k].Marks&abit(a) != 0 {
			return say(true)
		}
		if n.Cell[k].Tx == a {
			holds |= bit(k)
		} else if !m.atExpected(n, a, k) {
			off |= bit(k)
		}
	}
	switch {
	case off != 0:
		return say(false)
	case t.staged() && holds == look:
		return say(true)
	case holds == 0 || t.staged():
		k := low(look &^ holds)
		m.apply(n, &write{Kind: kFence, Cell: k, Exp: n.att(a).Exp[k], Att: a})
	default:
		m.apply(n, &write{Kind: kDrop, Cell: t.primary(), Exp: current, Att: a})
	}
	return 0
}

// soloFold settles the intent in c and relieves the cell of all marks.
func (m *model) soloFold(n *state, c uint8, depth int) bool {
	if depth > 12 {
		return false
	}
	for tries := 0; tries < 20 && m.wrong == ""; tries++ {
		a := n.Cell[c].Tx
		var fold uint8
		if a != 0 {
			switch m.soloStatus(n, a) {
			case saidCommitted:
				fold = foldCommitted
				if !m.others(n, c, a) {
					fold |= foldNoMark
				}
			case saidDead:
				fold = foldDead
			default:
				continue
			}
		}
		marks := n.Cell[c].Marks
		for u := uint8(1); u <= maxAttempts; u++ {
			if marks&abit(u) != 0 && !m.others(n, c, u) {
				marks &^= abit(u)
			}
		}
		want := bits.OnesCount8(marks)
		if fold&foldCommitted != 0 && fold&foldNoMark == 0 {
			want++
		}
		if want <= m.cfg.marks() {
			exp := current
			if n.Cell[c].Exists == 0 {
				exp = absent
			}
			return m.apply(n, &write{Kind: kFold, Cell: c, Exp: exp, Fold: fold, Drop: ^marks})
		}
		u := low(marks) + 1
		for k := range uint8(maxCells) {
			if n.Cell[k].Tx == u && !m.soloFold(n, k, depth+1) {
				return false
			}
		}
	}
	return false
}

func (m *model) others(n *state, c, a uint8) bool {
	for k := range uint8(maxCells) {
		if k != c && n.Cell[k].Tx == a {
			return true
		}
	}
	return false
}

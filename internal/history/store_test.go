package history_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/strictkv/strictkv/internal/history"
)

// A store makes histories: clients run transactions against a map. Each has its effect
// at one instant between invocation and return, so that the history is correct, unless
// old lets some run on an older state.
type store struct {
	clients, keys, transactions int
	// kinds are the operations to choose from, by weight: r read, m read and write,
	// w write, i insert, d delete, n read and delete, s scan.
	kinds string
	// list makes values lists: each write appends to the value before.
	list bool
	// The shares of transactions that fail, that fail and are validated, whose
	// outcome stays unknown, and that run on an older state.
	failed, validated, unknown, old float64
	// last ends the history with a read of all keys.
	last bool

	rng     *rand.Rand
	now     int64
	unique  int
	state   map[string]string
	states  []map[string]string
	history []history.Transaction
	late    []int // transactions of unknown outcome that may still happen
}

// worker is a client: idle, or between invocation and effect, or before its return.
type worker struct {
	at   int // in store.history
	step int
}

func (s *store) run(seed uint64) []history.Transaction {
	s.rng = rand.New(rand.NewPCG(seed, 1))
	s.state, s.states, s.history, s.late, s.now, s.unique =
		map[string]string{}, nil, nil, nil, 0, 0
	workers := make([]worker, s.clients)
	for left := s.transactions; left > 0 || slices.ContainsFunc(workers, worker.busy); {
		if s.rng.IntN(4) > 0 {
			s.now++
		}
		if len(s.late) > 0 && s.rng.IntN(8) == 0 {
			i := s.rng.IntN(len(s.late))
			s.effect(s.late[i])
			s.late = slices.Delete(s.late, i, i+1)
		}
		c := s.rng.IntN(len(workers))
		switch w := &workers[c]; w.step {
		case 0:
			if left > 0 {
				left--
				w.at, w.step = s.invoke(fmt.Sprintf("c%d", c)), 1
			}
		case 1:
			w.step = 2
			if t := &s.history[w.at]; t.Status != history.Unknown {
				s.effect(w.at)
			} else {
				s.late = append(s.late, w.at)
			}
		case 2:
			w.step = 0
			s.history[w.at].Returned = s.now
		}
	}
	if s.last {
		s.now++
		at := s.invoke("last")
		t := &s.history[at]
		t.Status, t.Returned, t.Ops = history.Committed, s.now, nil
		for i := range s.keys {
			t.Ops = append(t.Ops, s.read(name(i), s.state))
		}
	}
	return s.history
}

func (w worker) busy() bool { return w.step > 0 }

func name(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return fmt.Sprintf("k%d", i)
}

func (s *store) invoke(client string) int {
	t := history.Transaction{
		ID: fmt.Sprintf("t%d", len(s.history)), Client: client, Invoked: s.now,
		Status: history.Committed,
	}
	switch p := s.rng.Float64(); {
	case p < s.failed:
		t.Status = history.Failed
	case p < s.failed+s.validated:
		t.Status, t.Validated = history.Failed, true
	case p < s.failed+s.validated+s.unknown:
		t.Status = history.Unknown
	}
	// Those that never have their effect have read and written all the same.
	s.history = append(s.history, t)
	at := len(s.history) - 1
	s.history[at].Ops = s.operate(maps.Clone(s.sight()))
	return at
}

// sight is the state at an invocation, which only those whose reads do not count keep.
func (s *store) sight() map[string]string {
	if s.keys > 100 {
		return map[string]string{} // copies would be too large
	}
	return s.state
}

// effect runs a transaction on the state, or on an older one.
func (s *store) effect(at int) {
	t := &s.history[at]
	from := s.state
	if s.old > 0 {
		if s.rng.Float64() < s.old && len(s.states) > 0 {
			from = s.states[max(0, len(s.states)-1-s.rng.IntN(3))]
		}
		s.states = append(s.states, maps.Clone(s.state))
		from = maps.Clone(from)
	}
	undo := map[string]string{}
	if t.Status == history.Failed {
		undo = maps.Clone(from)
	}
	t.Ops = s.operate(from)
	switch {
	case t.Status == history.Failed && s.old == 0:
		s.state = undo
	case t.Status != history.Failed && s.old > 0:
		for _, op := range t.Ops {
			switch op.Kind {
			case history.KindWrite, history.KindInsert:
				s.state[op.Key] = op.Value
			case history.KindDelete:
				delete(s.state, op.Key)
			}
		}
	}
}

// operate runs one to three operations on a state.
func (s *store) operate(state map[string]string) []history.Op {
	var ops []history.Op
	for range 1 + s.rng.IntN(3) {
		key := name(s.rng.IntN(s.keys))
		_, found := state[key]
		switch kind := s.kinds[s.rng.IntN(len(s.kinds))]; kind {
		case 'r':
			ops = append(ops, s.read(key, state))
		case 'm':
			ops = append(ops, s.read(key, state), s.write(key, state))
		case 'w':
			ops = append(ops, s.write(key, state))
		case 'i':
			if found {
				ops = append(ops, history.Exists(key))
			} else {
				op := s.write(key, state)
				op.Kind = history.KindInsert
				ops = append(ops, op)
			}
		case 'n':
			ops = append(ops, s.read(key, state))
			fallthrough
		case 'd':
			delete(state, key)
			ops = append(ops, history.Delete(key))
		case 's':
			ops = append(ops, s.scan(state))
		}
	}
	return ops
}

func (s *store) read(key string, state map[string]string) history.Op {
	if v, ok := state[key]; ok {
		return history.Read(key, v)
	}
	return history.ReadAbsent(key)
}

func (s *store) write(key string, state map[string]string) history.Op {
	s.unique++
	v := fmt.Sprint(s.unique)
	if old, ok := state[key]; ok && s.list {
		v = old + "." + v
	}
	state[key] = v
	return history.Write(key, v)
}

func (s *store) scan(state map[string]string) history.Op {
	scan := history.Scan{From: name(s.rng.IntN(s.keys)), Reverse: s.rng.IntN(2) == 0,
		Limit: s.rng.IntN(3), KeysOnly: s.rng.IntN(4) == 0}
	if s.rng.IntN(2) == 0 {
		scan.To = name(s.rng.IntN(s.keys))
	}
	names := slices.Sorted(maps.Keys(state))
	if scan.Reverse {
		slices.Reverse(names)
	}
	for _, n := range names {
		if n < scan.From || (scan.To != "" && n >= scan.To) {
			continue
		}
		if scan.Limit > 0 && len(scan.Items) == scan.Limit {
			break
		}
		scan.Items = append(scan.Items, history.Item{Key: n, Value: state[n]})
	}
	return history.ScanOf(scan)
}

func elements(v string) []string { return strings.Split(v, ".") }

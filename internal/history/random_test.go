package history_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/history"
)

// styles are histories of all sorts, small enough for a test of each seed.
var styles = []struct {
	name  string
	store store
	exact bool // the order of writes is always determined
	// missed is how many anomalies remain unseen in TestPorcupine at most.
	missed int
}{
	{"counters", store{kinds: "mr"}, true, 0},
	{"lists", store{kinds: "mmwwr", list: true}, true, 0},
	{"blind writes", store{kinds: "wwrr"}, false, 0},
	{"mixture", store{kinds: "mwr"}, false, 0},
	{"inserts and deletes", store{kinds: "rmidn"}, false, 27},
	{"blind deletes", store{kinds: "wdri"}, false, 1},
	{"scans", store{kinds: "ssmwid"}, false, 3},
}

func (s store) sized(rng *rand.Rand) store {
	s.clients, s.keys = 2+rng.IntN(5), 1+rng.IntN(4)
	s.transactions = 3 + rng.IntN(10)
	s.last = rng.IntN(2) == 0
	if rng.IntN(2) == 0 {
		s.failed, s.validated, s.unknown = 0.05, 0.05, 0.2
	}
	return s
}

func (s store) options() history.Options {
	if s.list {
		return history.Options{Elements: elements}
	}
	return history.Options{}
}

func TestSerialHistories(t *testing.T) {
	for _, style := range styles {
		t.Run(style.name, func(t *testing.T) {
			for seed := range uint64(300) {
				s := style.store.sized(rand.New(rand.NewPCG(seed, 2)))
				r := judge(t, s.run(seed), s.options())
				require.NoError(t, r.Err(), "seed %d", seed)
			}
			for seed := range uint64(3) {
				s := style.store
				s.clients, s.keys, s.transactions, s.last = 8, 20, 2000, true
				s.failed, s.validated, s.unknown = 0.02, 0.02, 0.02
				r := judge(t, s.run(seed), s.options())
				require.NoError(t, r.Err(), "seed %d", seed)
				if style.exact {
					require.Zero(t, r.Undetermined)
				}
			}
		})
	}
}

// One read of a history is spoilt: it returns an earlier or a later value of its key.
func TestMutatedReads(t *testing.T) {
	for _, style := range styles {
		if !style.exact {
			continue
		}
		t.Run(style.name, func(t *testing.T) {
			count := 0
			for seed := range uint64(20) {
				s := style.store
				s.clients, s.keys, s.transactions, s.last = 6, 5, 200, true
				s.failed, s.unknown = 0.02, 0.05
				h := s.run(seed)
				rng := rand.New(rand.NewPCG(seed, 3))
				for range 50 {
					what, undo := mutate(rng, h)
					if what == "" {
						continue
					}
					count++
					require.Error(t, judge(t, h, s.options()).Err(), "seed %d: %s", seed, what)
					undo()
				}
				require.NoError(t, judge(t, h, s.options()).Err())
			}
			assert.Greater(t, count, 200)
		})
	}
}

// mutate exchanges a read of a committed transaction for a value that was written far
// from it in time, and that nobody has seen near it, so that it cannot be right.
func mutate(rng *rand.Rand, h []history.Transaction) (what string, undo func()) {
	t := &h[rng.IntN(len(h))]
	i := 0
	if len(t.Ops) > 0 {
		i = rng.IntN(len(t.Ops))
	}
	if t.Status != history.Committed || len(t.Ops) == 0 || t.Ops[i].Kind != history.KindRead {
		return "", nil
	}
	op := &t.Ops[i]
	var others []history.Op
	for j := range h {
		// Far enough away that real time tells.
		if h[j].Status != history.Committed || (h[j].Returned >= t.Invoked-40 &&
			h[j].Invoked <= t.Returned+40) {
			continue
		}
		for _, o := range h[j].Ops {
			if o.Key == op.Key && o.Kind == history.KindWrite && o.Value != op.Value {
				others = append(others, history.Read(o.Key, o.Value))
			}
		}
	}
	if len(others) == 0 {
		return "", nil
	}
	other, saved := others[rng.IntN(len(others))], *op
	if near(h, t, other) {
		return "", nil
	}
	*op = other
	return fmt.Sprintf("%s: %v became %v", t.ID, saved, other), func() { *op = saved }
}

// near reports whether a transaction close to t read or wrote a value.
func near(h []history.Transaction, t *history.Transaction, read history.Op) bool {
	for j := range h {
		if h[j].Status == history.Unknown || h[j].Returned < t.Invoked-40 ||
			h[j].Invoked > t.Returned+40 {
			continue
		}
		for _, o := range h[j].Ops {
			if o.Key == read.Key && o.Value == read.Value {
				return true
			}
		}
	}
	return false
}

// The report depends on the transactions alone: neither on their order, but for that in
// which anomalies are listed, nor on chance.
func TestReportIsRepeatable(t *testing.T) {
	for _, style := range styles {
		for seed := range uint64(50) {
			s := style.store.sized(rand.New(rand.NewPCG(seed, 5)))
			s.old = 0.5
			h := s.run(seed)
			want := judge(t, h, s.options())
			require.Equal(t, want, judge(t, h, s.options()), "%s, seed %d", style.name, seed)
			rand.New(rand.NewPCG(seed, 6)).Shuffle(len(h), func(i, j int) {
				h[i], h[j] = h[j], h[i]
			})
			got := judge(t, h, s.options())
			require.Equal(t, want.Err() == nil, got.Err() == nil, "%s, seed %d", style.name, seed)
		}
	}
}

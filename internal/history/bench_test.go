package history_test

import (
	"testing"

	"github.com/strictkv/strictkv/internal/history"
)

// BenchmarkCheck judges 100 000 transactions of 16 clients on 5000 keys, 5 of them hot
// where it says so.
func BenchmarkCheck(b *testing.B) {
	for _, c := range []struct {
		name  string
		store store
	}{
		{"counters", store{kinds: "mmr"}},
		{"lists", store{kinds: "wwr", list: true}},
		{"blind", store{kinds: "wwrr"}},
		{"mixture", store{kinds: "rmwidn", unknown: 0.01, failed: 0.01}},
		{"hot", store{kinds: "mr", keys: 5}},
		{"hot-blind", store{kinds: "wwrr", keys: 5}},
		{"hot-mixture", store{kinds: "rmwidn", keys: 5, unknown: 0.01}},
	} {
		s := c.store
		s.clients, s.transactions, s.last = 16, 100_000, true
		if s.keys == 0 {
			s.keys = 5000
		}
		h := s.run(1)
		b.Run(c.name, func(b *testing.B) { check(b, h, s.options(), true) })
	}
}

// BenchmarkCheckInvalid has one stale read in the middle of the history.
func BenchmarkCheckInvalid(b *testing.B) {
	s := store{kinds: "mmr", clients: 16, transactions: 100_000, keys: 5000}
	h := s.run(1)
	for i := len(h) / 2; ; i++ {
		if op := &h[i].Ops[0]; op.Kind == history.KindRead && !op.Absent {
			op.Value, op.Absent = "", true
			break
		}
	}
	check(b, h, history.Options{}, false)
}

func check(b *testing.B, h []history.Transaction, o history.Options, valid bool) {
	b.ReportAllocs()
	for b.Loop() {
		r, err := history.Check(h, o)
		if err != nil || (r.Err() == nil) != valid {
			b.Fatal(err, r.Err())
		}
	}
}

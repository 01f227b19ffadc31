package history_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/history"
)

// contents is the state of a whole store with keys a to d; "" is absence.
type contents [4]string

func (c *contents) at(key string) *string { return &c[key[0]-'a'] }

// do applies an operation, and tells whether its result was right. In lists, a write
// appends one element.
func (c *contents) do(op history.Op, lists bool) bool {
	switch op.Kind {
	case history.KindRead:
		return *c.at(op.Key) == op.Value && (op.Value == "") == op.Absent
	case history.KindExists:
		return *c.at(op.Key) != ""
	case history.KindInsert:
		if *c.at(op.Key) != "" {
			return false
		}
		*c.at(op.Key) = op.Value
	case history.KindWrite:
		if past := op.Value[:max(0, strings.LastIndexByte(op.Value, '.'))]; lists &&
			past != *c.at(op.Key) {
			return false
		}
		*c.at(op.Key) = op.Value
	case history.KindDelete:
		*c.at(op.Key) = ""
	case history.KindScan:
		return c.scan(op.Scan)
	}
	return true
}

// scan repeats a scan in the simplest way.
func (c *contents) scan(s *history.Scan) bool {
	var items []history.Item
	for i := range c {
		at := i
		if s.Reverse {
			at = len(c) - 1 - i
		}
		key := string(rune('a' + at))
		in := key >= s.From && (s.To == "" || key < s.To) && c[at] != ""
		if in && (s.Limit == 0 || len(items) < s.Limit) {
			items = append(items, history.Item{Key: key, Value: c[at]})
		}
	}
	if len(items) != len(s.Items) {
		return false
	}
	for i, item := range items {
		if item.Key != s.Items[i].Key || (!s.KeysOnly && item.Value != s.Items[i].Value) {
			return false
		}
	}
	return true
}

// whole is the model of the whole store as one object.
func whole(lists bool) porcupine.Model {
	return (&porcupine.NondeterministicModel{
		Init: func() []any { return []any{contents{}} },
		Step: func(state, input, _ any) []any {
			before := state.(contents)
			after, t := before, input.(*history.Transaction)
			right := true
			for _, op := range t.Ops {
				right = right && after.do(op, lists && t.Status != history.Failed)
			}
			switch {
			case t.Status == history.Unknown && right:
				return []any{before, after}
			case t.Status == history.Unknown:
				return []any{before}
			case !right:
				return nil
			case t.Status == history.Failed:
				return []any{before}
			}
			return []any{after}
		},
	}).ToModel()
}

// linearizable asks porcupine.
func linearizable(h []history.Transaction, lists bool) bool {
	var ops []porcupine.Operation
	for i := range h {
		t := &h[i]
		if t.Status == history.Failed && !t.Validated {
			continue
		}
		op := porcupine.Operation{ClientId: i, Input: t, Call: t.Invoked, Return: t.Returned}
		if t.Status == history.Unknown {
			op.Return = math.MaxInt64
		}
		ops = append(ops, op)
	}
	return porcupine.CheckOperations(whole(lists), ops)
}

// Both checkers must agree where the history leaves nothing open. Elsewhere Check may
// miss an anomaly, and must never see one that is none.
func TestPorcupine(t *testing.T) {
	const seeds = 2000
	for _, style := range styles {
		t.Run(style.name, func(t *testing.T) {
			var valid, invalid, missed int
			for seed := range uint64(seeds) {
				rng := rand.New(rand.NewPCG(seed, 4))
				s := style.store.sized(rng)
				if rng.IntN(4) > 0 {
					s.old = 0.3
				}
				h := s.run(seed)
				if rng.IntN(2) == 0 {
					scramble(rng, h)
				}
				r := judge(t, h, s.options())
				want := linearizable(h, s.list)
				frugal := judge(t, h, s.options().WithLanes(1+rng.IntN(2)))
				if frugal.Err() != nil || frugal.Undetermined == 0 {
					require.Equal(t, want, frugal.Err() == nil, "seed %d: %s", seed, show(h))
				}
				switch {
				case want:
					valid++
					require.NoError(t, r.Err(), "a false alarm at seed %d: %s", seed, show(h))
				case r.Err() != nil:
					invalid++
				default:
					missed++
					require.NotZero(t, r.Undetermined, "missed at seed %d: %s", seed, show(h))
					require.False(t, style.exact, "missed at seed %d: %s", seed, show(h))
				}
			}
			t.Logf("%d valid, %d invalid, %d missed", valid, invalid, missed)
			assert.Greater(t, valid, seeds/10)
			assert.Greater(t, invalid, seeds/10)
			assert.LessOrEqual(t, missed, style.missed)
		})
	}
}

// scramble lets one read return what another read of the key returned.
func scramble(rng *rand.Rand, h []history.Transaction) {
	var reads []*history.Op
	for i := range h {
		for j := range h[i].Ops {
			if h[i].Ops[j].Kind == history.KindRead {
				reads = append(reads, &h[i].Ops[j])
			}
		}
	}
	if len(reads) == 0 {
		return
	}
	a, b := reads[rng.IntN(len(reads))], reads[rng.IntN(len(reads))]
	if a.Key == b.Key {
		*a = *b
	}
}

func show(h []history.Transaction) string {
	var b strings.Builder
	_ = history.Encode(&b, h...)
	return "\n" + b.String()
}

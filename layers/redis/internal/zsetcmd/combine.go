package zsetcmd

import (
	"errors"
	"math"
	"slices"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/fields"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// combining is what ZUNION and its like are asked for.
type combining struct {
	keys      [][]byte
	weights   []float64
	aggregate func(a, b float64) float64
	scores    bool
	limit     int // of how many are counted, 0 is none
}

// What may be asked for beside keys.
const (
	withWeights = 1 << iota
	withScores
	withLimit
)

func zunion(c *command.Call) error { return combined(c, withWeights|withScores, union) }
func zinter(c *command.Call) error { return combined(c, withWeights|withScores, intersection) }
func zdiff(c *command.Call) error  { return combined(c, withScores, difference) }

func zunionstore(c *command.Call) error { return combineInto(c, withWeights, union) }
func zinterstore(c *command.Call) error { return combineInto(c, withWeights, intersection) }
func zdiffstore(c *command.Call) error  { return combineInto(c, 0, difference) }

// combine makes one set of several, in any order.
type combine func(o *combining, sets [][]entry) map[string]float64

func combined(c *command.Call, allowed int, f combine) error {
	var o combining
	entries, err := o.run(c, 1, allowed, f)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, compare)
	reply(c, entries, o.scores)
	return nil
}

func combineInto(c *command.Call, allowed int, f combine) error {
	var o combining
	entries, err := o.run(c, 2, allowed, f)
	if err != nil {
		return err
	}
	return store(c, c.Args[1], entries)
}

func zintercard(c *command.Call) error {
	var o combining
	entries, err := o.run(c, 1, withLimit, intersection)
	if err != nil {
		return err
	}
	n := len(entries)
	if o.limit > 0 {
		n = min(n, o.limit)
	}
	c.Out.Int(int64(n))
	return nil
}

// run reads the arguments from the number of keys on, then the sets, and combines these.
func (o *combining) run(c *command.Call, at, allowed int, f combine) ([]entry, error) {
	n, err := c.Int(at)
	if err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, resp.Error("ERR at least 1 input key is needed for '" +
			lower(c.Args[0]) + "' command")
	}
	if n > int64(len(c.Args)-at-1) {
		return nil, command.ErrSyntax
	}
	o.keys = c.Args[at+1 : at+1+int(n)]
	sets := make([][]entry, n)
	first := make(map[string]int, n)
	for i, key := range o.keys {
		if at, twice := first[string(key)]; twice {
			sets[i] = sets[at] // whose memory counts once
			continue
		}
		if sets[i], err = entriesOf(c, key); err != nil {
			return nil, err
		}
		first[string(key)] = i
	}
	if err := o.parse(c.Args[at+1+int(n):], allowed); err != nil {
		return nil, err
	}
	var entries []entry
	for member, score := range f(o, sets) {
		entries = append(entries, entry{[]byte(member), score})
	}
	return entries, nil
}

// entriesOf are those of a sorted set, or the members of a plain one, each with score 1.
func entriesOf(c *command.Call, key []byte) ([]entry, error) {
	z, err := open(c, key)
	if err == nil {
		return z.entries()
	}
	if !errors.Is(err, keys.ErrWrongType) {
		return nil, err
	}
	set, err := fields.Open(c.Tx, key, keys.Set)
	if err != nil {
		return nil, err
	}
	members, err := set.Names()
	if err != nil {
		return nil, err
	}
	entries := make([]entry, len(members))
	for i, member := range members {
		entries[i] = entry{member, 1}
	}
	return entries, nil
}

// parse reads the arguments behind the keys.
func (o *combining) parse(args [][]byte, allowed int) (err error) {
	o.aggregate = sum
	for i := 0; i < len(args); i++ {
		rest := args[i+1:]
		switch {
		case allowed&withWeights != 0 && command.Is(args[i], "WEIGHTS") && len(rest) >= len(o.keys):
			o.weights = make([]float64, len(o.keys))
			for j := range o.weights {
				var ok bool
				if o.weights[j], ok = command.ParseFloat(rest[j]); !ok {
					return resp.Error("ERR weight value is not a float")
				}
			}
			i += len(o.keys)
		case allowed&withWeights != 0 && command.Is(args[i], "AGGREGATE") && len(rest) > 0:
			if o.aggregate = aggregates(rest[0]); o.aggregate == nil {
				return command.ErrSyntax
			}
			i++
		case allowed&withScores != 0 && command.Is(args[i], "WITHSCORES"):
			o.scores = true
		case allowed&withLimit != 0 && command.Is(args[i], "LIMIT") && len(rest) > 0:
			n, ok := resp.ParseInt(rest[0])
			if !ok || n < 0 {
				return resp.Error("ERR LIMIT can't be negative")
			}
			o.limit = int(min(n, math.MaxInt32))
			i++
		default:
			return command.ErrSyntax
		}
	}
	return nil
}

// aggregates is how AGGREGATE makes one score of two; nil if that is no way.
func aggregates(arg []byte) func(a, b float64) float64 {
	switch {
	case command.Is(arg, "SUM"):
		return sum
	case command.Is(arg, "MIN"):
		return func(a, b float64) float64 { return min(a, b) }
	case command.Is(arg, "MAX"):
		return func(a, b float64) float64 { return max(a, b) }
	}
	return nil
}

// sum is a plus b; 0 of infinities that are opposite.
func sum(a, b float64) float64 { return number(a + b) }

// number is a score, 0 in place of NaN.
func number(score float64) float64 {
	if math.IsNaN(score) {
		return 0
	}
	return score
}

// weighted is the score of an entry of the set with an index.
func (o *combining) weighted(e entry, set int) float64 {
	if o.weights == nil {
		return e.score
	}
	return number(o.weights[set] * e.score)
}

func union(o *combining, sets [][]entry) map[string]float64 {
	all := map[string]float64{}
	for i, set := range sets {
		for _, e := range set {
			score := o.weighted(e, i)
			if other, is := all[string(e.member)]; is {
				score = o.aggregate(other, score)
			}
			all[string(e.member)] = score
		}
	}
	return all
}

func intersection(o *combining, sets [][]entry) map[string]float64 {
	var all map[string]float64
	for i, set := range sets {
		both := map[string]float64{}
		for _, e := range set {
			score := o.weighted(e, i)
			other, is := all[string(e.member)]
			switch {
			case i == 0:
				both[string(e.member)] = score
			case is:
				both[string(e.member)] = o.aggregate(other, score)
			}
		}
		all = both
	}
	return all
}

func difference(_ *combining, sets [][]entry) map[string]float64 {
	all := map[string]float64{}
	for i, set := range sets {
		for _, e := range set {
			if i == 0 {
				all[string(e.member)] = e.score
			} else {
				delete(all, string(e.member))
			}
		}
	}
	return all
}

// Package explore runs through the states of a closed system: all of them, nearest first, or
// those of random runs. It knows nothing of what the system is.
package explore

import (
	"math/rand"
	"time"
)

// System is a closed system of which all runs are to be looked at.
type System[S any] interface {
	// Start returns the state in which every run begins.
	Start() S
	// Next calls out with each state that one step leads to from s, and with what is wrong
	// with it, "" if nothing is. The state is valid until out returns.
	Next(s *S, out func(to *S, wrong string))
	// Ended reports whether a run may end in s.
	Ended(s *S) bool
	// Bytes returns the memory of s. States are equal if it is.
	Bytes(s *S) []byte
	// Narrate makes Next tell its steps, which takes time.
	Narrate(on bool)
	// Step returns the step that out is being called for.
	Step() string
}

// Result is what was found.
type Result struct {
	States, Depth, Steps int
	// Whole says that no state is left.
	Whole bool
	// Wrong is what was found to be wrong, "" if nothing was, and Trace the steps to it.
	Wrong string
	Trace []string
	// Endless counts random runs that did not end.
	Endless int
	Took    time.Duration
}

// stepsMax is where a random run that has not ended is given up.
const stepsMax = 3000

type node[S any] struct {
	s  S
	at uint32
}

// search is a breadth-first search: what it finds wrong first is a nearest one.
type search[S any] struct {
	sys    System[S]
	seen   *visited
	root   uint32
	next   []node[S]
	result Result
}

// All visits every state, until something is wrong, or limit states have been seen.
func All[S any](sys System[S], limit int) Result {
	begun := time.Now()
	x := &search[S]{sys: sys, seen: newVisited()}
	start := sys.Start()
	x.root, _ = x.seen.add(hash(sys.Bytes(&start)), 0)
	layer := []node[S]{{start, x.root}}
	for len(layer) > 0 && x.result.Wrong == "" && len(x.seen.keys) < limit {
		for i := range layer {
			if x.visit(&layer[i]); x.result.Wrong != "" || len(x.seen.keys) >= limit {
				break
			}
		}
		layer, x.next = x.next, layer[:0]
		x.result.Depth++
	}
	r := x.result
	r.States, r.Took = len(x.seen.keys), time.Since(begun)
	r.Whole = r.Wrong == "" && len(x.seen.keys) < limit
	return r
}

// visit looks at all that may follow one state.
func (x *search[S]) visit(from *node[S]) {
	count := 0
	x.sys.Next(&from.s, func(to *S, wrong string) {
		count++
		switch {
		case x.result.Wrong != "":
		case wrong != "":
			x.result.Wrong = wrong
		default:
			if at, fresh := x.seen.add(hash(x.sys.Bytes(to)), from.at); fresh {
				x.next = append(x.next, node[S]{*to, at})
			}
		}
	})
	x.result.Steps += count
	if count == 0 && !x.sys.Ended(&from.s) {
		x.result.Wrong = "nobody can go on"
	}
	if x.result.Wrong != "" {
		x.result.Trace = x.replay(from.at, x.result.Wrong)
	}
}

// replay walks back from an entry, and then forward again, with words.
func (x *search[S]) replay(at uint32, wrong string) []string {
	var path []key
	for ; at != x.root; at = x.seen.parent[at] {
		path = append(path, x.seen.keys[at])
	}
	x.sys.Narrate(true)
	defer x.sys.Narrate(false)
	s := x.sys.Start()
	var words []string
	for i := len(path) - 1; i >= 0; i-- {
		found := false
		var reached S
		x.sys.Next(&s, func(to *S, _ string) {
			if !found && hash(x.sys.Bytes(to)) == path[i] {
				found, reached = true, *to
				words = append(words, x.sys.Step())
			}
		})
		s = reached
	}
	last := ""
	x.sys.Next(&s, func(_ *S, problem string) {
		if last == "" && problem == wrong {
			last = x.sys.Step()
		}
	})
	if last != "" {
		words = append(words, last)
	}
	return words
}

// Random takes random runs: for systems that are too large to visit every state.
func Random[S any](sys System[S], runs int, seed int64) Result {
	begun := time.Now()
	sys.Narrate(true)
	defer sys.Narrate(false)
	rnd := rand.New(rand.NewSource(seed))
	var r Result
	for ; runs > 0 && r.Wrong == ""; runs-- {
		s := sys.Start()
		r.Trace = r.Trace[:0]
		ended := false
		for steps := 0; steps < stepsMax && !ended && r.Wrong == ""; steps++ {
			var pick S
			var step string
			n := 0
			sys.Next(&s, func(to *S, wrong string) {
				if n++; rnd.Intn(n) == 0 {
					pick, step, r.Wrong = *to, sys.Step(), wrong
				}
			})
			if n == 0 {
				break
			}
			r.States++
			r.Trace = append(r.Trace, step)
			s = pick
			ended = sys.Ended(&s)
		}
		if !ended && r.Wrong == "" {
			r.Endless++
		}
	}
	r.Took = time.Since(begun)
	return r
}

package mutants

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// survived stands for what has failed where nothing has.
const survived = "-"

// results are what suites have said of mutants, in this run and in those before.
type results struct {
	mu    sync.Mutex
	known map[string]map[string]string // by mutant's key and suite's label: what has failed
}

// readResults reads those of runs before.
func readResults(t *testing.T) *results {
	r := &results{known: map[string]map[string]string{}}
	if *record == "" {
		return r
	}
	data, err := os.ReadFile(*record)
	if os.IsNotExist(err) {
		return r
	}
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		require.Len(t, f, 3, line)
		r.put(f[2], f[0], f[1])
	}
	return r
}

func (r *results) put(key, label, failed string) {
	if r.known[key] == nil {
		r.known[key] = map[string]string{}
	}
	r.known[key][label] = failed
}

// note adds what a suite says of a mutant.
func (r *results) note(t *testing.T, m mutant, s *suite, failed string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(m.key(), s.label(), failed)
	if *record == "" {
		return
	}
	f, err := os.OpenFile(*record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = fmt.Fprintf(f, "%s\t%s\t%s\n", s.label(), failed, m.key())
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// killer is the label of the suite that has killed a mutant, and what has failed there.
func (r *results) killer(m mutant, suites []*suite) (by, failed string) {
	for _, s := range suites {
		if failed := r.known[m.key()][s.label()]; failed != "" && failed != survived {
			return s.label(), failed
		}
	}
	return survived, ""
}

// run gives mutants to one suite after another, until one kills them. Those that took too long
// by the clock are given to it again, one by one: the machine may have stood still.
func (r *results) run(t *testing.T, all []mutant, suites []*suite) {
	for i, s := range suites {
		var left []mutant
		for _, m := range all {
			by, _ := r.killer(m, suites[:i])
			asked := by == survived || *share && s.name == simulation
			if asked && r.known[m.key()][s.label()] == "" {
				left = append(left, m)
			}
		}
		if left == nil {
			continue
		}
		s.measure(t)
		var late []mutant
		atOnce(left, func(m mutant) {
			killed, says := s.kills(t, m.id)
			if says == tooLong {
				r.mu.Lock()
				late = append(late, m)
				r.mu.Unlock()
				return
			}
			r.note(t, m, s, first(killed, says))
		})
		for _, m := range late {
			killed, says := s.kills(t, m.id)
			r.note(t, m, s, first(killed, says))
		}
	}
}

// atOnce does something with all mutants, some of them at once.
func atOnce(all []mutant, do func(mutant)) {
	next := make(chan mutant)
	var wg sync.WaitGroup
	for range max(*workers, 1) {
		wg.Go(func() {
			for m := range next {
				do(m)
			}
		})
	}
	for _, m := range all {
		next <- m
	}
	close(next)
	wg.Wait()
}

var failure = regexp.MustCompile(
	`schedule (\d+): |--- FAIL: (\S+)|` + tooMuch + `|` + tooLong + `|(panic: .*)|(fatal error: .*)`)

// first is what has failed first.
func first(killed bool, says string) string {
	if !killed {
		return survived
	}
	if f := strings.TrimSpace(failure.FindString(says)); f != "" {
		return f
	}
	return "?"
}

package mutants

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSample: of a package with a place for each kind of mutant, the test kills all but what can't
// be told from the original.
func TestSample(t *testing.T) {
	p := newPlan(t, "testdata", "sample")
	s := p.build(t, &suite{name: "sample"})[0]
	s.measure(t)
	var left []string
	for _, m := range p.all {
		if killed, _ := s.kills(t, m.id); !killed {
			left = append(left, m.key())
		}
	}
	assert.Equal(t, []string{"sample Tally.Add: drop t.check()"}, left)
	t.Log(len(p.all), "mutants")
}

var (
	run      = flag.Bool("mutants.run", false, "run the mutants of the engine")
	packages = flag.String("mutants.packages", "commit,resolve,store,scan", "those to mutate")
	sampled  = flag.Int("mutants.sample", 0, "how many mutants of each package; 0 is all")
	only     = flag.String("mutants.only", "", "only those whose key matches the expression")
	seeds    = flag.Int("mutants.seeds", 120, "schedules of the simulation for each")
	suites   = flag.String("mutants.suites", "", "only suites whose label matches the expression")
	share    = flag.Bool("mutants.share", false, "simulate what other tests kill, too")
	slow     = flag.Bool("mutants.slow", false, "at the end, the slow tests, too")
	workers  = flag.Int("mutants.workers", 1, "mutants at once")
	built    = flag.String("mutants.built", "", "folder of tests built before, of the same source")
	record   = flag.String("mutants.record", "", "file of results: what is in it is not run again")
)

// TestMutants runs the mutants of the engine, package by package: all under simulation, those
// that survive it in the tests of a next package, and so on. It prints who has killed each; those
// that survive all fail the test, but for those that the table explains.
func TestMutants(t *testing.T) {
	if !*run {
		t.Skip("takes hours: set -mutants.run to run it")
	}
	p := mutated(t, *packages)
	all := p.build(t, engine()...)
	r, explained := readResults(t), explanations(t)
	names := strings.Split(*packages, ",")
	order := map[string][]*suite{}
	for _, name := range names {
		order[name] = ordered(all, name)
	}
	for i := range all { // one suite of each package, then the next: the cheapest come first
		for _, name := range names {
			r.run(t, p.chosen(name), order[name][:min(i+1, len(order[name]))])
		}
	}
	for _, name := range names {
		chosen := p.chosen(name)
		tally := map[string]int{}
		for _, m := range chosen {
			by, failed := r.killer(m, all)
			fmt.Printf("%s: %s %s\n", m, by, failed)
			if by == survived && explained[m.key()] != "" {
				by = "explained"
			} else if by == survived {
				t.Errorf("survived: %s", m)
			}
			tally[by]++
		}
		fmt.Println(name, len(chosen), tally)
	}
}

// chosen are the mutants of a package that are to be run.
func (p *plan) chosen(name string) []mutant {
	wanted := regexp.MustCompile(*only)
	var of []mutant
	for _, m := range p.all {
		if path.Base(path.Dir(m.file)) == name && wanted.MatchString(m.key()) {
			of = append(of, m)
		}
	}
	if *sampled > 0 {
		r := rand.New(rand.NewPCG(1, 2))
		r.Shuffle(len(of), func(i, k int) { of[i], of[k] = of[k], of[i] })
		of = of[:min(*sampled, len(of))]
	}
	return of
}

// mutated are the packages as they are now, with their mutants.
func mutated(t *testing.T, names string) *plan {
	var folders []string
	for name := range strings.SplitSeq(names, ",") {
		folders = append(folders, "internal/"+name)
	}
	return newPlan(t, "../../..", folders...)
}

// classes are why a mutant may survive.
var classes = []string{"equivalent", "speed", "report", "limit"}

// explanations are the rows of survivors.txt: "class: reason" by key.
func explanations(t *testing.T) map[string]string {
	f, err := os.Open("survivors.txt")
	require.NoError(t, err)
	defer f.Close()
	all := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		key, why, ok := strings.Cut(line, " | ")
		require.True(t, ok, "%s", line)
		class, _, _ := strings.Cut(why, ": ")
		assert.True(t, slices.Contains(classes, class), "%s", line)
		assert.NotContains(t, all, key, "twice")
		all[key] = why
	}
	return all
}

// TestTable: each row of the table of survivors is of a mutant that there is.
func TestTable(t *testing.T) {
	keys := map[string]bool{}
	for _, m := range mutated(t, flag.Lookup("mutants.packages").DefValue).all {
		keys[m.key()] = true
	}
	for key := range explanations(t) {
		assert.True(t, keys[key], "no such mutant: %s", key)
	}
}

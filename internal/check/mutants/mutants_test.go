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
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSample: of a package with a place for each kind of mutant, the test kills all but what can't
// be told from the original.
func TestSample(t *testing.T) {
	p := newPlan(t, "testdata", "sample")
	s := p.build(t, suite{name: "sample", limit: time.Minute})[0]
	var left []string
	for _, m := range p.all {
		if killed, _ := s.kills(t, m.id); !killed {
			left = append(left, m.key())
		}
	}
	killed, says := s.kills(t, 0)
	require.False(t, killed, says)
	assert.Equal(t, []string{"sample Tally.Add: drop t.check()"}, left)
	t.Log(len(p.all), "mutants")
}

var (
	run      = flag.Bool("mutants.run", false, "run the mutants of the engine")
	packages = flag.String("mutants.packages", "commit,resolve,store,scan", "those to mutate")
	sampled  = flag.Int("mutants.sample", 0, "how many mutants of each package; 0 is all")
	only     = flag.String("mutants.only", "", "only those whose key matches the expression")
	seeds    = flag.Int("mutants.seeds", 400, "schedules of the simulation for each")
	record   = flag.String("mutants.record", "", "file of results: what is in it is not run again")
)

// Limits of what a mutant may take, in real time.
const (
	simulationMax = 5 * time.Minute
	unitsMax      = 5 * time.Minute
)

// units are the packages whose tests are asked after the simulation.
var units = []string{
	"internal/commit", "internal/resolve", "internal/store", "internal/scan", "internal/txn",
	"internal/cleanup", "internal/sweep", "internal/feed", ".", "internal/check/system",
}

// mutated are the packages as they are now, with their mutants.
func mutated(t *testing.T, names string) *plan {
	var folders []string
	for name := range strings.SplitSeq(names, ",") {
		folders = append(folders, "internal/"+name)
	}
	return newPlan(t, "../../..", folders...)
}

// TestMutants runs the mutants of the engine: first under simulation, and those that survive in
// the tests of the packages. It prints those that survive all, but for those that the table
// explains.
func TestMutants(t *testing.T) {
	if !*run {
		t.Skip("takes hours: set -mutants.run to run it")
	}
	p := mutated(t, *packages)
	suites := []suite{{name: "internal/sim", limit: simulationMax, args: []string{"-test.cpu=1",
		"-test.run=^TestSim$", "-sim.shrink=false", fmt.Sprintf("-sim.seeds=%d", *seeds)}}}
	for _, u := range units {
		args := []string{"-test.failfast", "-test.short"}
		suites = append(suites, suite{name: u, limit: unitsMax, args: args})
	}
	suites = p.build(t, suites...)
	for _, s := range suites {
		killed, says := s.kills(t, 0)
		require.False(t, killed, "%s fails without any mutant:\n%s", s.name, says)
	}
	known, explained := results(t), explanations(t)
	for _, m := range p.chosen() {
		by, ran := known[m.key()]
		if !ran {
			by = killer(t, suites, m)
			note(t, m, by)
		}
		fmt.Printf("%-12s %s\n", by, m)
		if by == survived && explained[m.key()] == "" {
			t.Errorf("survived: %s", m)
		}
	}
}

// survived stands for the suite that no test of has failed.
const survived = "-"

// killer is the suite that kills a mutant.
func killer(t *testing.T, suites []suite, m mutant) string {
	for _, s := range suites {
		if killed, says := s.kills(t, m.id); killed {
			return path.Base(s.name) + " " + first(says)
		}
	}
	return survived
}

var failure = regexp.MustCompile(`schedule (\d+): |--- FAIL: (\S+)|no end within|(panic: .*)`)

// first is what has failed first.
func first(says string) string {
	return strings.TrimSpace(failure.FindString(says))
}

// chosen are the mutants to run.
func (p *plan) chosen() []mutant {
	wanted := regexp.MustCompile(*only)
	byPackage := map[string][]mutant{}
	for _, m := range p.all {
		if wanted.MatchString(m.key()) {
			name := path.Base(path.Dir(m.file))
			byPackage[name] = append(byPackage[name], m)
		}
	}
	var all []mutant
	for _, name := range strings.Split(*packages, ",") {
		of := byPackage[name]
		if *sampled > 0 {
			r := rand.New(rand.NewPCG(1, 2))
			r.Shuffle(len(of), func(i, k int) { of[i], of[k] = of[k], of[i] })
			of = of[:min(*sampled, len(of))]
		}
		all = append(all, of...)
	}
	return all
}

// results are those of runs before.
func results(t *testing.T) map[string]string {
	known := map[string]string{}
	if *record == "" {
		return known
	}
	data, err := os.ReadFile(*record)
	if os.IsNotExist(err) {
		return known
	}
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		by, key, _ := strings.Cut(strings.TrimSpace(line), "\t")
		known[key] = by
	}
	return known
}

func note(t *testing.T, m mutant, by string) {
	if *record == "" {
		return
	}
	f, err := os.OpenFile(*record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = fmt.Fprintf(f, "%s\t%s\n", by, m.key())
	require.NoError(t, err)
	require.NoError(t, f.Close())
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

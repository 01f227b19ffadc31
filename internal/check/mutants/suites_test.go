package mutants

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// simulation is the first suite.
const simulation = "internal/sim"

// units are the packages whose tests are asked after the simulation: those of the engine, the
// cheapest first, and what is above them.
var units = []string{
	"internal/commit", "internal/resolve", "internal/store", "internal/cleanup", "internal/sweep",
	"internal/feed", "internal/txn", "internal/scan", ".", system,
}

const system = "internal/check/system"

// slowTests are those of check/system that take nearly all of its time.
const slowTests = "^(TestNothingGrowsInAnHour|TestStress|TestSweepIsAsFastAsItsRequests|" +
	"TestNothingButLiveDataIsLeft|TestNemesis|TestBacklogOfUnlinkingIsBounded|" +
	"TestScanTooManyKeys|TestChurn|TestScanUnderWrites|TestLoadKilled|" +
	"TestSweepWhileOthersWork|TestInlineTable|TestScanOnEveryStore|TestMemoryOfLargeValues)$"

// engine are the tests that mutants of the engine are given to, in that order.
func engine() []suite {
	all := []suite{{name: simulation, args: []string{"-test.cpu=1",
		"-test.run=^TestSim$", "-sim.shrink=false", fmt.Sprintf("-sim.seeds=%d", *seeds)}}}
	short := []string{"-test.failfast", "-test.short"}
	for _, u := range units {
		s := suite{name: u, args: short}
		if u == system {
			s.args = append(slices.Clone(short), "-test.skip="+slowTests)
		}
		all = append(all, s)
	}
	if *slow {
		args := append(slices.Clone(short), "-test.run="+slowTests)
		all = append(all, suite{name: system, part: "slow", args: args})
	}
	wanted := regexp.MustCompile(*suites)
	return slices.DeleteFunc(all, func(s suite) bool { return !wanted.MatchString(s.label()) })
}

// ordered has those tests come first that were written for a package: most of them are cheap.
func ordered(all []suite, name string) []suite {
	own := "internal/" + name
	if name == "commit" {
		own = "internal/txn"
	}
	rank := func(s suite) int {
		switch s.name {
		case own:
			return 0
		case simulation:
			return 1
		}
		return 2
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b suite) int { return rank(a) - rank(b) })
	return all
}

// label names the suite in results.
func (s suite) label() string {
	return strings.TrimSpace(path.Base(s.name) + " " + s.part)
}

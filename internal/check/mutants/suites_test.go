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

// slowTests are those of a package that take nearly all of its time.
var slowTests = map[string]string{
	"internal/scan": "^TestWalkReverseInBoundedMemory$",
	".": "^(TestFollowersEndWithWhatIsThere|TestReadMultiMax|TestLoadIsRepeatedFromItsBeginning|" +
		"TestLoadEnds|TestInspect)$",
	system: "^(TestNothingGrowsInAnHour|TestStress|TestSweepIsAsFastAsItsRequests|" +
		"TestNothingButLiveDataIsLeft|TestNemesis|TestBacklogOfUnlinkingIsBounded|" +
		"TestScanTooManyKeys|TestChurn|TestScanUnderWrites|TestLoadKilled|" +
		"TestSweepWhileOthersWork|TestInlineTable|TestScanOnEveryStore|TestMemoryOfLargeValues|" +
		"TestItemsAtScale|TestLoadKeepsLittle|TestNoDoubtInACrowd|TestFarBehindOnServers|" +
		"TestContention|TestDrop|TestCollections|TestCheckWhileOthersWork|TestWalksOnEveryStore|" +
		"TestBacklogIsBounded|TestMemoryOfALargeUpdate|TestScanModel|TestLoadBoundsBytes)$",
}

// engine are the tests that mutants of the engine are given to, in that order.
func engine() []*suite {
	all := []*suite{{name: simulation, only: "^TestSim$", args: []string{"-test.cpu=1",
		"-sim.shrink=false", fmt.Sprintf("-sim.seeds=%d", *seeds)}}}
	short := []string{"-test.failfast", "-test.short"}
	for _, u := range units {
		all = append(all, &suite{name: u, skip: slowTests[u], args: short})
	}
	for _, u := range units {
		if *slow && slowTests[u] != "" {
			all = append(all, &suite{name: u, part: "slow", only: slowTests[u], args: short})
		}
	}
	wanted := regexp.MustCompile(*suites)
	return slices.DeleteFunc(all, func(s *suite) bool { return !wanted.MatchString(s.label()) })
}

// ordered has those tests come first that were written for a package: most of them are cheap.
func ordered(all []*suite, name string) []*suite {
	own := "internal/" + name
	if name == "commit" {
		own = "internal/txn"
	}
	rank := func(s *suite) int {
		switch {
		case s.part != "":
			return 3
		case s.name == own:
			return 0
		case s.name == simulation:
			return 1
		}
		return 2
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *suite) int { return rank(a) - rank(b) })
	return all
}

// label names the suite in results.
func (s *suite) label() string {
	return strings.TrimSpace(path.Base(s.name) + " " + s.part)
}

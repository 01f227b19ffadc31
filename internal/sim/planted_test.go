package sim_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	planted     = flag.Int("sim.planted", 0, "plant bugs, and search each so many times")
	plantedName = flag.String("sim.bug", "", "plant only the bugs whose name contains it")
)

// Limits of a search: how many schedules may go by until a planted bug is found, of all
// workloads in turn, or of the only one in which it matters.
const (
	plantedMax      = 2000
	plantedAloneMax = 10_000
)

// TestBugsAreAnchored: each planted bug changes one place in the source, wherever that is now.
func TestBugsAreAnchored(t *testing.T) {
	for _, b := range bugs {
		source, err := os.ReadFile(filepath.Join("../..", b.file))
		require.NoError(t, err, b.name)
		assert.Equal(t, 1, strings.Count(string(source), b.good), "%s: in %s", b.name, b.file)
	}
}

// TestPlanted breaks the engine on purpose, one rule at a time, and counts how many
// schedules it takes until somebody notices. The good engine passes the same ones
// (TestSim).
func TestPlanted(t *testing.T) {
	if *planted == 0 {
		t.Skip("searches each bug on a core: set -sim.planted=1 to run it")
	}
	all := buildAll(t)
	for i, b := range bugs {
		if !strings.Contains(b.name, *plantedName) {
			continue
		}
		t.Run(strings.ReplaceAll(b.name, " ", "_"), func(t *testing.T) {
			t.Parallel() // each is a search on one core
			binary := all
			if !b.switched(t) {
				binary = b.build(t)
			}
			var found []int
			for n := range *planted {
				found = append(found, b.search(t, binary, i+1, 1000*n))
			}
			slices.Sort(found)
			t.Logf("%s: median %d, all %v", b.name, found[len(found)/2], found)
		})
	}
}

var foundLine = regexp.MustCompile(`schedule (\d+): (.*)`)

// search returns the number of schedules until the bug, which has a number, was found.
func (b bug) search(t *testing.T, binary string, number, first int) int {
	t.Helper()
	limit := plantedMax
	if b.workload != "" {
		limit = plantedAloneMax
	}
	cmd := exec.Command(binary, "-test.cpu=1", "-test.run=^TestSim$", "-sim.shrink=false",
		"-sim.workload="+b.workload,
		fmt.Sprintf("-sim.seed=%d", first), fmt.Sprintf("-sim.seeds=%d", limit))
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", plantedEnv, number))
	out, err := cmd.CombinedOutput()
	m := foundLine.FindSubmatch(out)
	if err == nil || m == nil {
		t.Errorf("not found from seed %d on: %v\n%.2000s", first, err, out)
		return limit + 1
	}
	n, err := strconv.Atoi(string(m[1]))
	require.NoError(t, err)
	t.Logf("from seed %d: %s", first, m[0])
	return n
}

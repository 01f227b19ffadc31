package sim_test

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/raced"
	"github.com/strictkv/strictkv/internal/sim"
	"github.com/strictkv/strictkv/internal/sim/workload"
)

var (
	seeds     = flag.Int("sim.seeds", 2600, "schedules, over all workloads or of the one given")
	soak      = flag.Duration("sim.time", 0, "how long to run, instead of a number of seeds")
	seed      = flag.Uint64("sim.seed", 0, "first seed")
	only      = flag.String("sim.workload", "", "workload; all in turn if empty")
	txs       = flag.Int("sim.txs", 20, "transactions of a schedule")
	tapeFlag  = flag.String("sim.tape", "", "decisions, as a failure prints them")
	skip      = flag.String("sim.skip", "", "numbers of transactions to leave out")
	quiet     = flag.Bool("sim.quiet", false, "neither shuffle nor preempt")
	freeSeeds = flag.Int("sim.free", 160, "free-running schedules")
	trace     = flag.Bool("sim.trace", false, "print the trace")
	shrink    = flag.Bool("sim.shrink", true, "shrink a failure")
	all       = flag.Bool("sim.all", false, "go on after a failure")
)

// config is what the flags say.
func config(t *testing.T) sim.Config {
	cfg := sim.Config{Txs: *txs, Quiet: *quiet}
	if *tapeFlag != "" {
		var err error
		cfg.Tape, err = sim.DecodeTape(*tapeFlag)
		require.NoError(t, err)
	}
	if *skip != "" {
		cfg.Skip = map[int]bool{}
		for _, f := range strings.Split(*skip, ",") {
			i, err := strconv.Atoi(f)
			require.NoError(t, err)
			cfg.Skip[i] = true
		}
	}
	return cfg
}

// racedPart is the part of the schedules that run under the race detector. One goroutine at a time
// runs in them, and hands over to the next, which leaves no race to be found: TestFree has those.
const racedPart = 10

// hangMax is how long a schedule may take, in real time. Most take some milliseconds.
const hangMax = time.Minute

// bubble runs a schedule inside a synctest bubble: whatever of the library waited past
// the seam would end it with the bubble's own deadlock panic. Who neither waits nor ends
// would spin until the tests' timeout, which knows no schedule: that is ended here.
func bubble(t *testing.T, cfg sim.Config, n int) (r *sim.Result) {
	defer time.AfterFunc(hangMax, func() {
		panic(fmt.Sprintf("schedule %d: %s seed %d: no end within %v of real time",
			n, cfg.Workload, cfg.Seed, hangMax))
	}).Stop()
	synctest.Test(t, func(*testing.T) { r = sim.Run(cfg) })
	return r
}

// TestFoundBefore runs schedules that have failed: docs/bugs.md has their stories.
func TestFoundBefore(t *testing.T) {
	for _, x := range []struct {
		workload string
		seed     uint64
	}{
		{"wide", 4},
		{"cancel", 2005},
	} {
		t.Run(fmt.Sprintf("%s_%d", x.workload, x.seed), func(t *testing.T) {
			r := bubble(t, sim.Config{Workload: x.workload, Seed: x.seed, Txs: 20}, 1)
			require.NoError(t, r.Err)
		})
	}
}

// TestSim runs schedules, and stops at the first that fails.
func TestSim(t *testing.T) {
	names := workload.Names()
	if *only != "" {
		names = []string{*only}
	}
	start, cfg := time.Now(), config(t)
	if raced.Enabled() {
		*seeds /= racedPart
	}
	var total sim.Total
	for i := 0; *soak > 0 && time.Since(start) < *soak || *soak == 0 && i < *seeds; i++ {
		cfg.Workload, cfg.Seed = names[i%len(names)], *seed+uint64(i/len(names))
		r := bubble(t, cfg, i+1)
		total.Add(r)
		if *trace {
			fmt.Println(r.Report())
		}
		if r.Err == nil {
			continue
		}
		t.Errorf("schedule %d: %s seed %d: %v", i+1, cfg.Workload, cfg.Seed, r.Err)
		if !*all {
			if *shrink {
				r = sim.Shrink(r)
			}
			t.Fatal(r.Report())
		}
	}
	t.Logf("%v\n%.0f schedules per second", total, float64(total.Runs)/time.Since(start).Seconds())
}

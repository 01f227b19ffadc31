package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Args are the flags that replay a run.
func (c Config) Args() string {
	var b strings.Builder
	fmt.Fprintf(&b, "-sim.workload=%s -sim.seed=%d -sim.seeds=1 -sim.txs=%d",
		c.Workload, c.Seed, c.Txs)
	if c.Tape != nil {
		fmt.Fprintf(&b, " -sim.tape=%s", EncodeTape(c.Tape))
	}
	if c.Quiet {
		b.WriteString(" -sim.quiet")
	}
	if len(c.Skip) > 0 {
		var skip []string
		for _, i := range slices.Sorted(maps.Keys(c.Skip)) {
			skip = append(skip, strconv.Itoa(i))
		}
		fmt.Fprintf(&b, " -sim.skip=%s", strings.Join(skip, ","))
	}
	return b.String()
}

// traceLines is how much of a trace a report holds.
const traceLines = 120

// Report tells a failure: what went wrong, the trace, and how to replay it.
func (r *Result) Report() string {
	cfg := r.Config
	cfg.Trace = true
	again := Run(cfg)
	lines := again.Trace()
	var b strings.Builder
	fmt.Fprintf(&b, "workload %s, seed %d: %v\n", cfg.Workload, cfg.Seed, r.Err)
	if len(lines) > traceLines {
		fmt.Fprintf(&b, "... (%d lines)\n", len(lines)-traceLines)
		lines = lines[len(lines)-traceLines:]
	}
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	fmt.Fprintf(&b, "replay: go test ./internal/sim -run TestSim -sim.trace %s\n", cfg.Args())
	return b.String()
}

// Total adds up runs.
type Total struct {
	Runs, Failed, Txs, Unknown, Steps int
	Faults                            [actions]int
}

// Add adds a run.
func (t *Total) Add(r *Result) {
	t.Runs++
	t.Txs += r.Txs
	t.Unknown += r.Unknown
	t.Steps += r.Steps
	if r.Err != nil {
		t.Failed++
	}
	for a, n := range r.Faults {
		t.Faults[a] += n
	}
}

// String tells the sums.
func (t Total) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d schedules, %d failed; %d transactions, %d in doubt; %d decisions:",
		t.Runs, t.Failed, t.Txs, t.Unknown, t.Steps)
	for a, n := range t.Faults {
		fmt.Fprintf(&b, " %s %d", actionNames[a], n)
	}
	return b.String()
}

package sim_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/raced"
	"github.com/strictkv/strictkv/internal/sim"
	"github.com/strictkv/strictkv/internal/sim/workload"
)

// TestReplay runs seeds again and again, with one thread and with many: the traces
// must be the same, byte for byte.
func TestReplay(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	times := 20
	if raced.Enabled() {
		times /= racedPart
	}
	for i, name := range workload.Names() {
		cfg := sim.Config{Workload: name, Seed: uint64(i), Trace: true}
		first := sim.Run(cfg)
		for n := range times {
			runtime.GOMAXPROCS([]int{1, 8}[n%2])
			same(t, first, sim.Run(cfg))
		}
		untold := cfg
		untold.Trace = false
		require.Equal(t, first.Tape, sim.Run(untold).Tape, "an observer changes nothing")
		cfg.Tape = first.Tape
		same(t, first, sim.Run(cfg))
	}
}

// same fails with the first line that differs.
func same(t *testing.T, a, b *sim.Result) {
	t.Helper()
	x, y := a.Trace(), b.Trace()
	for i := range min(len(x), len(y)) {
		require.Equal(t, x[i], y[i], "%s, seed %d, line %d", a.Config.Workload, a.Config.Seed, i)
	}
	require.Equal(t, a.Heard, b.Heard, "%s, seed %d", a.Config.Workload, a.Config.Seed)
	require.Len(t, y, len(x), "lines of %s, seed %d", a.Config.Workload, a.Config.Seed)
}

package sim_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/internal/sim"
	"github.com/strictkv/strictkv/internal/sim/workload"
)

// TestFree runs all workloads with the goroutines of the Go runtime, for the race
// detector.
func TestFree(t *testing.T) {
	names := workload.Names()
	for i := range *freeSeeds {
		synctest.Test(t, func(t *testing.T) {
			cfg := sim.Config{Workload: names[i%len(names)], Seed: *seed + uint64(i/len(names))}
			assert.NoError(t, sim.RunFree(cfg), "%s, seed %d", cfg.Workload, cfg.Seed)
		})
	}
}

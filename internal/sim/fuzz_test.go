package sim_test

import (
	"testing"

	"github.com/strictkv/strictkv/internal/sim"
	"github.com/strictkv/strictkv/internal/sim/workload"
)

// FuzzSim lets Go's fuzzer write the tape: a workload, a seed of everything that is not
// decided on the way, and the decisions. It begins with tapes that seeds have recorded.
func FuzzSim(f *testing.F) {
	names := workload.Names()
	for i := range names {
		r := sim.Run(sim.Config{Workload: names[i], Seed: uint64(i), Txs: 10})
		f.Add(append([]byte{byte(i), byte(i)}, r.Tape...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 {
			return
		}
		r := sim.Run(sim.Config{
			Workload: names[int(data[0])%len(names)], Seed: uint64(data[1]),
			Txs: 10, Tape: data[2:],
		})
		if r.Err != nil {
			t.Fatal(sim.Shrink(r).Report())
		}
	})
}

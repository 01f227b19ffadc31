package processes_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	runTime = flag.Duration("processes.time", 2*time.Second,
		"how long processes run on each store")
	runKills = flag.Int("processes.kills", 0,
		"kill so many processes on each store instead, however long that takes")
	runSeed = flag.Uint64("processes.seed", 1,
		"what decides the workloads and the moments, as far as anything does")
)

func TestMain(m *testing.M) {
	serveIfWorker()
	goleak.VerifyTestMain(m,
		// A library of the SDK starts one goroutine for the life of the process.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

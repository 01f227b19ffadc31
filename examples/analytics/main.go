// Analytics appends events from several processes at once, while others roll them up into
// sums, each event exactly once, and checks that both sides come to the same, at the end and, in
// snapshots of package layers/snapshot, while they write:
//
//	go run ./examples/analytics
//	go run ./examples/analytics -ingesters 8 -compactors 2 -kill
//	go run -tags cloud ./examples/analytics -bucket gs://NAME -kills 50
//
// With the tag, the bucket may be any that package bucketurl opens, except for the memory of
// a process. With -kill it kills processes at random points (SIGKILL), and starts new
// ones in their place. It exits with status 1 if an event was lost or counted twice.
package main

import (
	"flag"
	"os"

	"github.com/strictkv/strictkv/examples/internal/crew"
)

func main() {
	crew.Serve[worker]()
	a := &analytics{out: os.Stdout}
	a.place.Flags("the events")
	a.shift.Flags()
	flag.IntVar(&a.ingesters, "ingesters", 4, "the number of processes that append events")
	flag.IntVar(&a.compactors, "compactors", 1, "the number of processes that roll them up")
	flag.Parse()
	crew.Main("analytics", a.run)
}

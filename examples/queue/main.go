// Queue lets some processes enqueue jobs, and others work on them, and checks that each job is
// done exactly once:
//
//	go run ./examples/queue
//	go run ./examples/queue -producers 4 -consumers 8 -kill
//	go run -tags cloud ./examples/queue -bucket gs://NAME -kills 50
//
// With the tag, the bucket may be any that package bucketurl opens, except for the memory of
// a process. With -kill it kills processes at random points (SIGKILL), and starts new ones in
// their place: what a consumer was working on is done by another when its lease has ended. It
// exits with status 1 if a job was lost or done twice.
package main

import (
	"flag"
	"os"

	"github.com/strictkv/strictkv/examples/internal/crew"
)

func main() {
	crew.Serve[worker]()
	r := &run{out: os.Stdout}
	r.place.Flags("the jobs")
	r.shift.Flags()
	flag.IntVar(&r.producers, "producers", 2, "the number of processes that enqueue jobs")
	flag.IntVar(&r.consumers, "consumers", 4, "the number of processes that work on them")
	flag.Parse()
	crew.Main("queue", r.run)
}

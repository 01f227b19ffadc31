// Bank transfers money between accounts from several processes at once, and checks that
// none is lost or made:
//
//	go run ./examples/bank
//	go run ./examples/bank -workers 8 -kill
//	go run -tags cloud ./examples/bank -bucket gs://NAME -kills 50
//
// With the tag, the bucket may be any that package bucketurl opens, except for the memory of
// a process. With -kill it kills workers at random points (SIGKILL), starts new ones in their
// place, and checks that what they had acknowledged is there. It exits with status 1 if
// anything is wrong.
package main

import (
	"flag"
	"os"

	"github.com/strictkv/strictkv/examples/internal/crew"
)

func main() {
	crew.Serve[worker]()
	b := &bank{out: os.Stdout}
	b.place.Flags("the accounts")
	b.shift.Flags()
	flag.IntVar(&b.workers, "workers", 4, "the number of processes")
	flag.IntVar(&b.accounts, "accounts", 16, "the number of accounts, at least 2")
	flag.Parse()
	crew.Main("bank", b.run)
}

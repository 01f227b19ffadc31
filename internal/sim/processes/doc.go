// Package processes runs the workloads of the simulation for real: several processes of
// the operating system share one database, in a folder or behind a faulty proxy in each of
// the stand-ins for the stores of clouds. Random ones are killed by SIGKILL at random
// moments, or stopped for longer than the others' patience, and new ones start in their
// place.
//
// Each process writes its history to a file of its own (diary): a transaction before the
// first of its own writes is sent, hence before it can have an effect, as unknown; and
// again with its outcome when it has ended. One that its process's death cut off keeps
// an unknown outcome. Instants are of a clock that all processes of the machine share.
// The files are merged, and package history judges them as one history; then a fresh
// handle checks the database, and reads and writes each key.
//
// The code is in tests alone:
//
//	go test ./internal/sim/processes
//	go test ./internal/sim/processes -v -processes.time 5m -timeout 30m
//	go test ./internal/sim/processes -v -processes.kills 1000 -timeout 30m
package processes

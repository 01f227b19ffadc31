package main

import (
	"time"

	"github.com/strictkv/strictkv/benchmarks/internal/bucket"
)

// change is what makes one load of another.
type change func(s *settings)

func keys(n int) change               { return func(s *settings) { s.Keys = n } }
func crew(n int) change               { return func(s *settings) { s.Workers = n } }
func far(times float64) change        { return func(s *settings) { s.Far = times } }
func body(d time.Duration) change     { return func(s *settings) { s.Body = d } }
func constant(d time.Duration) change { return func(s *settings) { s.Bucket.Constant = d } }
func than(x settings) change          { return func(s *settings) { s.Than = &x } }
func lock(s *settings)                { s.Lock = true }
func tails(s *settings)               { s.Bucket.Tails = true }
func inTurn(s *settings)              { s.Bucket.InTurn = true }

// on is a load of processes with one worker each, on one key unless changed. Everything counts,
// from the first second on, for twice the usual time.
func (s settings) on(scenario string, processes int, changes ...change) settings {
	s.Bucket, s.Warm, s.Time = bucket.Options{Profile: "gcs"}, 0, 2*s.Time
	s.Scenario, s.Processes, s.Workers, s.Keys, s.Overlap = scenario, processes, 1, 1, 100
	for _, change := range changes {
		change(&s)
	}
	return s
}

// rivals are goals of crowds: what must not collapse when many want the same keys.
func rivals(s settings) []goal {
	return []goal{
		{"6 keys, 5 rivals", s.on("update", 5, keys(6)), []bound{perTime.atLeast(5.5)}},
		{"6 keys, 12 rivals", s.on("update", 12, keys(6)), []bound{perTime.atLeast(5.5)}},
		{"6 keys, 20 rivals", s.on("update", 20, keys(6)), []bound{
			perTime.atLeast(5.5), p99.atMost(12_000), longest.atMost(17_000)}},
		{"6 keys, 50 rivals", s.on("update", 50, keys(6)), []bound{perTime.atLeast(4)}},
		{"6 keys, 20 rivals, tails", s.on("update", 20, keys(6), tails), []bound{
			perTime.atLeast(2.5)}},
		{"2 keys, 50 rivals", s.on("update", 50, keys(2)), []bound{
			perTime.atLeast(7), longest.atMost(30_000)}},
		{"common counter, 50 x 1", s.on("common", 50), []bound{
			perTime.atLeast(7), p90.atMost(15_000)}},
		{"common counter, 10 x 10", s.on("common", 10, crew(10)), []bound{
			perTime.atLeast(18), p90.atMost(9000), lasting.atLeast(0.5), each.atMost(40)}},
		{"common counter, 20 x 10", s.on("common", 20, crew(10)), []bound{
			perTime.atLeast(13), lasting.atLeast(0.5), each.atMost(100)}},
		{"zipf, 50 rivals", s.on("zipf", 50), []bound{perTime.atLeast(9), p90.atMost(15_000)}},
		{"counter, 20 rivals", s.on("update", 20), []bound{
			p99.atMost(5000), each.atMost(20), slowest.atLeast(0.4)}},
		{"counter, 50 rivals", s.on("update", 50), []bound{
			p99.atMost(10_000), each.atMost(25), slowest.atLeast(0.4)}},
		{"counter, 200 rivals", s.on("update", 200), []bound{
			p99.atMost(30_000), each.atMost(60), slowest.atLeast(0.4)}},
	}
}

// weak are goals of those whom others could starve: the slow, those who read much, or scan.
func weak(s settings) []goal {
	const round = 100 * time.Millisecond
	alone, equal := s.on("view", 10), s.on("first", 8)
	return []goal{
		{"counter, one of 8 is 3 times slower", s.on("first", 8, far(3), than(equal)), []bound{
			ofOthers.atLeast(0.25), longest.atMost(12_000), allKeep.atLeast(0.7)}},
		{"counter, one of 8 is 10 times slower", s.on("first", 8, far(10), than(equal)), []bound{
			ofOthers.atLeast(0.08), allKeep.atLeast(0.7)}},
		{"function of 1 s against 4 quick ones", s.on("first", 5, body(time.Second)), []bound{
			minute.atLeast(12)}},
		{"function of 5 s on 5 keys against 2", s.on("first", 3, keys(5), body(5*time.Second)),
			[]bound{minute.atLeast(8)}},
		{"view of 100 under 10 writers", s.on("view", 11, than(alone)), []bound{
			p50.atMost(2500), p99.atMost(6000), othersKeep.atLeast(0.5)}},
		{"5 views of 100 under 10 writers", s.on("view", 15, than(alone)), []bound{
			p50.atMost(4000), othersKeep.atLeast(0.5)}},
		{"claim by scan, 2 rivals", s.on("claim", 2, constant(60*time.Millisecond)), []bound{
			perTime.atLeast(1.5), p95.atMost(2000)}},
		{"claim by scan, 4 rivals", s.on("claim", 4, constant(60*time.Millisecond)), []bound{
			perTime.atLeast(1.5), p95.atMost(4000)}},
		{"queue with head and tail, 10 + 10", s.on("queue", 20), []bound{
			overOthers.atLeast(0.7), p99.atMost(20_000)}},
		{"read 3 and lock them, write 1 of 20", s.on("read3", 10, lock, than(s.on("read3", 10))),
			[]bound{allKeep.atLeast(0.7)}},
		{"10 keys against 8 direct writers, 60 s", s.on("ten", 9), []bound{
			mean.atMost(1200), longest.atMost(4000)}},
		{"counter, 8 rivals, writes in turn", s.on("update", 8, inTurn), []bound{
			perTime.atLeast(0.4)}},
		{"cold read of 5, write of a sixth", s.on("cold", 1, constant(round)), []bound{
			{"rounds", func(r row) float64 { return r.Mean / float64(round.Milliseconds()) },
				false, 4}}},
	}
}

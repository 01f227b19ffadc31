// Package sim runs the whole library in a simulated world: one thread, a virtual
// clock, and a store whose calls take effect in an order that a tape of bytes
// decides, together with everything that can go wrong on the way: lost and late
// answers, late and repeated requests, outages, crashed processes. The same seed
// gives the same run, byte for byte, so that every failure can be replayed.
//
// How it works: the engine takes goroutines, waiting, time and randomness from
// package seam alone. Here, all of these come from package baton, in which a goroutine
// runs only while it holds the baton. The scheduler runs all goroutines that are ready,
// one after another (Sim.loop). When none is, it makes a decision (Sim.decide): which of
// the parked calls to the store goes on and how, or which timer fires.
//
// Clients run the transactions of a workload and record what they see (package workload),
// for package history to judge. A witness (package witness) looks at every write of a
// cell, and knows at once when a rule of the protocol is broken.
package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/history"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/sim/baton"
	"github.com/strictkv/strictkv/internal/sim/witness"
	"github.com/strictkv/strictkv/internal/sim/workload"
)

// Limits of a run, in decisions.
const (
	// calmAfter is when faults end, so that a run can finish.
	calmAfter = 20_000
	// stepsMax is when a run counts as stuck.
	stepsMax = 100_000
)

// txsDefault is the number of transactions of a run that sets none.
const txsDefault = 20

// database is the name of the database that all processes open.
const database = "sim"

// Config says what to run.
type Config struct {
	// Workload is the name of one of Workloads.
	Workload string
	// Seed decides everything that the fields below leave open.
	Seed uint64
	// Txs is the number of transactions; 0 means 20.
	Txs int
	// Tape, if not nil, holds the decisions instead of the seed; after its end all
	// are benign.
	Tape []byte
	// Skip leaves out transactions, by number.
	Skip map[int]bool
	// Quiet leaves out shuffling and preemption.
	Quiet bool
	// Trace keeps a record of every decision, for Result.Trace.
	Trace bool
}

// Sim is one simulated world.
type Sim struct {
	cfg     Config
	params  params
	world   *baton.World
	store   *memory.Backend
	witness *witness.Witness
	ledger  *workload.Ledger
	tape    *tape
	trace   []line
	heard   heard // if there is a trace

	step    int
	calm    bool // no faults any more
	order   baton.Source
	disk    *disk
	calls   []*call       // that are parked
	open    []*call       // those of them that are not held back
	ghosts  []*call       // writes that may land late
	haunted int           // how many there have been
	leap    time.Duration // by which the store's clock is ahead
	sent    int
	crashes int // that may still happen
	outage  outage
	count   [actions]int

	processes  []*process // that live
	born       int
	clients    []*workload.Client
	unfinished int
}

// Result is how a run ended.
type Result struct {
	Config  Config
	Err     error
	Tape    []byte // the decisions made
	Steps   int
	Txs     int
	Unknown int // transactions whose end nobody knows
	Faults  [actions]int
	History []*workload.Record
	// Heard is a digest of what an observer was told, if there is a trace.
	Heard string
	trace []line
}

// Run runs one schedule. Only one can run at a time.
func Run(cfg Config) *Result {
	s := newSim(cfg)
	err := s.play()
	told := s.heard.String()
	s.world.Unwind()
	r := &Result{
		Config: s.cfg, Err: err, Tape: s.tape.bytes[:s.tape.pos], Steps: s.step,
		Faults: s.count, History: s.ledger.Records(), trace: s.trace,
		Heard: told,
	}
	r.Txs = len(r.History)
	for _, h := range r.History {
		if h.Status == history.Unknown {
			r.Unknown++
		}
	}
	return r
}

func newSim(cfg Config) *Sim {
	if cfg.Txs == 0 {
		cfg.Txs = txsDefault
	}
	p := newParams(cfg)
	if cfg.Quiet {
		p.shuffle, p.preempt = false, 0
	}
	s := &Sim{
		cfg: cfg, params: p, tape: &tape{bytes: cfg.Tape},
		order: baton.Derive(cfg.Seed, 7), crashes: p.crashes, heard: newHeard(),
		disk: &disk{random: baton.Derive(cfg.Seed, 16), kept: map[string][]record{}},
	}
	if cfg.Tape == nil {
		random := baton.Derive(cfg.Seed, 2)
		s.tape.random = &random
	}
	s.world = baton.New(baton.Options{
		Order: baton.Derive(cfg.Seed, 1), Shuffle: p.shuffle, Preempt: p.preempt,
	})
	s.store = memory.New(memory.WithClock(s.clock))
	s.witness = witness.New(s.world.Fail, s.storeTime, workload.Horizon)
	s.ledger = &workload.Ledger{
		Seed: cfg.Seed, Keys: p.keys, Now: s.world.Now,
		Excuse: s.excuse, Clocks: p.clocks(cfg.Workload),
	}
	if cfg.Trace {
		s.ledger.Note = s.say
	}
	return s
}

// overrunBefore is how many transactions of a process may have begun between those of one group.
const overrunBefore = 8

// excuse returns a function that tells whether something has happened to a process since that
// may leave a transaction in doubt: a request of it was not answered as it should be;
// or, where a refusal may be a duplicate, a cell has had as many writers as it remembers, or the
// store's clock tells that the attempt is over.
func (s *Sim) excuse(rt seam.Runtime) func() bool {
	p := rt.(*process)
	harm, leap := p.harm, s.leap
	// A group may have begun, and read, before the last of its transactions.
	p.overrun = append(p.overrun, s.witness.Overrun())
	overrun := p.overrun[max(0, len(p.overrun)-1-overrunBefore)]
	return func() bool {
		return p.harm != harm || !s.params.once && (s.leap != leap || overrun())
	}
}

// clock is the store's.
func (s *Sim) clock() time.Time { return s.params.epoch().Add(s.storeTime()) }

// storeTime is how much time has passed in the store.
func (s *Sim) storeTime() time.Duration { return s.world.Now() + s.leap }

var errStuck = errors.New("stuck")

// loop schedules until the condition holds.
func (s *Sim) loop(what string, until func() bool) error {
	limit := s.step + stepsMax
	for s.world.Err() == nil {
		switch {
		case s.world.Step():
		case until():
			return nil
		case s.step >= limit:
			return fmt.Errorf("%w: %s: no end after %d decisions", errStuck, what, stepsMax)
		case !s.decide():
			return fmt.Errorf("%w: %s: nothing left to decide", errStuck, what)
		}
		s.calm = s.calm || s.step > calmAfter
	}
	return s.world.Err()
}

// play runs the workload, then heals the world, and judges what has happened.
func (s *Sim) play() error {
	s.start()
	finished := func() bool { return s.unfinished == 0 }
	if err := s.loop("clients", finished); err != nil {
		return err
	}
	if err := s.heal(); err != nil {
		return err
	}
	limit := s.world.Now() + 4*s.params.patience + 2*time.Minute
	s.launch([]*workload.Client{workload.Last(s.cfg.Workload, len(s.clients), len(s.params.keys))})
	if err := s.loop("last client", finished); err != nil {
		return err
	}
	if late := s.world.Now() - limit; late > 0 {
		return fmt.Errorf("%w: the last client took %v too long", errStuck, late)
	}
	if workload.Workloads[s.cfg.Workload].Sweeps {
		if err := s.clean(); err != nil {
			return err
		}
	}
	return s.ledger.Judge()
}

// clean collects all garbage, and checks that none is left.
func (s *Sim) clean() error {
	limit := s.world.Now() + workload.Cleaning + 4*s.params.patience + 2*time.Minute
	s.launch([]*workload.Client{workload.Cleaner(len(s.clients) + 1)})
	if err := s.loop("cleaner", func() bool { return s.unfinished == 0 }); err != nil {
		return err
	}
	if late := s.world.Now() - limit; late > 0 {
		return fmt.Errorf("%w: the cleaner took %v too long", errStuck, late)
	}
	return s.witness.Clean()
}

// heal ends all faults. Each process is closed, or killed; each late write lands, or
// is lost.
func (s *Sim) heal() error {
	s.calm = true
	tidy := s.params.faultless
	closing := 0
	for _, p := range slices.Clone(s.processes) {
		if p.db == nil || s.tape.next()&1 == 1 {
			s.kill(p)
			tidy = false
			continue
		}
		closing++
		p.Go(func() {
			p.close()
			closing--
		})
	}
	if err := s.loop("close", func() bool { return closing == 0 }); err != nil {
		return err
	}
	if tidy { // closed, and nothing went wrong: no intent is left
		if err := s.witness.Tidy(); err != nil {
			return err
		}
		if err := s.witness.Orphaned(); err != nil && s.ledger.Patient() && s.haunted == 0 {
			return err
		}
	}
	for _, p := range slices.Clone(s.processes) {
		s.kill(p)
	}
	for len(s.ghosts) > 0 {
		s.ghost(0, s.tape.next()&1 == 1)
	}
	if err := s.world.Err(); err != nil {
		return err
	}
	return s.witness.Settled()
}

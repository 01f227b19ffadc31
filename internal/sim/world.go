package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/cache"
	cells "github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/sim/baton"
	"github.com/strictkv/strictkv/internal/sim/workload"
)

// params are what a seed chooses for a whole run.
type params struct {
	processes int
	clients   int // of each process
	keys      []string
	cache     int64
	disk      bool // caches keep on a disk what they have seen
	patience  time.Duration
	latency   time.Duration
	profile   profile
	crashes   int
	shuffle   bool
	preempt   int
	faultless bool
	inline    int  // the size up to which values live in cells
	pageMax   int  // objects in a page of a listing; 0 is the store's
	newest    bool // calls that are neither chosen nor harmed: the newest first
	clones    bool // all processes draw the same random choices
	once      bool // the store declares that a write takes effect once at most
	batches   bool // the store writes several objects at one instant
	near      bool // the store says that a read takes no time worth mentioning
	told      told // what answers tell of the store's time
	skewed    bool // the clocks of processes differ
	feeds     bool // most handles tell followers what they write
}

// told says what answers tell of the store's time.
type told uint8

const (
	toldExactly told = iota
	toldSeconds
	toldByWrites // as by the SDK for Cloud Storage
	untold
)

// Limits of the clocks.
const (
	// skewMax is by how much the clock of a process is off, where it decides.
	skewMax = 20 * time.Second
	// lagMax is for how long an answer may be on its way: to a scan, the store's time is what
	// the latest answer has told.
	lagMax = 2 * time.Minute
)

// epoch is what the store's clock says as the run begins: far from what processes think, where it
// alone decides.
func (p *params) epoch() time.Time {
	if p.told == toldByWrites || p.told == untold {
		return baton.Epoch
	}
	return time.Unix(0, 0)
}

// clocks are those by which values expire.
func (p *params) clocks(name string) workload.Clocks {
	c := workload.Clocks{
		Expire: workload.Expires(name), Epoch: p.epoch(), Exact: p.told == toldExactly,
	}
	switch p.told {
	case toldSeconds:
		c.Late = time.Second
	case toldByWrites, untold:
		c.Epoch, c.Early, c.Late = p.epoch(), skewMax, skewMax
	}
	if p.told == toldByWrites {
		c.Late += lagMax
	}
	if workload.Scans(name) {
		c.Exact = false
		c.Late += lagMax
	}
	return c
}

// weights are the shares of the faults, in 256ths, at the highest level.
var weights = profile{
	actSplit: 40, actLose: 8, actFail: 6, actDelay: 8, actDuplicate: 6, actStall: 6,
	actGhost: 12, actForget: 3, actTimer: 23, actJump: 1, actOutage: 2, actThrottle: 2,
	actCrash: 2, actFreeze: 2, actLeap: 3,
}

func newParams(cfg Config) params {
	r := baton.Derive(cfg.Seed, 3)
	w := workload.Workloads[cfg.Workload]
	p := params{
		processes: 1 + r.Below(3), clients: 1 + r.Below(3),
		cache:    []int64{0, 600, 4 << 10, 1 << 20, 1 << 20}[r.Below(5)],
		patience: []time.Duration{0, 20, 200, 2000, 2000, 10_000}[r.Below(6)] * time.Millisecond,
		latency:  []time.Duration{1, 5, 20, 80}[r.Below(4)] * time.Millisecond,
		shuffle:  r.Below(4) > 0,
		preempt:  []int{0, 8, 8, 3}[r.Below(4)],
		newest:   r.Below(5) == 0,
	}
	values := baton.Derive(cfg.Seed, 8)
	p.inline = []int{0, 5, 6, 1 << 20, 1 << 20, 1 << 20}[values.Below(6)]
	declares := baton.Derive(cfg.Seed, 10)
	p.once, p.clones = declares.Below(2) == 0, declares.Below(8) == 0
	disk := baton.Derive(cfg.Seed, 17)
	p.disk = disk.Below(4) == 0
	batches := baton.Derive(cfg.Seed, 18)
	p.batches = p.once && batches.Below(4) == 0
	near := baton.Derive(cfg.Seed, 19)
	p.near = near.Below(8) == 0
	if pages := baton.Derive(cfg.Seed, 9); workload.Scans(cfg.Workload) {
		p.pageMax = []int{0, 0, 1, 2, 3, 5}[pages.Below(6)]
	}
	if clocks := baton.Derive(cfg.Seed, 13); workload.Expires(cfg.Workload) {
		p.skewed = true
		p.told = []told{
			toldExactly, toldExactly, toldSeconds, toldByWrites, untold,
		}[clocks.Below(5)]
	}
	feeds := baton.Derive(cfg.Seed, 15)
	p.feeds = feeds.Below(4) == 0
	p.keys = append(p.keys, allKeys[:w.KeysMin+r.Below(w.KeysMax-w.KeysMin+1)]...)
	switch level := r.Below(8); level {
	case 0: // no faults, but any order
		p.faultless = true
		p.profile[actSplit], p.profile[actTimer] = weights[actSplit], weights[actTimer]
	default:
		p.crashes = r.Below(4)
		for a := range actLeap {
			if r.Below(4) > 0 {
				p.profile[a] = uint8(r.Below(int(weights[a]) + 1))
			}
		}
		if delays := baton.Derive(cfg.Seed, 13); w.Late {
			p.profile[actDelay] = uint8(8 + delays.Below(32))
		}
		if leaps := baton.Derive(cfg.Seed, 12); w.Leaps {
			p.profile[actLeap] = uint8(2 + leaps.Below(24))
			p.inline = 5 * leaps.Below(2)
		} else if leaps.Below(2) == 0 && !p.skewed {
			p.profile[actLeap] = uint8(leaps.Below(int(weights[actLeap]) + 1))
		}
	}
	return p
}

var allKeys = []string{
	"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p",
}

// feed makes most handles, where it is wanted, tell followers what they write: of a process.
func (p *params) feed(seed uint64, id int) []strictkv.Option {
	r := baton.Derive(seed, 16, uint64(id))
	if !p.feeds || r.Below(4) == 0 {
		return nil
	}
	interval := []time.Duration{0, strictkv.FeedIntervalMin, 10 * time.Second}[r.Below(3)]
	return []strictkv.Option{strictkv.WithFeed(strictkv.FeedOptions{Interval: interval})}
}

// process is a simulated process: a handle, and the clients that use it.
type process struct {
	*baton.Process
	s       *Sim
	db      *strictkv.DB // once it is open
	clients []*workload.Client
	thaw    int // the step until which it stands still
	harm    int // requests of it that were not answered as they should be
	// overrun tells, for each transaction begun, whether a cell has had too many writers since.
	overrun []func() bool
}

// start brings up the processes.
func (s *Sim) start() {
	n := s.params.clients
	s.clients = workload.Deal(s.cfg.Workload, n*s.params.processes, s.cfg.Txs, s.cfg.Skip)
	for i := range s.params.processes {
		s.launch(s.clients[i*n : (i+1)*n])
	}
}

// launch starts a process with clients.
func (s *Sim) launch(clients []*workload.Client) {
	source := uint64(s.born)
	if s.params.clones {
		source = 0
	}
	random := baton.Derive(s.cfg.Seed, 4, source)
	unique := baton.Derive(s.cfg.Seed, 11, uint64(s.born))
	p := &process{Process: s.world.NewProcess(s.born, random, unique), s: s, clients: clients}
	if skew := baton.Derive(s.cfg.Seed, 14, uint64(s.born)); s.params.skewed {
		p.Skew(time.Duration(skew.Below(int(2*skewMax))) - skewMax)
	}
	s.born++
	s.processes = append(s.processes, p)
	for _, c := range clients {
		if !c.Done() {
			s.unfinished++
		}
	}
	p.Go(p.main)
}

// main opens the database and starts the clients.
func (p *process) main() {
	ctx := seam.NewContext(context.Background(), p)
	var opts []strictkv.Option
	if p.s.cfg.Trace {
		opts = append(opts, strictkv.WithObserver(p.s.listener()))
	}
	opts = append(opts, p.s.params.feed(p.s.cfg.Seed, p.ID())...)
	if p.s.params.disk {
		c := cells.New(p.s.params.cache)
		c.Onto(p.s.disk)
		opts = append(opts, strictkv.WithCache((*cache.Cache)(c)))
	}
	var store backend.Backend = bucket{p}
	if p.s.params.batches {
		store = batcher{bucket{p}}
	}
	db, err := open(ctx, p, store, p.s.params, opts...)
	if err != nil {
		p.s.world.Fail(err)
		return
	}
	p.db = db
	for _, c := range p.clients {
		if !c.Done() {
			p.Go(func() {
				c.Run(ctx, p, db, p.s.ledger)
				p.s.unfinished--
			})
		}
	}
}

// close closes the handle, in a minute at most.
func (p *process) close() {
	ctx, cancel := p.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.db.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		p.s.world.Fail(fmt.Errorf("process %d: %w", p.ID(), err))
	}
}

// openTries bounds how often a process tries to open the database.
const openTries = 1000

// open opens the database, however often that takes.
func open(
	ctx context.Context, rt seam.Runtime, b backend.Backend, p params, opts ...strictkv.Option,
) (*strictkv.DB, error) {
	opts = append(opts, strictkv.WithCacheSize(p.cache), strictkv.WithPatience(p.patience),
		strictkv.WithInlineMax(p.inline))
	var err error
	for range openTries {
		var db *strictkv.DB
		db, err = strictkv.Open(ctx, database, b, opts...)
		if err == nil {
			return db, nil
		}
		if err := rt.Sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("open, %d times: %w", openTries, err)
}

// crash crashes a process, and starts a new one for its clients.
func (s *Sim) crash() bool {
	if s.crashes == 0 || len(s.processes) == 0 {
		return false
	}
	s.crashes--
	p := s.processes[s.tape.below(len(s.processes))]
	s.kill(p)
	for _, c := range p.clients {
		if !c.Done() {
			s.unfinished--
			c.Crash()
		}
	}
	s.launch(p.clients)
	return true
}

// kill ends a process. Its writes under way may still land.
func (s *Sim) kill(p *process) {
	s.world.Kill(p.Process)
	s.processes = slices.DeleteFunc(s.processes, func(x *process) bool { return x == p })
	s.calls = slices.DeleteFunc(s.calls, func(c *call) bool {
		if c.p == p && c.write() && !c.applied && s.tape.next()&1 == 1 {
			s.haunt(c)
		}
		return c.p == p
	})
}

package sim

import (
	"context"
	"sync"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/sim/baton"
	"github.com/strictkv/strictkv/internal/sim/workload"
)

// RunFree runs a workload with the goroutines of the Go runtime, and faults that each
// process draws for itself. It can't be replayed, but the race detector sees it: under a
// baton each hand-over orders memory. Call it in a bubble of testing/synctest, as it
// sleeps a lot.
func RunFree(cfg Config) error {
	if cfg.Txs == 0 {
		cfg.Txs = txsDefault
	}
	start := time.Now()
	f := &free{params: newParams(cfg), store: memory.New()}
	f.params.told = toldExactly
	f.ledger = &workload.Ledger{
		Seed: cfg.Seed, Keys: f.params.keys, Now: func() time.Duration { return time.Since(start) },
		Clocks: f.params.clocks(cfg.Workload),
	}
	f.ledger.Clocks.Epoch = start
	n := f.params.clients
	all := workload.Deal(cfg.Workload, n*f.params.processes, cfg.Txs, cfg.Skip)
	var wg sync.WaitGroup
	for i := range f.params.processes {
		b := f.faults(cfg.Seed, i)
		wg.Go(func() {
			f.process(b, all[i*n:(i+1)*n], f.params.feed(cfg.Seed, i)...)
			_ = b.Wait(context.Background()) // it has no end
		})
	}
	wg.Wait()
	last := workload.Last(cfg.Workload, len(all), len(f.params.keys))
	f.process(f.store, []*workload.Client{last})
	return f.ledger.Judge()
}

type free struct {
	params params
	store  *memory.Backend
	ledger *workload.Ledger
}

// faults wraps the store for one process.
func (f *free) faults(seed uint64, i int) *faulty.Backend {
	r := baton.Derive(seed, 6, uint64(i))
	share := func(a action) float64 { return float64(f.params.profile[a]) / 256 }
	return faulty.New(f.store, faulty.Options{
		Seed: r.Next(), Delay: 0.7, DelayMax: 2 * f.params.latency,
		FailBefore: share(actFail), LoseRequest: share(actForget), LoseAnswer: share(actLose),
		Duplicate: share(actDuplicate), Late: share(actDelay),
	})
}

// process opens the database, runs clients, and closes it.
func (f *free) process(
	b backend.Backend, clients []*workload.Client, opts ...strictkv.Option,
) {
	ctx, rt := context.Background(), seam.Real()
	db, err := open(ctx, rt, b, f.params, opts...)
	if err != nil {
		f.ledger.Fail("open: %v", err)
		return
	}
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() { c.Run(ctx, rt, db, f.ledger) })
	}
	wg.Wait()
	if err := db.Close(ctx); err != nil {
		f.ledger.Fail("close: %v", err)
	}
}

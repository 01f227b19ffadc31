package workload

import (
	"errors"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/sim/baton"
)

// Horizon is the age of garbage. An attempt lasts a quarter of an hour at most, and LateMax
// is how late its last write may land.
const (
	Horizon = 15*time.Minute + LateMax + time.Minute
	LateMax = 5 * time.Minute
)

// age is how often all clients of a workload that sweeps meet again after a long time.
const age = Horizon + time.Minute

// sweep makes garbage and collects it, with much time in between: clients that wake up at
// once, with old caches.
func (x *session) sweep(r *baton.Source) {
	if r.Below(4) > 0 {
		_ = x.rt.Sleep(x.ctx, age-x.l.Now()%age)
	}
	ks := x.some(r, 2)
	switch r.Below(8) {
	case 0, 1:
		x.collect(r)
	case 2:
		x.glance(x.ctx, 4*age, ks[0])
	case 3:
		x.transact(x.ctx, "remove", func(t *tx) error { return t.remove(ks[0]) })
	case 4, 5:
		x.transact(x.ctx, "insert", func(t *tx) error {
			if err := t.insert(ks[0], 1); err != nil {
				return err
			}
			return t.increment(ks[1])
		})
	case 6:
		x.transact(x.ctx, "count", func(t *tx) error { return t.increment(ks[1]) })
	default:
		x.one(x.ctx, r)
	}
}

// leaps sweeps beside transactions that insert and replace values, while the store's clock leaps
// over whole horizons: what is on its way is garbage by then.
func (x *session) leaps(r *baton.Source) {
	ks := x.some(r, 2)
	switch r.Below(6) {
	case 0, 1:
		x.collect(r)
	case 2:
		x.transact(x.ctx, "remove", func(t *tx) error { return t.remove(ks[0]) })
	case 3, 4:
		x.transact(x.ctx, "insert", func(t *tx) error { return t.insert(ks[0], 1) })
	default:
		x.transact(x.ctx, "count", func(t *tx) error { return t.increment(ks...) })
	}
}

// condemn goes round with all other clients, in step, a long time apart: a key is deleted;
// its tombstone is condemned; and then, all at once, it is swept away, inserted together
// with another key, and that other key is used.
func (x *session) condemn(r *baton.Source) {
	_ = x.rt.Sleep(x.ctx, age-x.l.Now()%age)
	round := int(x.l.Now() / age)
	ks := x.keys()
	if round/3%2 == 1 {
		ks = []string{ks[1], ks[0]}
	}
	switch round % 3 {
	case 0:
		if r.Below(2) == 0 {
			x.transact(x.ctx, "remove", func(t *tx) error { return t.remove(ks[0]) })
		}
	case 1:
		if r.Below(2) == 0 {
			x.collect(r)
		}
	default:
		switch r.Below(5) {
		case 0:
			x.collect(r)
		case 1:
			x.transact(x.ctx, "insert", func(t *tx) error {
				if err := t.insert(ks[0], 1); err != nil {
					return err
				}
				return t.increment(ks[1])
			})
		case 2, 3:
			x.transact(x.ctx, "insert", func(t *tx) error {
				return t.insert(ks[0], 1)
			}, strictkv.MaxAttempts(1))
		default:
			x.transact(x.ctx, "count", func(t *tx) error { return t.increment(ks[1]) })
		}
	}
}

// collect sweeps the database. What fails is left to the next time.
func (x *session) collect(r *baton.Source) {
	o := strictkv.SweepOptions{Horizon: Horizon, Concurrency: 1 + r.Below(4)}
	o.DryRun = r.Below(8) == 0
	report, err := x.db.Sweep(x.ctx, o)
	if report.Foreign > 0 || errors.Is(err, strictkv.ErrCorrupt) {
		x.l.Fail("sweep: %+v (%v)", report, err)
	}
}

// Cleaner is the client that comes after all others where clients sweep: it deletes some
// keys, lets others expire, and sweeps until no garbage should be left.
func Cleaner(id int) *Client {
	return &Client{id: id, txs: make([]int, 1), do: (*session).clean}
}

// Cleaning is how long a Cleaner takes at most.
const Cleaning = 5 * age

func (x *session) clean(r *baton.Source) {
	for _, k := range x.some(r, r.Below(len(x.keys())+1)) {
		x.transact(x.ctx, "remove", func(t *tx) error { return t.remove(k) })
	}
	if x.l.Clocks.Expire {
		for _, k := range x.some(r, r.Below(len(x.keys())+1)) {
			at := x.soon(r)
			x.transact(x.ctx, "write", func(t *tx) error { return t.writeUntil(k, 0, at) })
		}
	}
	for range 4 {
		_ = x.rt.Sleep(x.ctx, age)
		report, err := x.db.Sweep(x.ctx, strictkv.SweepOptions{Horizon: Horizon})
		if err != nil {
			x.l.Fail("last sweep: %+v (%v)", report, err)
		}
	}
}

package workload

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/sim/baton"
)

// Workload is a kind of program that clients run.
type Workload struct {
	// KeysMin and KeysMax bound the number of keys.
	KeysMin, KeysMax int
	// Deep multiplies the number of transactions; 0 is 1.
	Deep int
	// Sweeps says that the clients sweep, and that in the end no garbage must be left.
	Sweeps bool
	// Leaps says that the store's clock leaps all the time, and values are external.
	Leaps bool
	// Late says that what it is about are writes that land long after they were sent.
	Late bool
	// do runs one transaction, or a few.
	do func(x *session, r *baton.Source)
	// judge, if not nil, judges in the end what the workload is for.
	judge func(x *session)
}

// Txs is how many transactions a schedule has, of so many that are asked for.
func (w Workload) Txs(n int) int { return n * max(w.Deep, 1) }

// Judged reports whether what its clients know judges a workload: then all must be in one
// process, of the real ones.
func (w Workload) Judged() bool { return w.judge != nil }

// Workloads are all kinds of programs, by name.
var Workloads map[string]Workload

func init() { // they refer to each other
	Workloads = map[string]Workload{
		"counter":  {KeysMin: 1, KeysMax: 3, do: (*session).count},
		"bank":     {KeysMin: 2, KeysMax: 6, do: (*session).transfer},
		"skew":     {KeysMin: 2, KeysMax: 4, do: (*session).skew},
		"ring":     {KeysMin: 3, KeysMax: 8, do: (*session).ring},
		"snapshot": {KeysMin: 2, KeysMax: 6, do: (*session).snapshot},
		"blind":    {KeysMin: 1, KeysMax: 4, do: (*session).blind},
		"locks":    {KeysMin: 2, KeysMax: 5, do: (*session).locks},
		"chain":    {KeysMin: 1, KeysMax: 4, do: (*session).chain},
		"long":     {KeysMin: 2, KeysMax: 4, do: (*session).long},
		"cancel":   {KeysMin: 1, KeysMax: 5, do: (*session).cancelled},
		"wide":     {KeysMin: 10, KeysMax: 16, do: (*session).wide},
		"hot":      {KeysMin: 6, KeysMax: 12, do: (*session).hot},
		"crowd":    {KeysMin: 1, KeysMax: 4, do: (*session).crowd},
		"escalate": {KeysMin: 4, KeysMax: 6, Deep: 2, do: (*session).escalate},
		"mix":      {KeysMin: 1, KeysMax: 12, do: (*session).mix},
		"deep":     {KeysMin: 1, KeysMax: 4, Deep: 6, do: (*session).deep},
		"marks":    {KeysMin: 9, KeysMax: 14, Deep: 2, do: (*session).marks},
		"weak":     {KeysMin: 1, KeysMax: 4, do: (*session).weak},
		"sweep":    {KeysMin: 2, KeysMax: 3, Deep: 2, Sweeps: true, do: (*session).sweep},
		"condemn": {
			KeysMin: 2, KeysMax: 2, Deep: 7, Sweeps: true, Late: true, do: (*session).condemn,
		},
		"leap": {
			KeysMin: 1, KeysMax: 2, Deep: 2, Sweeps: true, Leaps: true, do: (*session).leaps,
		},

		"swap":   {KeysMin: 1, KeysMax: 3, do: (*session).swaps},
		"expire": {KeysMin: 1, KeysMax: 4, do: (*session).expiring},
		"expire-sweep": {
			KeysMin: 1, KeysMax: 3, Deep: 2, Sweeps: true, do: (*session).expiringSweep,
		},
		"range-expire": {KeysMin: 2, KeysMax: 5, do: (*session).expiringRanges},

		"range":         {KeysMin: 2, KeysMax: 8, do: (*session).ranges},
		"range-phantom": {KeysMin: 2, KeysMax: 5, do: (*session).phantoms},
		"range-sweep": {
			KeysMin: 2, KeysMax: 4, Deep: 2, Sweeps: true, do: (*session).rangesSweep,
		},
		"range-walk": {KeysMin: 2, KeysMax: 6, do: (*session).walks},
		"range-follow": {
			KeysMin: 2, KeysMax: 6, do: (*session).follows, judge: (*session).judgeCopies,
		},
		"range-follow-expire": {
			KeysMin: 2, KeysMax: 5, do: (*session).expiringFollows,
			judge: (*session).judgeCopies,
		},
		"range-follow-sweep": {
			KeysMin: 2, KeysMax: 4, Deep: 2, Sweeps: true, do: (*session).followsSweep,
			judge: (*session).judgeCopies,
		},
	}
	maps.Copy(Workloads, guards)
}

// Names are the names of all workloads, in order.
func Names() []string { return slices.Sorted(maps.Keys(Workloads)) }

func (x *session) keys() []string { return x.l.Keys }

// some chooses n different keys, or all if there are fewer.
func (x *session) some(r *baton.Source, n int) []string {
	ks := append([]string{}, x.keys()...)
	n = min(n, len(ks))
	for i := range n {
		j := i + r.Below(len(ks)-i)
		ks[i], ks[j] = ks[j], ks[i]
	}
	return ks[:n]
}

func (x *session) count(r *baton.Source) {
	ks := x.some(r, 1+r.Below(3))
	x.transact(x.ctx, "count", func(t *tx) error { return t.increment(ks...) })
}

// transfer moves an amount; the sum of all keys stays zero. Some look at all keys.
func (x *session) transfer(r *baton.Source) {
	if r.Below(4) == 0 {
		x.lookAtAll(r)
		return
	}
	ks, amount := x.some(r, 2), 1+r.Below(9)
	x.transact(x.ctx, "transfer", func(t *tx) error {
		for i, k := range ks {
			v, err := t.read(k)
			if err != nil {
				return err
			}
			if err := t.write(k, number(v.value)+amount*(1-2*i)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (x *session) lookAtAll(r *baton.Source) {
	multi := r.Below(2) == 0
	fn := func(t *tx) error {
		if multi {
			_, err := t.readAll(x.keys())
			return err
		}
		for _, k := range x.keys() {
			if _, err := t.read(k); err != nil {
				return err
			}
		}
		return nil
	}
	if r.Below(2) == 0 {
		x.look(x.ctx, 0, fn)
	} else {
		x.transact(x.ctx, "look", fn)
	}
}

// skew reads several keys and writes one of them.
func (x *session) skew(r *baton.Source) {
	ks := x.some(r, 2+r.Below(2))
	x.transact(x.ctx, "skew", func(t *tx) error {
		items, err := t.readAll(ks)
		if err != nil {
			return err
		}
		return t.write(ks[0], number(items[0].value)+1)
	})
}

// ring reads a key and writes its neighbour.
func (x *session) ring(r *baton.Source) {
	ks := x.keys()
	i := r.Below(len(ks))
	next, own := ks[(i+1)%len(ks)], r.Below(2) == 0
	x.transact(x.ctx, "ring", func(t *tx) error {
		v, err := t.read(ks[i])
		if err != nil {
			return err
		}
		if own {
			if _, err := t.read(next); err != nil {
				return err
			}
		}
		return t.write(next, number(v.value)+1)
	})
}

func (x *session) snapshot(r *baton.Source) {
	if r.Below(2) == 0 {
		x.lookAtAll(r)
		return
	}
	ks := x.some(r, 1+r.Below(len(x.keys())))
	x.transact(x.ctx, "count", func(t *tx) error { return t.increment(ks...) })
}

// blind writes, inserts and deletes without reading.
func (x *session) blind(r *baton.Source) {
	ks := x.some(r, 1+r.Below(3))
	ops := make([]int, len(ks))
	for i := range ops {
		ops[i] = r.Below(6)
	}
	x.transact(x.ctx, "blind", func(t *tx) error {
		for i, k := range ks {
			if err := t.change(ops[i], k); err != nil {
				return err
			}
		}
		return nil
	})
}

// locks reads some keys under locks, and writes others.
func (x *session) locks(r *baton.Source) {
	ks := x.some(r, 2+r.Below(2))
	x.transact(x.ctx, "locks", func(t *tx) error {
		if err := t.lock(ks[1:]...); err != nil {
			return err
		}
		sum := 0
		for _, k := range ks {
			v, err := t.read(k)
			if err != nil {
				return err
			}
			sum += number(v.value)
		}
		return t.write(ks[0], sum+1)
	})
}

// chain runs transactions on the same keys back to back.
func (x *session) chain(r *baton.Source) {
	ks := x.some(r, 2)
	for range 1 + r.Below(4) {
		x.transact(x.ctx, "chain", func(t *tx) error { return t.increment(ks...) })
	}
}

// long sleeps within the function, or fails in it.
func (x *session) long(r *baton.Source) {
	ks := x.some(r, 1+r.Below(3))
	d, fails := time.Duration(r.Below(5000))*time.Millisecond, r.Below(4) == 0
	x.transact(x.ctx, "long", func(t *tx) error {
		if err := t.increment(ks[0]); err != nil {
			return err
		}
		if err := x.rt.Sleep(x.ctx, d); err != nil {
			return err
		}
		if _, err := t.readAll(ks); err != nil {
			return err
		}
		if fails {
			return errUser
		}
		return nil
	})
}

// cancelled gives a transaction little time, or leaves it.
func (x *session) cancelled(r *baton.Source) {
	d := time.Duration(r.Below(300)) * time.Millisecond
	ctx, cancel := x.rt.WithTimeout(x.ctx, d)
	if r.Below(2) == 0 {
		ctx, cancel = x.rt.WithCancel(x.ctx)
		x.rt.Go(func() {
			_ = x.rt.Sleep(ctx, d)
			cancel()
		})
	}
	defer cancel()
	x.one(ctx, r)
}

// one runs a transaction that does a bit of everything.
func (x *session) one(ctx context.Context, r *baton.Source) {
	ks := x.some(r, 1+r.Below(4))
	ops := make([]int, len(ks))
	for i := range ops {
		ops[i] = r.Below(6)
	}
	end := r.Below(12)
	var attempts []strictkv.TxOption
	if end == 1 {
		attempts = append(attempts, strictkv.MaxAttempts(1+r.Below(3)))
	}
	x.transact(ctx, "one", func(t *tx) error {
		for i, k := range ks {
			if err := t.change(ops[i], k); err != nil {
				return err
			}
		}
		switch end {
		case 2:
			return errUser
		case 3:
			return t.Abort()
		}
		return nil
	}, attempts...)
}

// wide writes more keys than an intent lists.
func (x *session) wide(r *baton.Source) {
	n, extra := 9+r.Below(len(x.keys())-8), r.Below(3)
	if r.Below(3) == 0 {
		n = 1 + r.Below(3)
	}
	ks := x.some(r, n)
	others := x.some(r, extra)
	x.transact(x.ctx, "wide", func(t *tx) error {
		if _, err := t.readAll(append(others[:extra:extra], ks...)); err != nil {
			return err
		}
		return t.increment(ks...)
	})
}

// hot prefers one key.
func (x *session) hot(r *baton.Source) {
	ks := x.some(r, 1+r.Below(3))
	if r.Below(3) > 0 && !slices.Contains(ks, x.keys()[0]) {
		ks[0] = x.keys()[0]
	}
	other := x.some(r, r.Below(2))
	x.transact(x.ctx, "hot", func(t *tx) error {
		if _, err := t.readAll(other); err != nil {
			return err
		}
		return t.increment(ks...)
	})
}

// crowd runs several transactions at once that want the same keys, each a few times: the
// handle lets them take turns, and commits them together.
func (x *session) crowd(r *baton.Source) {
	all := make([]func(), 2+r.Below(5))
	for i := range all {
		all[i] = x.inCrowd(r)
	}
	x.atOnce(all)
}

func (x *session) atOnce(all []func()) {
	_ = seam.Each(x.rt, len(all), func(i int) error {
		all[i]()
		return nil
	})
}

func (x *session) inCrowd(r *baton.Source) func() {
	ks, times, end := x.some(r, 1+r.Below(2)), 1+r.Below(3), r.Below(12)
	if r.Below(3) > 0 && !slices.Contains(ks, x.keys()[0]) {
		ks[0] = x.keys()[0]
	}
	op, d := r.Below(12), time.Duration(r.Below(600))*time.Millisecond
	var o []strictkv.TxOption
	if end == 1 {
		o = append(o, strictkv.MaxAttempts(1+r.Below(3)))
	}
	other := x.some(r, r.Below(6)/5)
	fn := func(t *tx) error {
		if _, err := t.readAll(other); err != nil {
			return err
		}
		for _, k := range ks {
			if err := t.change(op, k); err != nil { // mostly an increment
				return err
			}
		}
		switch end {
		case 2:
			return errUser
		case 3:
			return t.Abort()
		case 4:
			return x.rt.Sleep(x.ctx, d)
		}
		return nil
	}
	return func() {
		for range times {
			ctx, cancel := x.ctx, func() {}
			if end == 5 {
				ctx, cancel = x.rt.WithTimeout(x.ctx, d)
			}
			x.transact(ctx, "crowd", fn, o...)
			cancel()
		}
	}
}

// escalate tears transactions of several keys apart by writes of one, so that they take
// locks. Some are slow, some want other keys when they run again, and some fail then.
func (x *session) escalate(r *baton.Source) {
	ks, other := x.some(r, 3), x.some(r, 2)
	if r.Below(3) == 0 {
		for range 1 + r.Below(4) {
			x.transact(x.ctx, "poke", func(t *tx) error { return t.increment(ks[0]) })
		}
		return
	}
	d, fails := time.Duration(r.Below(3)*r.Below(1500))*time.Millisecond, r.Below(8) == 0
	x.transact(x.ctx, "escalate", func(t *tx) error {
		if _, err := t.readAll(ks[2:]); err != nil {
			return err
		}
		if err := t.increment(ks[:2]...); err != nil {
			return err
		}
		if t.r.Runs < 3 {
			return nil
		}
		if err := x.rt.Sleep(x.ctx, d); err != nil {
			return err
		}
		if fails {
			return errUser
		}
		if _, err := t.read(other[0]); err != nil {
			return err
		}
		return t.increment(other[1])
	})
}

// deep writes the same few keys so often that their cells forget.
func (x *session) deep(r *baton.Source) {
	ks := x.some(r, 1+r.Below(2))
	other := x.some(r, r.Below(2))
	x.transact(x.ctx, "deep", func(t *tx) error {
		if _, err := t.readAll(other); err != nil {
			return err
		}
		return t.increment(ks...)
	})
}

// marks writes one key together with others, again and again, so that its cell
// collects marks.
func (x *session) marks(r *baton.Source) {
	for range 1 + r.Below(6) {
		ks := append([]string{x.keys()[0]}, x.keys()[1+r.Below(len(x.keys())-1)])
		other := x.some(r, r.Below(4)/3)
		x.transact(x.ctx, "marks", func(t *tx) error {
			if _, err := t.readAll(other); err != nil {
				return err
			}
			return t.increment(ks...)
		})
	}
}

// weak reads what may be old, and without transactions.
func (x *session) weak(r *baton.Source) {
	d := []time.Duration{0, 10, 100, 3000}[r.Below(4)] * time.Millisecond
	switch r.Below(4) {
	case 0:
		x.glance(x.ctx, d, x.some(r, 1)[0])
	case 1, 2:
		ks := x.some(r, 1+r.Below(len(x.keys())))
		x.look(x.ctx, d, func(t *tx) error {
			_, err := t.readAll(ks)
			return err
		})
	default:
		x.count(r)
	}
}

// mix does anything.
func (x *session) mix(r *baton.Source) {
	all := []func(*session, *baton.Source){
		(*session).count, (*session).skew, (*session).ring, (*session).snapshot,
		(*session).blind, (*session).locks, (*session).chain, (*session).long,
		(*session).cancelled, (*session).hot, (*session).weak, (*session).inspect,
		(*session).collect, (*session).crowd,
	}
	f := all[r.Below(len(all))]
	if len(x.keys()) < 2 {
		f = (*session).cancelled
	}
	f(x, r)
}

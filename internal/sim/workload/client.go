// Package workload is what simulated clients do: kinds of transactions that provoke each
// other, and the record of what each of them saw.
package workload

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/patterns"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/sim/baton"
	"github.com/strictkv/strictkv/layers/queue"
)

// Client is a program that runs transactions one after another. It outlives the
// processes that it runs in.
type Client struct {
	id    int
	txs   []int // numbers of the transactions to run
	next  int   // of txs
	do    func(x *session, r *baton.Source)
	judge func(x *session)
	under atomic.Int32 // transactions under way
	// copies are what it follows, by how: see copyOf.
	copies [4]*copied
}

// Deal makes n clients for a workload, and deals transactions out to them: as many as the
// workload makes of txs, but for those to skip, by number.
func Deal(workload string, n, txs int, skip map[int]bool) []*Client {
	w := Workloads[workload]
	all := make([]*Client, n)
	for i := range all {
		all[i] = &Client{id: i, do: w.do}
	}
	for i := range w.Txs(txs) {
		if c := all[i%n]; !skip[i] {
			c.txs = append(c.txs, i)
		}
	}
	return all
}

// Last is the client that comes after all others of a workload: it checks the database, reads and
// writes each of n keys, reads all of them at once, and judges what that workload is for.
func Last(workload string, id, n int) *Client {
	judge := Workloads[workload].judge
	return &Client{id: id, txs: make([]int, n), do: (*session).settle, judge: judge}
}

// Done reports whether the client has run all its transactions.
func (c *Client) Done() bool { return c.next == len(c.txs) }

// Crash gives up the transactions that are under way, with their process.
func (c *Client) Crash() {
	if c.under.Swap(0) > 0 {
		c.next++
	}
}

// collection is the name of the collection that holds all keys.
var collection = []byte("c")

// Run runs the transactions that are left.
func (c *Client) Run(ctx context.Context, rt seam.Runtime, db *strictkv.DB, l *Ledger) {
	x := &session{
		Client: c, l: l, rt: rt, db: db, coll: db.Collection(collection), ctx: ctx,
	}
	for !c.Done() {
		i := c.txs[c.next]
		r := baton.Derive(l.Seed, 5, uint64(c.id), uint64(i+1), uint64(c.next))
		c.do(x, &r)
		c.next++
	}
}

// session is a client in one process.
type session struct {
	*Client
	l    *Ledger
	rt   seam.Runtime
	db   *strictkv.DB
	coll *strictkv.Collection
	ctx  context.Context

	// What this start of the process has for patterns.
	office patterns.Candidate
	term   patterns.Term
	jobs   *queue.Queue
}

// transact runs one transaction and records it.
func (x *session) transact(
	ctx context.Context, name string, fn func(t *tx) error, o ...strictkv.TxOption,
) {
	x.record(name, func(r *Record) error {
		return x.db.Tx(ctx, x.run(r, fn), o...)
	})
}

// look runs a View and records it: what it sees may be as old as the bound.
func (x *session) look(ctx context.Context, staleness time.Duration, fn func(t *tx) error) {
	x.record("view", func(r *Record) error {
		r.Invoked -= int64(staleness) * instantsPer
		return x.db.View(ctx, x.run(r, fn), strictkv.MaxStaleness(staleness))
	})
}

// glance reads a key without a transaction.
func (x *session) glance(ctx context.Context, staleness time.Duration, k string) {
	x.record("read", func(r *Record) error {
		r.Invoked -= int64(staleness) * instantsPer
		b, err := x.coll.ReadWeak(ctx, []byte(k), staleness)
		_, err = (&tx{x: x, r: r}).seen(k, b, err)
		return err
	})
}

func (x *session) record(name string, do func(r *Record) error) {
	r := x.l.begin(name, x.rt, x.id, x.txs[x.next])
	x.under.Add(1)
	err := do(r)
	x.l.end(r, err)
	x.under.Add(-1)
}

// run is a function for the database that starts the record anew.
func (x *session) run(r *Record, fn func(t *tx) error) func(*strictkv.Tx) error {
	return func(t *strictkv.Tx) error {
		r.Ops = nil
		r.Runs++
		if x.l.Drafted != nil {
			defer x.l.Drafted(r)
		}
		return fn(&tx{Tx: t, x: x, r: r})
	}
}

// inspect checks the whole database while others use it.
func (x *session) inspect(_ *baton.Source) {
	report, err := x.db.Check(x.ctx, strictkv.CheckOptions{})
	if len(report.Problems) > 0 {
		x.l.Fail("check: %v (%v)", report.Problems, err)
	}
}

// settle checks the database, and reads and writes each key, at the end of all.
func (x *session) settle(r *baton.Source) {
	if x.next == 0 {
		x.inspect(r)
	}
	k := x.keys()[x.next]
	x.transact(x.ctx, "settle", func(t *tx) error { return t.increment(k) })
	if x.next < len(x.keys())-1 {
		return
	}
	x.look(x.ctx, 0, func(t *tx) error {
		_, err := t.readAll(x.keys())
		return err
	})
	if x.judge != nil {
		x.judge(x)
	}
	x.inspect(r)
}

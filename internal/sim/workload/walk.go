package workload

import (
	"errors"
	"slices"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/history"
	"github.com/strictkv/strictkv/internal/sim/baton"
)

// walks goes through the collection outside of transactions, or drops it, while others
// create, change and delete keys.
func (x *session) walks(r *baton.Source) {
	switch r.Below(10) {
	case 0:
		x.drop()
	case 1, 2, 3, 4:
		x.walk(x.span(r), r.Below(3)*r.Below(3))
	case 5: // a walk must not join a read that was sent before it
		x.glance(x.ctx, 0, x.keys()[0])
	case 6:
		ks := x.some(r, 2)
		x.transact(x.ctx, "remove", func(t *tx) error {
			if _, err := t.readAll(ks); err != nil {
				return err
			}
			return errors.Join(t.remove(ks[0]), t.write(ks[1], 0))
		})
	case 7:
		x.one(x.ctx, r)
	default:
		x.count(r)
	}
}

// walk goes through a range by Items, and leaves after that many keys, if not 0. Each item is
// recorded as a read of its own, at an instant between the beginning of the loop and its
// coming. So is the absence of each key that did not come, although the loop went by.
func (x *session) walk(r strictkv.Range, leave int) {
	walk := x.begin("walk")
	var got []string
	stopped := false
	for i, err := range x.coll.Items(x.ctx, r) {
		if err != nil {
			x.end(walk, err)
			return
		}
		seen := history.Read(string(i.Key), string(i.Value))
		if r.KeysOnly {
			seen = history.Exists(string(i.Key))
		}
		x.sawSince(walk, seen)
		got = append(got, string(i.Key))
		if stopped = len(got) == leave || len(got) == r.Limit; stopped {
			break
		}
	}
	from, to := string(r.From), string(r.To)
	switch {
	case stopped && r.Reverse:
		from = got[len(got)-1]
	case stopped:
		to = got[len(got)-1]
	}
	for _, k := range x.keys() {
		if k >= from && (k < to || to == "") && !slices.Contains(got, k) {
			x.sawSince(walk, history.ReadAbsent(k))
		}
	}
	x.end(walk, nil)
}

// sawSince records that something was so at an instant since the walk began.
func (x *session) sawSince(walk *Record, op history.Op) {
	r := x.l.begin("item", x.rt, x.id, x.txs[x.next])
	r.Invoked, r.Ops = walk.Invoked, []history.Op{op}
	x.l.end(r, nil)
}

// drop deletes each key, at an instant of its own. If it fails, each may be deleted, some
// time.
func (x *session) drop() {
	all := make([]*Record, len(x.keys()))
	for i, k := range x.keys() {
		all[i] = x.l.begin("drop", x.rt, x.id, x.txs[x.next])
		all[i].Ops = []history.Op{history.Delete(k)}
		if x.l.Drafted != nil {
			x.l.Drafted(all[i])
		}
	}
	x.under.Add(1)
	if _, err := x.coll.Drop(x.ctx); err == nil {
		for _, r := range all {
			x.l.end(r, nil)
		}
	}
	x.under.Add(-1)
}

func (x *session) begin(name string) *Record {
	r := x.l.begin(name, x.rt, x.id, x.txs[x.next])
	x.under.Add(1)
	return r
}

func (x *session) end(r *Record, err error) {
	x.l.end(r, err)
	x.under.Add(-1)
}

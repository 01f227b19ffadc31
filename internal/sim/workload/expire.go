package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/history"
	"github.com/strictkv/strictkv/internal/sim/baton"
)

// Expires reports whether the values of a workload expire: then the clocks differ.
func Expires(workload string) bool { return strings.Contains(workload, "expire") }

// Clocks say by which clock values expire, and how exactly.
type Clocks struct {
	// Expire says that values do.
	Expire bool
	// Epoch is what the clock says as the run begins.
	Epoch time.Time
	// Exact says that a value expires at one instant for all: as if it were deleted then.
	Exact bool
	// Early and Late are by how much a client's clock may be off otherwise.
	Early, Late time.Duration
}

// now is what the clock says.
func (l *Ledger) now() time.Time { return l.Clocks.Epoch.Add(l.Now()) }

// due is when a value expires, as an instant of the ledger's.
func (l *Ledger) due(at time.Time) int64 { return int64(at.Sub(l.Clocks.Epoch)) * instantsPer }

// expiring is unique for a value that expires at a time, or never.
func (l *Ledger) expiring(n, client int, at time.Time) string {
	v := l.unique(n, client)
	if !at.IsZero() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.expires == nil {
			l.expires = map[string]time.Time{}
		}
		l.expires[v] = at
	}
	return v
}

// expiry is when a value expires; zero is never.
func (l *Ledger) expiry(v string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.expires[v]
}

// expireLocked checks that nobody has seen a value that was due, and adds to a history that
// values expire. Where clocks differ, it leaves out the absences that may come from that: then
// only what is there is judged.
func (l *Ledger) expireLocked(all []history.Transaction) ([]history.Transaction, error) {
	if l.expires == nil {
		return all, nil
	}
	w := windows{Ledger: l, byKey: map[string][]int64{}}
	for i := range all {
		all[i].Ops = w.flat(all[i].Ops)
		for _, op := range all[i].Ops {
			if at, ok := l.expires[op.Value]; ok && op.Kind != history.KindRead {
				w.byKey[op.Key] = append(w.byKey[op.Key], l.due(at))
			}
		}
	}
	for i := range all {
		if err := w.late(&all[i]); err != nil {
			return nil, err
		}
	}
	if l.Clocks.Exact {
		return append(all, w.ends(all)...), nil
	}
	for i := range all {
		w.relax(&all[i])
	}
	return all, nil
}

// windows are when the values of each key expire.
type windows struct {
	*Ledger
	byKey map[string][]int64
}

// flat turns scans into reads.
func (w windows) flat(ops []history.Op) []history.Op {
	var flat []history.Op
	for _, op := range ops {
		if op.Kind != history.KindScan {
			flat = append(flat, op)
			continue
		}
		s, found := op.Scan, map[string]bool{}
		for _, i := range s.Items {
			found[i.Key] = true
			if s.KeysOnly {
				flat = append(flat, history.Exists(i.Key))
			} else {
				flat = append(flat, history.Read(i.Key, i.Value))
			}
		}
		for _, k := range w.Keys {
			if !found[k] && covers(s, k) {
				flat = append(flat, history.ReadAbsent(k))
			}
		}
	}
	return flat
}

// covers reports whether a scan has come by a key.
func covers(s *history.Scan, k string) bool {
	if k < s.From || s.To != "" && k >= s.To {
		return false
	}
	if !s.Stopped || len(s.Items) == 0 {
		return true
	}
	last := s.Items[len(s.Items)-1].Key
	return s.Reverse == (k > last)
}

// late looks for a value that was seen too late.
func (w windows) late(t *history.Transaction) error {
	if t.Status != history.Committed && !t.Validated {
		return nil
	}
	for _, op := range t.Ops {
		at, ok := w.expires[op.Value]
		if !ok || op.Kind != history.KindRead {
			continue
		}
		if by := t.Invoked - w.due(at) - int64(w.Clocks.Late)*instantsPer; by >= 0 {
			return fmt.Errorf("%s saw %s, which had been due for %v", t.ID, op,
				time.Duration(by/instantsPer)+w.Clocks.Late)
		}
	}
	return nil
}

// ends are the ends of all values that expire: each a transaction that may delete its value, at
// some time from when it is due.
func (w windows) ends(all []history.Transaction) []history.Transaction {
	var ends []history.Transaction
	for _, t := range all {
		for _, op := range t.Ops {
			at, ok := w.expires[op.Value]
			if !ok || op.Kind != history.KindWrite && op.Kind != history.KindInsert {
				continue
			}
			ends = append(ends, history.Transaction{
				ID: "end of " + op.Value, Client: "clock", Status: history.Unknown,
				Invoked: w.due(at) - 1,
				Ops:     []history.Op{history.Read(op.Key, op.Value), history.Delete(op.Key)},
			})
		}
	}
	return ends
}

// relax leaves out the absences that a clock may explain.
func (w windows) relax(t *history.Transaction) {
	may := func(k string) bool {
		return slices.ContainsFunc(w.byKey[k], func(due int64) bool {
			early := due - int64(w.Clocks.Early)*instantsPer
			return t.Status == history.Unknown || early <= t.Returned
		})
	}
	var ops []history.Op
	for _, op := range t.Ops {
		switch {
		case op.Kind == history.KindRead && op.Absent && may(op.Key):
			continue
		case op.Kind == history.KindInsert && may(op.Key):
			op.Kind = history.KindWrite
		}
		ops = append(ops, op)
	}
	t.Ops = ops
}

// inspectItem reads a key with what there is to know of its value.
func (t *tx) readItem(k string) (i item, v strictkv.Version, err error) {
	got, err := t.Tx.ReadItem(t.x.coll, []byte(k))
	if err == nil {
		t.x.checkItem(k, got)
	}
	i, err = t.seen(k, got.Value, err)
	return i, got.Version, err
}

// checkItem checks that an item tells when its value expires.
func (x *session) checkItem(k string, i strictkv.Item) {
	if want := x.l.expiry(string(i.Value)); !i.Expires.Equal(want) {
		x.l.Fail("%s=%s expires at %v, not at %v", k, i.Value, want, i.Expires)
	}
}

// require makes a transaction depend on what was read before.
func (t *tx) require(old item, v strictkv.Version) error {
	if err := t.Require(t.x.coll, []byte(old.key), v); err != nil {
		return err
	}
	if _, written := t.known(old.key); !written {
		t.note(old)
	}
	return nil
}

// swaps reads a key in one transaction, and replaces it in another if it is the same then.
func (x *session) swaps(r *baton.Source) { x.swap(r, time.Time{}) }

func (x *session) swap(r *baton.Source, at time.Time) {
	ks, how := x.some(r, 2), r.Below(4)
	d := time.Duration(r.Below(400)) * time.Millisecond
	var old item
	var v strictkv.Version
	x.look(x.ctx, 0, func(t *tx) (err error) {
		old, v, err = t.readItem(ks[0])
		return err
	})
	if r.Below(2) == 0 {
		_ = x.rt.Sleep(x.ctx, d)
	}
	x.transact(x.ctx, "swap", func(t *tx) error {
		if how == 0 && len(ks) > 1 {
			if err := t.increment(ks[1]); err != nil {
				return err
			}
		}
		if err := t.require(old, v); err != nil {
			return err
		}
		if how == 1 {
			return t.remove(ks[0])
		}
		return t.writeUntil(ks[0], number(old.value)+1, at)
	})
}

// soon is a time at which a value is to expire: mostly while others are at work.
func (x *session) soon(r *baton.Source) time.Time {
	most := []int{50, 500, 3000, 60_000}[r.Below(4)]
	return x.l.now().Add(time.Duration(1+r.Below(most)) * time.Millisecond)
}

// expiring writes values that expire, renews them, and takes over what has expired.
func (x *session) expiring(r *baton.Source) {
	ks, at := x.some(r, 1+r.Below(3)), x.soon(r)
	switch k := ks[0]; r.Below(13) {
	case 0:
		x.transact(x.ctx, "write", func(t *tx) error { return t.writeUntil(k, 0, at) })
	case 1, 2:
		x.transact(x.ctx, "insert", func(t *tx) error {
			for _, k := range ks {
				if err := t.insertUntil(k, 0, at); err != nil {
					return err
				}
			}
			return nil
		})
	case 3, 4:
		x.transact(x.ctx, "renew", func(t *tx) error { return t.renew(at, ks...) })
	case 5:
		x.transact(x.ctx, "lease", func(t *tx) error { return t.underLease(ks, at) })
	case 6:
		x.crowdRenews(r, at)
	case 7:
		x.glance(x.ctx, time.Duration(r.Below(2)*r.Below(3000))*time.Millisecond, k)
	case 8:
		x.look(x.ctx, time.Duration(r.Below(2)*r.Below(3000))*time.Millisecond,
			func(t *tx) error {
				_, err := t.readAll(ks)
				return err
			})
	case 9:
		x.swap(r, at)
	case 10:
		_ = x.rt.Sleep(x.ctx, time.Duration(r.Below(4000))*time.Millisecond)
		x.lookAtAll(r)
	case 11:
		x.one(x.ctx, r)
	default:
		x.lookAtAll(r)
	}
}

// renew gives keys that have a value another one, which expires later, and others their first.
func (t *tx) renew(at time.Time, ks ...string) error {
	for _, k := range ks {
		i, _, err := t.readItem(k)
		if err != nil {
			return err
		}
		if !i.found {
			err = t.insertUntil(k, 1, at)
		} else {
			err = t.writeUntil(k, number(i.value)+1, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// underLease takes the lease of the first key, if nobody has it; who finds it does something with
// the others.
func (t *tx) underLease(ks []string, at time.Time) error {
	i, err := t.read(ks[0])
	if err != nil {
		return err
	}
	if !i.found {
		return t.writeUntil(ks[0], 0, at)
	}
	return t.increment(ks[1:]...)
}

// crowdRenews has several transactions of a handle renew one key at once.
func (x *session) crowdRenews(r *baton.Source, at time.Time) {
	all := make([]func(), 2+r.Below(3))
	for i := range all {
		ks, looks := x.some(r, 1+r.Below(2)), r.Below(3) == 0
		all[i] = func() {
			x.transact(x.ctx, "crowd", func(t *tx) error {
				if looks {
					_, err := t.readAll(ks)
					return errors.Join(err, t.write(x.keys()[0], 0))
				}
				return t.renew(at, ks...)
			})
		}
	}
	x.atOnce(all)
}

// expiringSweep sweeps beside all that.
func (x *session) expiringSweep(r *baton.Source) {
	switch r.Below(6) {
	case 0:
		_ = x.rt.Sleep(x.ctx, age-x.l.Now()%age)
	case 1:
		_ = x.rt.Sleep(x.ctx, time.Duration(60+r.Below(20))*time.Second)
		x.collect(r)
	case 2:
		x.collect(r)
	default:
		x.expiring(r)
	}
}

// expiringRanges scans what expires.
func (x *session) expiringRanges(r *baton.Source) {
	switch s, leave, d := x.span(r), r.Below(3)*r.Below(3), r.Below(3000); r.Below(6) {
	case 0, 1:
		x.ranges(r)
	case 2:
		x.look(x.ctx, time.Duration(r.Below(2)*d)*time.Millisecond, func(t *tx) error {
			_, err := t.scan(s, leave, nil)
			return err
		})
	case 3:
		_ = x.rt.Sleep(x.ctx, time.Duration(d)*time.Millisecond)
		x.phantoms(r)
	default:
		x.expiring(r)
	}
}

package workload

import (
	"errors"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/history"
	"github.com/strictkv/strictkv/internal/sim/baton"
)

// Scans reports whether the clients of a workload scan: then pages are short.
func Scans(workload string) bool { return strings.HasPrefix(workload, "range") }

// scanned is a scan that is being recorded. A write within the loop begins a new piece.
type scanned struct {
	t     *tx
	piece history.Scan
}

// scan goes through a range, and leaves after that many keys, if not 0. It records what the
// loop has gone through, in pieces between the writes of body.
func (t *tx) scan(r strictkv.Range, leave int, body func(i item) error) (n int, err error) {
	s := &scanned{t: t, piece: history.Scan{
		From: string(r.From), To: string(r.To), Reverse: r.Reverse, KeysOnly: r.KeysOnly,
	}}
	for i, err := range t.Tx.Scan(t.x.coll, r) {
		if err != nil {
			return n, err
		}
		n++
		s.piece.Items = append(s.piece.Items, history.Item{
			Key: string(i.Key), Value: string(i.Value),
		})
		if (i.Value == nil) != r.KeysOnly {
			t.x.l.Fail("%s scanned %q: %v", t.r.ID, i.Key, i.Value)
		}
		if !r.KeysOnly {
			t.x.checkItem(string(i.Key), i)
		}
		ops := len(t.r.Ops)
		if body != nil {
			if err := body(item{string(i.Key), string(i.Value), true}); err != nil {
				return n, err
			}
		}
		if len(t.r.Ops) > ops {
			s.cut(ops)
		}
		if n == r.Limit || n == leave {
			s.piece.Stopped = true
			break
		}
	}
	if !s.piece.Stopped || len(s.piece.Items) > 0 {
		t.did(history.ScanOf(s.piece))
	}
	return n, nil
}

// cut records the piece that ended before the ops from at on, and begins another behind it.
func (s *scanned) cut(at int) {
	piece, last := s.piece, s.piece.Items[len(s.piece.Items)-1].Key
	piece.Stopped = true
	ops := s.t.r.Ops
	s.t.r.Ops = append(append(append([]history.Op{}, ops[:at]...), history.ScanOf(piece)),
		ops[at:]...)
	if s.piece.Items = nil; s.piece.Reverse {
		s.piece.To = last
	} else {
		s.piece.From = last + "\x00"
	}
}

// span chooses a range: between keys, of which none need be there.
func (x *session) span(r *baton.Source) strictkv.Range {
	ks := x.keys()
	bound := func() []byte {
		b := []byte(ks[r.Below(len(ks))])
		if r.Below(4) == 0 {
			b = append(b, '5')
		}
		return b
	}
	s := strictkv.Range{Reverse: r.Below(3) == 0, KeysOnly: r.Below(4) == 0}
	if r.Below(3) == 0 {
		s.From = bound()
	}
	if r.Below(3) == 0 {
		s.To = bound()
	}
	if r.Below(3) == 0 {
		s.Limit = 1 + r.Below(3)
	}
	return s
}

// ranges scans, and changes what others scan.
func (x *session) ranges(r *baton.Source) {
	s, ks, leave := x.span(r), x.some(r, 2), r.Below(3)*r.Below(3)
	switch r.Below(10) {
	case 0, 1:
		x.sum(s, leave, ks[0], r.Below(2) == 0)
	case 2: // takes the first key of a queue, and puts another in
		s.Limit = 1
		x.transact(x.ctx, "take", func(t *tx) error {
			n, err := t.scan(s, 0, func(i item) error { return t.remove(i.key) })
			if err != nil || n == 0 {
				return err
			}
			return t.write(ks[0], 0)
		})
	case 3: // writes ahead of the loop, and behind it
		x.transact(x.ctx, "ahead", func(t *tx) error {
			n := 0
			_, err := t.scan(s, leave, func(i item) error {
				if n++; n > 1 {
					return nil
				}
				return errors.Join(t.remove(ks[0]), t.write(ks[1], n))
			})
			return err
		})
	case 4:
		x.transact(x.ctx, "rewrite", func(t *tx) error {
			_, err := t.scan(s, leave, func(i item) error { return t.write(i.key, 1) })
			return err
		})
	case 5, 6:
		x.transact(x.ctx, "remove", func(t *tx) error {
			return errors.Join(t.remove(ks[0]), t.write(ks[1], 0))
		})
	case 7:
		x.one(x.ctx, r)
	default:
		x.lookAt(r, s, leave)
	}
}

// sum writes how many keys a scan has found, or does so only if there are few.
func (x *session) sum(s strictkv.Range, leave int, k string, always bool) {
	x.transact(x.ctx, "sum", func(t *tx) error {
		n, err := t.scan(s, leave, nil)
		switch {
		case err != nil:
			return err
		case always:
			return t.write(k, n)
		case n < 2:
			return t.insert(k, n)
		}
		return nil
	})
}

// lookAt scans in a view, which may be old, and reads a key or another range beside it.
func (x *session) lookAt(r *baton.Source, s strictkv.Range, leave int) {
	k, other := x.some(r, 1)[0], x.span(r)
	d := []time.Duration{0, 0, 0, 10, 100, 3000}[r.Below(6)] * time.Millisecond
	x.look(x.ctx, d, func(t *tx) error {
		if _, err := t.scan(s, leave, nil); err != nil {
			return err
		}
		if leave > 0 {
			_, err := t.read(k)
			return err
		}
		_, err := t.scan(other, 0, nil)
		return err
	})
}

// phantoms lets each transaction look at a range, and create or delete a key depending on
// what is there: rivals must not both do so on the same view.
func (x *session) phantoms(r *baton.Source) {
	s, k, most := x.span(r), x.some(r, 1)[0], 1+r.Below(2)
	if r.Below(2) == 0 {
		s.From, s.To, s.Limit = nil, nil, 0
	}
	if r.Below(5) == 0 {
		x.look(x.ctx, 0, func(t *tx) error {
			_, err := t.scan(s, 0, nil)
			return err
		})
		return
	}
	x.transact(x.ctx, "phantom", func(t *tx) error {
		n, err := t.scan(s, 0, nil)
		switch {
		case err != nil:
			return err
		case n < most:
			return t.write(k, n)
		}
		return t.remove(k)
	})
}

// rangesSweep scans while others sweep, with much time in between.
func (x *session) rangesSweep(r *baton.Source) {
	switch r.Below(4) {
	case 0:
		x.sweep(r)
	case 1:
		_ = x.rt.Sleep(x.ctx, age-x.l.Now()%age)
		x.collect(r)
	case 2:
		x.phantoms(r)
	default:
		x.ranges(r)
	}
}

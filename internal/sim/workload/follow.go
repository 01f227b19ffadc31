package workload

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/history"
	"github.com/strictkv/strictkv/internal/sim/baton"
)

// copied is a copy of the collection that a client makes by following it, with what it needs to
// go on: in all of this it is as durable as a file.
type copied struct {
	// instant says that it goes from instant to instant, seen that it keeps the states of keys
	// itself instead of a Position.
	instant, seen bool

	at     strictkv.Position
	values map[string]strictkv.Change
	// block is what is not applied yet, up to the end of a pass.
	block map[string]strictkv.Change
	// since is the record of the latest instant at which all of it was looked at anew.
	since *Record
}

// copyOf is one of the client's copies, of each kind.
func (x *session) copyOf(i int) *copied {
	if x.copies[i] == nil {
		c := &copied{
			instant: i&1 == 1, seen: i&2 == 2, values: map[string]strictkv.Change{},
			block: map[string]strictkv.Change{},
		}
		x.copies[i] = c
		x.l.mu.Lock()
		x.l.facts.copies = append(x.l.facts.copies, c)
		x.l.mu.Unlock()
	}
	return x.copies[i]
}

// States yields what is kept of keys.
func (c *copied) States(
	_ *strictkv.Collection, from []byte,
) iter.Seq2[strictkv.KeyState, error] {
	return func(yield func(strictkv.KeyState, error) bool) {
		for _, k := range slices.Sorted(maps.Keys(c.values)) {
			if k >= string(from) && !yield(c.state(k), nil) {
				return
			}
		}
	}
}

func (c *copied) state(k string) strictkv.KeyState {
	v, ok := c.values[k]
	return strictkv.KeyState{
		Key: []byte(k), State: v.State, Version: v.Version, Expires: v.Expires, Deleted: !ok,
	}
}

// Lookup returns what is kept of a key.
func (c *copied) Lookup(_ *strictkv.Collection, key []byte) (strictkv.KeyState, error) {
	return c.state(string(key)), nil
}

// Restate keeps another state of a key.
func (c *copied) Restate(_ *strictkv.Collection, key []byte, s strictkv.State) error {
	if v, ok := c.values[string(key)]; ok {
		v.State = s
		c.values[string(key)] = v
	}
	return nil
}

// options are those of a Follow that goes on with the copy.
func (c *copied) options() []strictkv.FollowOption {
	var o []strictkv.FollowOption
	if c.instant {
		o = append(o, strictkv.FollowInstant())
	}
	if c.seen {
		o = append(o, strictkv.FollowSeen(c))
	}
	return o
}

// follow goes on with a copy for some passes, if there is time.
func (x *session) follow(r *baton.Source) {
	c, passes := x.copyOf(r.Below(4)), 1+r.Below(3)
	every := time.Duration(1+r.Below(2000)) * time.Millisecond
	ctx, cancel := x.rt.WithTimeout(x.ctx, time.Duration(1+r.Below(30))*time.Second)
	defer cancel()
	if r.Below(3) == 0 {
		x.passOn(c)
	}
	w := whim{
		passes: passes, leave: cmp.Or(r.Below(3)*r.Below(4), -1),
		work: time.Duration(r.Below(3)*r.Below(200)) * time.Millisecond,
	}
	x.goOn(ctx, c, w, append(c.options(), strictkv.FollowEvery(every))...)
}

// whim is how a client goes on with a copy: for so many passes, or, unless negative, changes, and
// how long it works on each.
type whim struct {
	passes, leave int
	work          time.Duration
}

// passOn writes the Position down, and reads it.
func (x *session) passOn(c *copied) {
	data, err := c.at.MarshalBinary()
	if err == nil {
		c.at = strictkv.Position{}
		err = c.at.UnmarshalBinary(data)
	}
	if err != nil {
		x.l.Fail("position: %w", err)
	}
}

// goOn follows, and records what is seen. It returns what the last pass was.
func (x *session) goOn(
	ctx context.Context, c *copied, w whim, o ...strictkv.FollowOption,
) (last strictkv.Pass) {
	c.since = x.begin("follow")
	clear(c.block)
	for change, err := range x.coll.Follow(ctx, c.at, o...) {
		switch {
		case errors.Is(err, strictkv.ErrCorrupt):
			x.l.Fail("follow: %w", err)
		case err != nil: // it tries again, or its time is over
			continue
		case change.Pass == nil:
			x.learns(c, change)
			w.leave--
			_ = x.rt.Sleep(x.ctx, w.work)
		default:
			last = *change.Pass
			x.passed(c, change)
			w.passes--
		}
		if w.passes == 0 || w.leave == 0 {
			break
		}
	}
	x.end(c.since, nil)
	return last
}

// learns notes a change. One of a copy that goes from instant to instant comes in a block.
func (x *session) learns(c *copied, change strictkv.Change) {
	if c.instant {
		c.block[string(change.Key)] = change
		return
	}
	x.sawSince(c.since, readOf(string(change.Key), change, !change.Deleted))
	c.apply(change)
	c.at = change.Position
}

// apply applies a change.
func (c *copied) apply(change strictkv.Change) {
	if change.Deleted {
		delete(c.values, string(change.Key))
		return
	}
	c.values[string(change.Key)] = change
}

func readOf(k string, c strictkv.Change, found bool) history.Op {
	if !found {
		return history.ReadAbsent(k)
	}
	return history.Read(k, string(c.Value))
}

// passed is the end of a pass: the copy is what there was since the pass before, of each key, or
// all at one instant.
func (x *session) passed(c *copied, change strictkv.Change) {
	for _, k := range slices.Sorted(maps.Keys(c.block)) {
		c.apply(c.block[k])
	}
	clear(c.block)
	c.at = change.Position
	var ops []history.Op
	for _, k := range x.keys() {
		v, found := c.values[k]
		ops = append(ops, readOf(k, v, found))
	}
	switch p := change.Pass; {
	case p.Instant:
		r := x.l.begin("instant", x.rt, x.id, x.txs[x.next])
		r.Invoked, r.Ops = c.since.Invoked, ops
		x.l.end(r, nil)
	case c.instant:
		x.l.Fail("a pass that was no instant: %+v", *p)
	case p.Whole && p.Held == 0:
		for _, op := range ops {
			x.sawSince(c.since, op)
		}
	}
	x.end(c.since, nil)
	c.since = x.begin("follow")
}

// follows follows, while others write.
func (x *session) follows(r *baton.Source) {
	switch r.Below(12) {
	case 0, 1, 2, 3, 4:
		x.follow(r)
	case 5:
		x.drop()
	case 6:
		x.transfer(r)
	case 7:
		x.skew(r)
	case 8:
		x.cancelled(r)
	case 9:
		x.chain(r)
	case 10:
		x.blind(r)
	default:
		x.one(x.ctx, r)
	}
}

// expiringFollows follows what expires.
func (x *session) expiringFollows(r *baton.Source) {
	if r.Below(5) < 2 {
		x.follow(r)
		return
	}
	x.expiring(r)
}

// followsSweep follows while others sweep, with much time in between.
func (x *session) followsSweep(r *baton.Source) {
	switch r.Below(6) {
	case 0, 1:
		x.follow(r)
	case 2:
		_ = x.rt.Sleep(x.ctx, age-x.l.Now()%age)
	case 3:
		x.collect(r)
	default:
		x.sweep(r)
	}
}

// judgeTries is how many passes the last client gives a key that is held.
const judgeTries = 20

// judgeCopies goes on with all copies until nobody writes any more, and compares them with what
// there is.
func (x *session) judgeCopies() {
	for _, c := range x.l.facts.copies {
		held := int64(1)
		for try := 0; held > 0 && try < judgeTries; try++ {
			o := append(c.options(), strictkv.FollowOnce())
			held = x.goOn(x.ctx, c, whim{passes: 1, leave: -1}, o...).Held
		}
		if held > 0 {
			x.l.Fail("%d keys are held, and nobody writes", held)
		}
		x.look(x.ctx, 0, func(t *tx) error {
			all, err := t.readAll(x.keys())
			if err != nil {
				return err
			}
			for _, i := range all {
				v, found := c.values[i.key]
				due := x.l.expiry(string(v.Value)).IsZero() && x.l.expiry(i.value).IsZero()
				if due && (found != i.found || string(v.Value) != i.value) {
					x.l.Fail("%s is %q, and in a copy %q (%v)", i.key, i.value, v.Value, c.instant)
				}
			}
			return nil
		})
	}
}

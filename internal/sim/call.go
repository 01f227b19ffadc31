package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/sim/baton"
)

// kind is what a call asks of the store.
type kind uint8

const (
	get kind = iota
	put
	del
	list
	batch
)

var kinds = [...]string{"get", "put", "del", "list", "batch"}

// call is one request to the store. It parks twice at most: until it takes effect, and
// until its answer arrives.
type call struct {
	kind kind
	id   int
	t    *baton.Task
	p    *process

	at      time.Duration // when it was sent, by the store's clock
	name    string
	known   backend.Version // of a get, or the version of a del
	data    []byte
	cond    backend.Condition
	options backend.ListOptions
	writes  []backend.Write // of a batch

	// applied is set when it has taken effect, answered when its client knows.
	applied, answered bool
	// stalled is the step until which it is held back.
	stalled int

	object backend.Object
	stamp  backend.Stamp
	stamps []backend.Stamp
	// refused is the write of a batch whose condition did not hold.
	refused int
	page    backend.Page
	err     error
}

// bucket is the store as one process sees it: every call parks until the scheduler
// decides about it.
type bucket struct{ p *process }

var _ backend.Backend = bucket{}

func (b bucket) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	c := &call{kind: get, name: name, known: known}
	b.send(ctx, c)
	return c.object, c.err
}

func (b bucket) Put(
	ctx context.Context, name string, data []byte, cond backend.Condition,
) (backend.Stamp, error) {
	c := &call{kind: put, name: name, data: data, cond: cond}
	b.send(ctx, c)
	return c.stamp, c.err
}

func (b bucket) Delete(ctx context.Context, name string, v backend.Version) error {
	c := &call{kind: del, name: name, known: v}
	b.send(ctx, c)
	return c.err
}

func (b bucket) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	c := &call{kind: list, name: o.Prefix, options: o}
	b.send(ctx, c)
	return c.page, c.err
}

// Capabilities declares what the store honours; in some worlds requests may be repeated on
// their way.
func (b bucket) Capabilities() backend.Capabilities {
	return backend.Capabilities{
		ConditionalDelete: true, SendsOnce: b.p.s.params.once, Near: b.p.s.params.near,
	}
}

// batcher is a bucket of a world in which a write may be one of several objects.
type batcher struct{ bucket }

var _ backend.Batcher = batcher{}

func (b batcher) PutAll(
	ctx context.Context, writes []backend.Write,
) ([]backend.Stamp, int, error) {
	c := &call{kind: batch, name: writes[0].Name, writes: writes}
	b.send(ctx, c)
	return c.stamps, c.refused, c.err
}

// BatchMax is so small that not all that is written fits.
func (batcher) BatchMax() int { return batchMax }

const batchMax = 400

// applyAll writes all objects of a batch, or none.
func (s *Sim) applyAll(c *call) {
	ctx := context.Background()
	for i, w := range c.writes {
		o, err := s.store.Get(ctx, w.Name, "")
		if absent := err != nil; absent != w.If.Absent() || o.Version != w.If.Version() {
			c.refused, c.err = i, fmt.Errorf("batch: %w", backend.ErrPrecondition)
			return
		}
	}
	c.err, c.stamps = nil, make([]backend.Stamp, len(c.writes))
	for i, w := range c.writes {
		at, err := s.store.Put(ctx, w.Name, w.Data, w.If)
		if err != nil {
			s.world.Fail(fmt.Errorf("batch: %w", err))
			return
		}
		s.witness.Put(relative(w.Name), w.Data, at.Version)
		at.Time = s.tells(at.Time)
		c.stamps[i] = at
	}
}

// send parks the call until it is answered, or its context ends.
func (b bucket) send(ctx context.Context, c *call) {
	if c.err = ctx.Err(); c.err != nil {
		return
	}
	s := b.p.s
	s.sent++
	c.id, c.p, c.t, c.at = s.sent, b.p, s.world.Current(), s.storeTime()
	s.calls = append(s.calls, c)
	s.world.Park(ctx)
	if !c.answered {
		s.abandon(c, ctx.Err())
	}
}

// harms counts a request that is not answered as it should be. What becomes of a hint is no excuse
// for a transaction.
func (c *call) harms() {
	if !keyspace.IsHint(relative(c.name)) {
		c.p.harm++
	}
}

func (c *call) write() bool { return c.kind == put || c.kind == del || c.kind == batch }

// apply makes the call take effect.
func (s *Sim) apply(c *call) {
	c.applied = true
	ctx := context.Background()
	switch c.kind {
	case get:
		c.object, c.err = s.store.Get(ctx, c.name, c.known)
	case put:
		c.stamp, c.err = s.store.Put(ctx, c.name, c.data, c.cond)
		if c.err == nil {
			s.witness.Put(relative(c.name), c.data, c.stamp.Version)
		}
	case batch:
		s.applyAll(c)
	case del:
		if c.err = s.store.Delete(ctx, c.name, c.known); c.err == nil {
			s.witness.Remove(relative(c.name))
		}
	case list:
		o := c.options
		if most := s.params.pageMax; most > 0 && (o.Limit == 0 || o.Limit > most) {
			o.Limit = most
		}
		c.page, c.err = s.store.List(ctx, o)
	}
	c.object.Time, c.stamp.Time = s.tells(c.object.Time), s.tells(c.stamp.Time)
	if s.params.told == toldByWrites {
		c.object.Time = time.Time{}
	}
}

// tells is what an answer tells of the store's time.
func (s *Sim) tells(at time.Time) time.Time {
	switch s.params.told {
	case toldSeconds:
		return at.Truncate(time.Second)
	case untold:
		return time.Time{}
	}
	return at
}

// answer gives the call's result to its client.
func (s *Sim) answer(c *call) {
	c.answered = true
	s.drop(c)
	s.world.Wake(c.t)
}

// answerWith gives the client an error instead of the result.
func (s *Sim) answerWith(c *call, err error) {
	c.forget()
	c.err = err
	c.harms()
	s.answer(c)
}

// forget empties the answer.
func (c *call) forget() {
	c.object, c.stamp, c.page = backend.Object{}, backend.Stamp{}, backend.Page{}
	c.stamps, c.refused = nil, 0
}

// drop takes the call out of the list of parked ones.
func (s *Sim) drop(c *call) {
	s.calls = slices.DeleteFunc(s.calls, func(x *call) bool { return x == c })
}

// abandon ends a call whose context has ended. A write that has not taken effect may
// still do so.
func (s *Sim) abandon(c *call, cause error) {
	s.drop(c)
	c.harms()
	c.forget()
	c.err = cause
	if c.write() {
		c.err = fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, cause)
	}
	s.note(actTimeout, c)
	if c.write() && !c.applied && s.tape.next()&1 == 1 {
		s.haunt(c)
	}
}

// haunt keeps a copy of a write, which may take effect some time later.
func (s *Sim) haunt(c *call) {
	s.haunted++
	s.ghosts = append(s.ghosts, &call{
		kind: c.kind, id: c.id, p: c.p, at: c.at,
		name: c.name, known: c.known, data: c.data, cond: c.cond, writes: c.writes,
	})
}

// relative is an object's name within the database.
func relative(name string) string { return strings.TrimPrefix(name, database+"/") }

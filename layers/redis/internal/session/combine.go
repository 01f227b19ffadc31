package session

import (
	"context"
	"errors"
	"hash/maphash"
	"runtime"
	"slices"
	"sync"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// Limits of what commands of different sessions have in one transaction.
const (
	// combinedKeysMax is how many keys they name. A command may write a key or two beside each.
	combinedKeysMax = 256
	// combinedMax is how long their arguments are together, in bytes, and combinedArgMax how long
	// each may be: a longer value may become an object of its own, for which the others would wait.
	combinedMax    = 2 << 20
	combinedArgMax = 256 << 10
)

// extraMin is how many sessions wait, at least, when one more may lead. They are as many as take
// part in the transactions under way, too: small ones would not pay for themselves.
const extraMin = 8

// Combiner has commands of different sessions share transactions, as those of a pipeline do: flat
// combining (Hendler et al. 2010). One session leads: it runs what it wants to have run, and what
// others do that wait. Who comes meanwhile waits, and the first of them leads next.
//
// While a transaction waits for the disk, the next one can run: so one session more may lead, once
// enough wait for it. What is run at the same time names different keys, as transactions that want
// the same one wait for each other, and run again.
type Combiner struct {
	most  int  // how many may lead at any time
	extra bool // one more may
	seed  maphash.Seed

	mu      sync.Mutex // guards all below
	leading int
	running int                 // parts of those who lead
	busy    map[uint64]struct{} // hashes of their keys
	waiting []*part             // the eldest first
}

// NewCombiner returns a Combiner by which transactions keep half of the processors busy: the rest
// is for the clients' connections. If they overlap, there is one more while others wait.
func NewCombiner(overlap bool) *Combiner {
	return newCombiner(max(1, runtime.GOMAXPROCS(0)/2), overlap)
}

func newCombiner(most int, extra bool) *Combiner {
	return &Combiner{
		most: most, extra: extra, seed: maphash.MakeSeed(), busy: map[uint64]struct{}{},
	}
}

// part is what one session has run in a transaction.
type part struct {
	s     *Session
	calls []call
	bytes int // of their arguments
	mark  resp.Mark
	done  int // calls that were run

	hashes []uint64 // of the keys that they name, for the Combiner

	told chan order // one at a time
	err  error      // that of the transaction, for ended
}

// order is what a session is told that waits.
type order uint8

const (
	// lead: it is its turn to lead.
	lead order = iota
	// ended: its part was run, and the transaction is over.
	ended
	// alone: its part was not run, and is to be run by itself.
	alone
)

// errAlone stands for alone.
var errAlone = errors.New("to be run by itself")

// combines reports whether the part may share a transaction with others': it writes, and each of
// its commands is small.
func (p *part) combines() bool {
	writes := false
	for i := range p.calls {
		c := &p.calls[i]
		if c.command.Flags&command.Plain == 0 {
			return false
		}
		writes = writes || c.command.Flags&command.Write != 0
		for _, arg := range c.args {
			if len(arg) > combinedArgMax {
				return false
			}
			p.bytes += len(arg)
		}
	}
	return writes
}

// run runs the calls in a transaction, each with its reply.
func (p *part) run(tx *strictkv.Tx) error {
	s := p.s
	s.out.Rewind(p.mark)
	p.done = 0
	t := s.newTx(tx)
	if s.shared.Combiner == nil { // else the store answers each read as soon as all
		s.ahead(t, p.calls)
	}
	for p.done < len(p.calls) && s.out.Len() < repliesMax && t.Copied() < copiedMax {
		if err := s.call(t, p.calls[p.done]); err != nil {
			return err
		}
		p.done++
	}
	return nil
}

// run runs a part in a transaction with others'. The error is errAlone if it is to be run by
// itself, else that of the transaction, which others may have in common.
func (c *Combiner) run(ctx context.Context, p *part) error {
	if p.told == nil {
		p.told = make(chan order, 1)
	}
	for i := range p.calls {
		p.calls[i].eachKey(func(key []byte) {
			p.hashes = append(p.hashes, maphash.Bytes(c.seed, key))
		})
	}
	if c.enter(p) {
		return c.lead(ctx, p)
	}
	var o order
	within := p.s.timed(ctx)
	select {
	case o = <-p.told:
	case <-within.Done():
		if c.leave(p) {
			return within.Err()
		}
		o = <-p.told // soon: it leads, or its transaction has begun
	}
	switch o {
	case lead:
		return c.lead(ctx, p)
	case alone:
		return errAlone
	}
	return p.err
}

// enter reports whether the part's session leads. Otherwise it has to wait.
func (c *Combiner) enter(p *part) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, p)
	next := c.nextLocked()
	if next == nil || next == p {
		return next != nil
	}
	next.told <- lead
	return false
}

// nextLocked takes out the eldest part, if its session is to lead now. If that can't, as others run
// what names the same keys, nobody can who came later: else it might wait for ever.
func (c *Combiner) nextLocked() *part {
	if len(c.waiting) == 0 {
		return nil
	}
	next := c.waiting[0]
	switch {
	case c.leading == 0: // nothing is busy
	case c.meetsLocked(next) || c.leading > c.most:
		return nil
	case c.leading == c.most && (!c.extra || len(c.waiting) < max(extraMin, c.running)):
		return nil
	}
	c.waiting = slices.Delete(c.waiting, 0, 1)
	c.leading++
	c.beginLocked(next)
	return next
}

// meetsLocked reports whether a part names a key that is busy.
func (c *Combiner) meetsLocked(p *part) bool {
	for _, h := range p.hashes {
		if _, busy := c.busy[h]; busy {
			return true
		}
	}
	return false
}

// beginLocked makes the keys of a part busy.
func (c *Combiner) beginLocked(p *part) {
	c.running++
	for _, h := range p.hashes {
		c.busy[h] = struct{}{}
	}
}

// leave takes out a part that waits, if it still does.
func (c *Combiner) leave(p *part) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.waiting, p)
	if i < 0 {
		return false
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
	return true
}

// lead runs a part, and those that wait.
func (c *Combiner) lead(ctx context.Context, p *part) (err error) {
	runtime.Gosched()              // others whose commands have come by now take part
	parts, o := c.gather(p), alone // if a command panics, each of the others is on its own
	defer func() {
		c.pass(parts)
		for _, q := range parts[1:] {
			q.s.release()
			q.err = err
			q.told <- o
		}
	}()
	err = p.s.transaction(ctx, p.calls, false, func(tx *strictkv.Tx) error {
		for _, q := range parts {
			if err := q.run(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if len(parts) > 1 && byItself(err) {
		return errAlone
	}
	o = ended
	return err
}

// gather returns a part, and those that wait and have room beside it.
func (c *Combiner) gather(p *part) []*part {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts, left := []*part{p}, c.waiting[:0]
	keys, bytes := len(p.hashes), p.bytes
	full := false
	for _, q := range c.waiting {
		full = full || keys+len(q.hashes) > combinedKeysMax || bytes+q.bytes > combinedMax
		if full || c.leading > 1 && c.meetsLocked(q) {
			left = append(left, q)
			continue
		}
		keys, bytes = keys+len(q.hashes), bytes+q.bytes
		parts = append(parts, q)
	}
	clear(c.waiting[len(left):])
	c.waiting = left
	for _, q := range parts[1:] {
		c.beginLocked(q)
	}
	return parts
}

// pass ends leading: the eldest who waits goes on, unless there are enough who lead.
func (c *Combiner) pass(parts []*part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leading--
	c.running -= len(parts)
	for _, p := range parts {
		for _, h := range p.hashes {
			delete(c.busy, h)
		}
	}
	if next := c.nextLocked(); next != nil {
		next.told <- lead
	}
}

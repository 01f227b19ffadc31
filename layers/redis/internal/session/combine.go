package session

import (
	"context"
	"errors"
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

// Combiner has commands of different sessions share transactions, as those of a pipeline do: flat
// combining (Hendler et al. 2010). One session leads: it runs what it wants to have run, and what
// others do that wait. Who comes meanwhile waits, and the first of them leads next.
type Combiner struct {
	mu      sync.Mutex // guards all below
	leaders int        // how many more may lead now
	waiting []*part    // the eldest first
}

// NewCombiner returns a Combiner by which transactions keep half of the processors busy: the rest
// is for the clients' connections.
func NewCombiner() *Combiner { return &Combiner{leaders: max(1, runtime.GOMAXPROCS(0)/2)} }

// part is what one session has run in a transaction.
type part struct {
	s     *Session
	calls []call
	keys  int // that they name
	bytes int // of their arguments
	mark  resp.Mark
	done  int // calls that were run

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
		c.eachKey(func([]byte) { p.keys++ })
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
	if c.leaders > 0 {
		c.leaders--
		return true
	}
	c.waiting = append(c.waiting, p)
	return false
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
		c.pass()
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
	parts := []*part{p}
	keys, bytes := p.keys, p.bytes
	for _, q := range c.waiting {
		keys, bytes = keys+q.keys, bytes+q.bytes
		if keys > combinedKeysMax || bytes > combinedMax {
			break
		}
		parts = append(parts, q)
	}
	c.waiting = slices.Delete(c.waiting, 0, len(parts)-1)
	return parts
}

// pass ends leading: the eldest who waits goes on.
func (c *Combiner) pass() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		c.leaders++
		return
	}
	next := c.waiting[0]
	c.waiting = slices.Delete(c.waiting, 0, 1)
	next.told <- lead
}

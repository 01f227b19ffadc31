package session

import (
	"context"
	"errors"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// run runs calls in one transaction, and writes a reply for each. It returns how many it has run:
// less than all if the replies have become long.
func (s *Session) run(ctx context.Context, calls []call) int {
	if len(calls) == 1 && calls[0].command.Flags&command.Single != 0 {
		s.single(ctx, calls[0])
		return 1
	}
	p := &s.part
	*p = part{s: s, calls: calls, mark: s.out.Mark(), told: p.told}
	err := errAlone
	if s.shared.Combiner != nil && p.combines() {
		err = s.shared.Combiner.run(ctx, p)
	}
	if errors.Is(err, errAlone) {
		err = s.transaction(ctx, calls, s.shared.Staleness != 0, p.run)
	}
	mark, done := p.mark, p.done
	*p = part{told: p.told}
	return s.ran(ctx, calls, mark, done, err)
}

// ran is what follows from how the transaction has ended that calls were run in.
func (s *Session) ran(
	ctx context.Context, calls []call, mark resp.Mark, done int, err error,
) int {
	switch {
	case err == nil:
		s.shared.Stats.Commands.Add(int64(done))
		return done
	case len(calls) > 1 && byItself(err):
		// One of them is to blame: the others must not fail for it.
		s.out.Rewind(mark)
		for i := range calls {
			if i > 0 && s.out.Len() >= repliesMax {
				return i
			}
			s.run(ctx, calls[i:i+1])
		}
		return len(calls)
	}
	s.out.Rewind(mark)
	s.shared.Stats.Commands.Add(int64(len(calls)))
	for range calls {
		s.fail(err)
	}
	return len(calls)
}

// single runs a call that reads one key.
func (s *Session) single(ctx context.Context, c call) {
	s.shared.Stats.Transactions.Add(1)
	s.shared.Stats.Commands.Add(1)
	mark := s.out.Mark()
	t := s.shared.Space.NewSingle(s.timed(ctx), s.database, s.shared.Staleness)
	if err := s.call(t, c); err != nil {
		s.out.Rewind(mark)
		s.fail(err)
	}
}

// timeoutParts bounds by how much less than the timeout a command may have: that part of it.
const timeoutParts = 16

// timed is a context that ends with ctx, or when a command that begins now has taken as long as it
// may: commands that follow each other soon have the same, which costs less than one for each.
func (s *Session) timed(ctx context.Context) context.Context {
	now, limit := time.Now(), s.shared.Timeout
	if s.within == nil || s.until.Sub(now) < limit-limit/timeoutParts {
		s.stop()
		s.until = now.Add(limit)
		s.within, s.stop = context.WithDeadline(ctx, s.until)
	}
	return s.within
}

// byItself reports whether a transaction has failed without effect for what one of its commands
// has asked for.
func byItself(err error) bool {
	for _, e := range []error{
		strictkv.ErrTooLarge, strictkv.ErrInvalid, strictkv.ErrInvalidKey, strictkv.ErrCorrupt,
		strictkv.ErrFormat, keys.ErrNoMemory,
	} {
		if errors.Is(err, e) {
			return !errors.Is(err, strictkv.ErrInDoubt)
		}
	}
	return false
}

// transaction runs f, in a View if no call writes: of what may be stale if that is wanted.
func (s *Session) transaction(
	ctx context.Context, calls []call, stale bool, f func(*strictkv.Tx) error,
) error {
	ctx = s.timed(ctx)
	defer s.release()
	s.shared.Stats.Transactions.Add(1)
	for _, c := range calls {
		if c.command.Flags&command.Write != 0 {
			return s.shared.Space.DB().Tx(ctx, f)
		}
	}
	if stale {
		return s.shared.Space.DB().View(ctx, f, strictkv.MaxStaleness(s.shared.Staleness))
	}
	return s.shared.Space.DB().View(ctx, f)
}

// newTx is a run of a transaction, for whose reads room is reserved.
func (s *Session) newTx(tx *strictkv.Tx) *keys.Tx {
	s.release() // of the run before
	t := s.shared.Space.NewTx(tx, s.database)
	t.Holds(func(bytes int) error {
		err := s.shared.Reserve(bytes)
		if err == nil {
			s.held += bytes
		}
		return err
	})
	return t
}

// release frees the room that a run has reserved.
func (s *Session) release() {
	s.shared.Free(s.held)
	s.held = 0
}

// ahead has what the calls are about to read be read in waves, if that are several keys.
func (s *Session) ahead(t *keys.Tx, calls []call) {
	if len(calls) == 1 && calls[0].command.First == calls[0].command.Last {
		return
	}
	var names []keys.Named
	for _, c := range calls {
		c.eachKey(func(key []byte) {
			if len(key) <= keys.NameMax {
				names = append(names, keys.Named{Database: t.Number(), Name: key})
			}
		})
	}
	if len(names) > 1 {
		t.Ahead(names)
	}
}

// call runs one call within a transaction. What is wrong with it alone is its reply.
func (s *Session) call(t *keys.Tx, c call) error {
	mark := s.out.Mark()
	before := s.out.Len()
	err := c.named()
	if err == nil {
		err = c.command.Run(&command.Call{Tx: t, Args: c.args, Out: s.out})
	}
	if err == nil && s.out.Len()-before >= longReply && c.command.Flags&command.Write == 0 &&
		s.shared.Full() {
		err = ErrMemory
	}
	var reply resp.Error
	if errors.As(err, &reply) {
		s.out.Rewind(mark)
		s.fail(reply)
		return nil
	}
	if err == nil && s.out.Len() > keys.CopiedMax {
		return keys.ErrTooMuch
	}
	return err
}

// named tells whether a key that the call names is too long, before it has written anything.
func (c *call) named() (err error) {
	c.eachKey(func(key []byte) {
		if len(key) > keys.NameMax {
			err = keys.ErrNameTooLong
		}
	})
	return err
}

// longReply is from which size on, in bytes, a reply is not made while too much is in flight.
const longReply = 16 << 10

// ErrMemory is told who sends or asks for more than there is room for.
const ErrMemory = resp.Error("OOM not done: too much is in flight at the server")

// What is told of errors that are the database's. Redis has none of these.
const (
	errInDoubt = resp.Error("INDOUBT the commit's outcome is unknown: " +
		"it has been done as a whole, or not at all; read before you do it again")
	errTimeout = resp.Error("TIMEOUT not done: it took too long, for conflicts or for the store")
)

// reply is what a client is told of an error.
func (s *Shared) reply(err error) resp.Error {
	var reply resp.Error
	switch {
	case errors.As(err, &reply):
		return reply
	case errors.Is(err, strictkv.ErrInDoubt):
		s.Stats.InDoubt.Add(1)
		return errInDoubt
	case errors.Is(err, keys.ErrNoMemory):
		return ErrMemory
	case errors.Is(err, strictkv.ErrReadOnly):
		return "READONLY You can't write against a read only database."
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, strictkv.ErrConflict):
		return errTimeout
	case errors.Is(err, context.Canceled), errors.Is(err, strictkv.ErrClosed):
		return "SHUTDOWN not done: the server is stopping"
	}
	s.Log.Warn("a command has failed", "err", err)
	switch {
	case errors.Is(err, strictkv.ErrUnavailable):
		return "UNAVAILABLE not done: the store can't be reached"
	case errors.Is(err, strictkv.ErrTooLarge), errors.Is(err, strictkv.ErrInvalid):
		return resp.Error("ERR " + err.Error())
	case errors.Is(err, strictkv.ErrCorrupt), errors.Is(err, strictkv.ErrFormat):
		return "DAMAGED the stored value can't be read"
	}
	return "ERR internal error: see the server's log"
}

package session

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// immediate reports whether a call is run even after MULTI.
func immediate(c call) bool {
	if c.command == nil {
		return false
	}
	switch c.command.Name {
	case "multi", "exec", "discard", "watch", "quit", "reset":
		return c.err == nil
	}
	return false
}

// enqueue keeps a call for EXEC.
func (s *Session) enqueue(c call) {
	switch {
	case c.err != nil:
	case c.command.Flags&command.NoMulti != 0:
		c.err = resp.Error("ERR Command not allowed inside a transaction")
	case len(s.queue) >= QueueMax:
		c.err = resp.Error("ERR too many commands inside a transaction")
	}
	if c.err == nil {
		c.args, c.err = s.keep(c.args...)
	}
	if c.err != nil {
		s.aborted = true
		s.fail(c.err)
		if c.command != nil && c.command.Name == "exec" { // with arguments, which discards all
			s.forget()
		}
		return
	}
	s.queue = append(s.queue, c)
	s.out.Status("QUEUED")
}

func (s *Session) doMulti(_ context.Context, _ [][]byte) error {
	if s.multi {
		return resp.Error("ERR MULTI calls can not be nested")
	}
	s.multi = true
	s.queued.Store(0)
	s.out.Status("OK")
	return nil
}

func (s *Session) doDiscard(_ context.Context, _ [][]byte) error {
	if !s.multi {
		return resp.Error("ERR DISCARD without MULTI")
	}
	s.forget()
	s.out.Status("OK")
	return nil
}

// forget ends MULTI, and what is watched.
func (s *Session) forget() {
	s.multi, s.aborted, s.queue, s.watches = false, false, nil, nil
	s.queued.Store(-1)
	s.shared.Free(s.kept)
	s.kept = 0
}

func (s *Session) doWatch(ctx context.Context, args [][]byte) error {
	if s.multi {
		return resp.Error("ERR WATCH inside MULTI is not allowed")
	}
	ctx = s.timed(ctx)
	for _, name := range args[1:] {
		known := slices.ContainsFunc(s.watches, func(w watched) bool {
			return w.Database == s.database && bytes.Equal(w.Name, name)
		})
		if known {
			continue
		}
		if len(s.watches) >= WatchMax {
			return resp.Error("ERR too many keys are watched")
		}
		v, err := s.shared.Space.Watch(ctx, s.database, name)
		if err != nil {
			return err
		}
		kept, err := s.keep(name)
		if err != nil {
			return err
		}
		named := keys.Named{Database: s.database, Name: kept[0]}
		s.watches = append(s.watches, watched{named, v})
	}
	s.out.Status("OK")
	return nil
}

func (s *Session) doUnwatch(_ context.Context, _ [][]byte) error {
	s.watches = nil
	if !s.multi { // else the queue goes with EXEC
		s.shared.Free(s.kept)
		s.kept = 0
	}
	s.out.Status("OK")
	return nil
}

// errChanged ends a transaction whose watched keys have changed.
var errChanged = errors.New("a watched key has changed")

func (s *Session) doExec(ctx context.Context, _ [][]byte) error {
	if !s.multi {
		return resp.Error("ERR EXEC without MULTI")
	}
	queue, watches, aborted := s.queue, s.watches, s.aborted
	s.forget()
	if aborted {
		return resp.Error("EXECABORT Transaction discarded because of previous errors.")
	}
	mark, database := s.out.Mark(), s.database
	err := s.transaction(ctx, queue, false, func(tx *strictkv.Tx) error {
		s.out.Rewind(mark)
		s.database = database
		t := s.newTx(tx)
		for _, w := range watches {
			v, err := t.In(w.Database).Version(w.Name)
			if err != nil {
				return err
			}
			if v != w.version {
				return errChanged
			}
		}
		return s.execute(ctx, t, queue)
	})
	if err == nil {
		s.shared.Stats.Commands.Add(int64(len(queue)))
		return nil
	}
	s.out.Rewind(mark)
	s.database = database
	if errors.Is(err, errChanged) {
		s.out.NullArray()
		return nil
	}
	return err
}

// execute runs what was queued, in a transaction.
func (s *Session) execute(ctx context.Context, t *keys.Tx, queue []call) error {
	selects := slices.ContainsFunc(queue, func(c call) bool { return c.command.Name == "select" })
	if !selects {
		s.ahead(t, queue)
	}
	s.out.Array(len(queue))
	for _, c := range queue {
		t.Select(s.database)
		if c.command.Run != nil {
			if err := s.call(t, c); err != nil {
				return err
			}
		} else if err := controls[c.command.Name](s, ctx, c.args); err != nil {
			s.fail(err)
		}
	}
	return nil
}

package session

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// What goes through a database is no transaction: it sees each key that is there all the time once,
// and others perhaps. It may take as long as any command, but for FLUSHDB and FLUSHALL.

const (
	// keysMax is how many keys KEYS replies, and keysBytesMax how many bytes they may have.
	keysMax      = 1 << 20
	keysBytesMax = 64 << 20
	// randomAmong is among how many keys RANDOMKEY chooses.
	randomAmong = 1000
)

func (s *Session) doKeys(ctx context.Context, args [][]byte) error {
	ctx = s.timed(ctx)
	var found [][]byte
	size := 0
	w := keys.Walk{Database: s.database, Prefix: command.Literal(args[1])}
	for at, err := range s.shared.Space.Walk(ctx, w) {
		if err != nil {
			return err
		}
		if !command.Match(args[1], at.Name) {
			continue
		}
		size += len(at.Name)
		if len(found) >= keysMax || size > keysBytesMax {
			return resp.Error("ERR too many keys: use SCAN")
		}
		found = append(found, at.Name)
	}
	s.out.Array(len(found))
	for _, name := range found {
		s.out.Bulk(name)
	}
	return nil
}

func (s *Session) doSize(ctx context.Context, _ [][]byte) error {
	n, err := s.size(s.timed(ctx), s.database, math.MaxInt64)
	if err != nil {
		return err
	}
	s.out.Int(n)
	return nil
}

// size is how many keys a database has; or most, if they are more.
func (s *Session) size(ctx context.Context, database int, most int64) (n int64, err error) {
	for _, err := range s.shared.Space.Walk(ctx, keys.Walk{Database: database}) {
		if err != nil {
			return 0, err
		}
		if n++; n == most {
			break
		}
	}
	return n, nil
}

func (s *Session) doScan(ctx context.Context, args [][]byte) error {
	o, err := command.ParseScan(args[1:])
	if err != nil {
		return err
	}
	w := keys.Walk{Database: s.database, Kinds: o.Type != nil}
	if o.Pattern != nil {
		w.Prefix = command.Literal(o.Pattern)
	}
	if o.Cursor != 0 {
		place, ok := s.shared.Space.Cursors.Place(o.Cursor)
		if !ok {
			return command.ErrCursorGone
		}
		w.After = place
	}
	ctx = s.timed(ctx)
	var names [][]byte
	next, seen := uint64(0), 0
	for at, err := range s.shared.Space.Walk(ctx, w) {
		if err != nil {
			return err
		}
		if seen++; seen > o.Count { // one more, to know that there is one
			next = s.shared.Space.Cursors.Keep(w.After)
			break
		}
		w.After = at.Place
		if o.Wants(at.Name) && (o.Type == nil || command.Is(o.Type, at.Kind.String())) {
			names = append(names, at.Name)
		}
	}
	s.out.Array(2)
	s.out.String(strconv.FormatUint(next, 10))
	s.out.Array(len(names))
	for _, name := range names {
		s.out.Bulk(name)
	}
	return nil
}

// doRandom chooses one of some keys that stand together, so that it need not go through all.
func (s *Session) doRandom(ctx context.Context, _ [][]byte) error {
	ctx = s.timed(ctx)
	w := keys.Walk{Database: s.database}
	for begun := range 2 {
		if begun == 0 {
			w.After = string([]byte{byte(rand.Uint32N(128)), byte(rand.Uint32N(256))})
		} else {
			w.After = ""
		}
		var names [][]byte
		for at, err := range s.shared.Space.Walk(ctx, w) {
			if err != nil {
				return err
			}
			if names = append(names, at.Name); len(names) >= randomAmong {
				break
			}
		}
		if len(names) > 0 {
			s.out.Bulk(names[rand.IntN(len(names))])
			return nil
		}
	}
	s.out.Null()
	return nil
}

// flushable tells what is wrong with the arguments of FLUSHDB and FLUSHALL.
func flushable(args [][]byte) error {
	if len(args) > 2 || len(args) == 2 &&
		!command.Is(args[1], "SYNC") && !command.Is(args[1], "ASYNC") {
		return command.ErrSyntax
	}
	return nil
}

func (s *Session) doFlush(ctx context.Context, args [][]byte) error {
	return s.flush(ctx, args, s.database, s.database)
}

func (s *Session) doFlushAll(ctx context.Context, args [][]byte) error {
	return s.flush(ctx, args, 0, keys.Databases-1)
}

// flush deletes the keys of some databases, one by one. It takes as long as it takes.
func (s *Session) flush(ctx context.Context, args [][]byte, from, to int) error {
	if err := flushable(args); err != nil {
		return err
	}
	for n := from; n <= to; n++ {
		if err := s.shared.Space.Flush(ctx, n); err != nil {
			return err
		}
	}
	s.out.Status("OK")
	return nil
}

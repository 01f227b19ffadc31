package replica

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/strictkv/strictkv"
)

// Limits of what Changes goes through at once: the entries of the log, and their values' bytes,
// but that one may have any size.
const (
	changesMax   = 256
	changesBytes = 4 << 20
)

// Position is a place in a Replica's log of changes. It may be kept anywhere, as its bytes, and is
// good for this directory as long as the copy there is not thrown away. The zero Position is the
// beginning of the log.
type Position [incarnationSize + 8]byte

func positionOf(incarnation [incarnationSize]byte, seq uint64) (p Position) {
	copy(p[:], incarnation[:])
	binary.BigEndian.PutUint64(p[incarnationSize:], seq)
	return p
}

// Change is an entry of the log: a key's latest news. All bytes are the caller's.
type Change struct {
	Collection *strictkv.Collection
	Key        []byte
	// Value is what the key has now; nil if it is Deleted, or its value has expired.
	Value   []byte
	Deleted bool
	Version strictkv.Version
	Expires time.Time
	// Position is behind this change: Changes goes on from there.
	Position Position
}

// Position is the end of the log as of the View: Changes from there yields what comes after all
// that the View shows.
func (v *View) Position() Position {
	return positionOf(v.s.incarnation, v.s.status.last)
}

// Changes yields the log of changes behind a Position, in the order in which they were applied,
// and goes on with what is applied from then on, until the loop is left. It tells of each key's
// latest change alone; those that were replaced by then are left out. What it yields is on the
// disk and shown to readers: a search index, or who listens at a socket, is brought up to date by
// keeping the Position of the last change that it has dealt with.
//
// The log is bounded by Options.LogMax. ErrTrimmed, of a Position before it, or of a copy that was
// thrown away, ends the loop: begin with a View that scans, and go on from View.Position. Further
// errors, each of which ends the loop: strictkv.ErrClosed, the context's.
func (r *Replica) Changes(ctx context.Context, from Position) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for {
			next := r.next()
			some, at, err := r.some(from)
			if errors.Is(err, ErrNotReady) {
				some, at, err = nil, from, nil
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Change{}, fmt.Errorf("changes: %w", err))
				return
			}
			for _, c := range some {
				if !yield(c, nil) {
					return
				}
			}
			if moved := at != from; moved {
				from = at
				continue
			}
			select {
			case <-ctx.Done():
				yield(Change{}, fmt.Errorf("changes: %w", ctx.Err()))
				return
			case <-next:
			}
		}
	}
}

// some are the next changes behind a position, and how far they go.
func (r *Replica) some(from Position) (some []Change, at Position, err error) {
	s, err := r.acquire()
	if err != nil {
		return nil, from, err
	}
	defer s.release()
	if from == (Position{}) {
		from = positionOf(s.incarnation, 0)
	}
	after := binary.BigEndian.Uint64(from[incarnationSize:])
	switch {
	case !bytes.Equal(from[:incarnationSize], s.incarnation[:]):
		return nil, from, ErrTrimmed
	case after != s.status.trimmed:
		err := s.get(logKey(after), func([]byte) error { return nil })
		if errors.Is(err, errAbsent) {
			return nil, from, ErrTrimmed
		}
		if err != nil {
			return nil, from, err
		}
	}
	v := View{s, time.Now()}
	some, after, err = v.changes(after)
	if err != nil {
		return nil, from, v.failed("read", nil, err)
	}
	return some, positionOf(s.incarnation, after), nil
}

// changes goes through entries behind a sequence number, and returns that of the last.
func (v *View) changes(after uint64) (some []Change, last uint64, err error) {
	i, err := v.s.cursor(logKey(after+1), []byte{keyLog + 1})
	if err != nil {
		return nil, after, err
	}
	defer func() { err = errors.Join(err, i.close()) }()
	last = after
	entries, bytes := 0, 0
	for more := i.first(); more && entries < changesMax && bytes < changesBytes; more = i.next() {
		entries++
		b, err := i.value()
		if err != nil {
			return nil, after, err
		}
		last = seqOf(i.key())
		c, told, err := v.change(last, b)
		if err != nil {
			return nil, after, err
		}
		if told {
			bytes += len(c.Value)
			some = append(some, c)
		}
	}
	return some, last, nil
}

// change is what an entry says, and reports whether it is the latest of its key.
func (v *View) change(seq uint64, b []byte) (c Change, told bool, err error) {
	var e entry
	if err := e.decode(b); err != nil || e.collection >= len(v.s.r.byOrder) {
		return c, false, errRecord
	}
	c = Change{
		Collection: v.s.r.byOrder[e.collection], Key: append([]byte{}, e.key...),
		Deleted: e.deleted, Position: positionOf(v.s.incarnation, seq),
	}
	var rec record
	err = v.s.get(cellKey(nil, keyRecord, e.collection, e.key), func(b []byte) error {
		err := rec.decode(b)
		c.Value = append([]byte{}, rec.value...)
		return err
	})
	switch {
	case errors.Is(err, errAbsent):
		return c, e.deleted, nil
	case err != nil:
		return c, false, err
	case e.deleted || rec.seq != seq || rec.due(v.time()):
		return c, false, nil
	case rec.large:
		if c.Value, err = v.large(e.collection, e.key); err != nil {
			return c, false, err
		}
	}
	c.Expires = instant(rec.expires)
	c.Version, err = versionFrom(rec.version)
	return c, true, err
}

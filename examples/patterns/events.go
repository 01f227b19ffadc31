package patterns

import (
	"context"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/tuple"
)

func eventKey(stream string, n uint64) ([]byte, error) {
	return tuple.Tuple{stream, n}.Pack()
}

// Append adds the n-th event to a stream, of which the caller knows n events (0 to n-1). If
// somebody else has added one meanwhile, it fails with strictkv.ErrExists: replay that, and
// decide anew.
func Append(
	tx *strictkv.Tx, events *strictkv.Collection, stream string, n uint64, event []byte,
) error {
	key, err := eventKey(stream, n)
	if err != nil {
		return err
	}
	if n > 0 { // there is no gap
		before, err := eventKey(stream, n-1)
		if err != nil {
			return err
		}
		if _, err := tx.Read(events, before); err != nil {
			return err
		}
	}
	return tx.Insert(events, key, event)
}

// Replay returns the events of a stream, from the n-th on, as they were at one instant.
func Replay(
	ctx context.Context, db *strictkv.DB, events *strictkv.Collection, stream string, n uint64,
) (all [][]byte, err error) {
	r, err := tuple.Tuple{stream}.Range()
	if err != nil {
		return nil, err
	}
	if r.From, err = eventKey(stream, n); err != nil {
		return nil, err
	}
	return strictkv.DoView(ctx, db, func(tx *strictkv.Tx) (all [][]byte, err error) {
		for event, err := range tx.Scan(events, r) {
			if err != nil {
				return nil, err
			}
			all = append(all, event.Value)
		}
		return all, nil
	})
}

// Apply decides on an event by what a stream holds, and appends it, as often as others come
// between: decide gets the events so far.
func Apply(
	ctx context.Context, db *strictkv.DB, events *strictkv.Collection, stream string,
	decide func(past [][]byte) (event []byte, err error),
) error {
	past, err := Replay(ctx, db, events, stream, 0)
	for err == nil {
		var event []byte
		if event, err = decide(past); err != nil {
			return err
		}
		n := uint64(len(past))
		err = db.Tx(ctx, func(tx *strictkv.Tx) error {
			return Append(tx, events, stream, n, event)
		})
		if !errors.Is(err, strictkv.ErrExists) {
			return err
		}
		var more [][]byte
		more, err = Replay(ctx, db, events, stream, n)
		past = append(past, more...)
	}
	return fmt.Errorf("apply to %q: %w", stream, err)
}

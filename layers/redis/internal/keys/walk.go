package keys

import (
	"bytes"
	"context"
	"iter"
	"time"

	"github.com/strictkv/strictkv"
)

// Walk is a way through the keys of a database, outside of transactions.
type Walk struct {
	Database int
	// Prefix is what the names begin with.
	Prefix []byte
	// After is the place to go on behind: one that an At has told.
	After string
	// Kinds says that kinds are wanted, for which values are read.
	Kinds bool
}

// At is a key that a Walk has come to.
type At struct {
	Name  []byte
	Kind  Kind // if it was wanted
	Place string
}

// Walk yields keys that have a value which is not due.
func (s *Space) Walk(ctx context.Context, w Walk) iter.Seq2[At, error] {
	return func(yield func(At, error) bool) {
		names := Prefix(w.Prefix)
		names.KeysOnly = !w.Kinds
		for _, r := range []strictkv.Range{Hashed(), names} {
			if w.After != "" {
				r = r.After([]byte(w.After))
			}
			for item, err := range s.numbered[w.Database].Items(ctx, r) {
				at, ok := At{}, false
				if err == nil {
					at, ok, err = atOf(item, w.Prefix)
				}
				if err == nil && !ok {
					continue
				}
				if !yield(at, err) || err != nil {
					return
				}
			}
		}
	}
}

// atOf is what an item tells, and whether it is a key that is looked for.
func atOf(item strictkv.Item, prefix []byte) (At, bool, error) {
	at := At{Name: item.Key, Place: string(item.Key)}
	if item.Value == nil {
		return at, true, nil
	}
	e, name, err := decode(item.Value)
	if err != nil {
		return at, false, err
	}
	if !plain(item.Key) {
		at.Name = name
	}
	at.Kind = e.Kind
	return at, !e.due(time.Now().UnixMilli()) && bytes.HasPrefix(at.Name, prefix), nil
}

// Flush deletes the keys of a database that were there when it began, one by one.
func (s *Space) Flush(ctx context.Context, n int) error {
	_, err := s.numbered[n].Drop(ctx)
	return err
}

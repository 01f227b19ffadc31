package snapshot

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/snapshot/internal/table"
)

// origins are a snapshot and the origins of its files: files with the same keys, and the same
// deletions, whose values are the States that the keys' objects had.
type origins struct {
	*Snapshot
	of []*table.File // of each file, nil if it has none
}

func openOrigins(ctx context.Context, s Store, name string) (*origins, error) {
	snap, err := Open(ctx, s, name)
	if err != nil {
		return nil, err
	}
	o := &origins{Snapshot: snap}
	for _, f := range snap.files {
		x, err := openOrigin(ctx, s, f)
		if err != nil {
			return nil, errors.Join(err, o.close())
		}
		o.of = append(o.of, x)
	}
	return o, nil
}

// openOrigin opens the origin of a file; nil if it has none.
func openOrigin(ctx context.Context, s Store, f *table.File) (*table.File, error) {
	name := hex.EncodeToString(f.Name[:])
	x, err := s.open(ctx, kindOrigin, name)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("origin of %s: %w", name, err)
	}
	if x.Entries != f.Entries || x.Deletes != f.Deletes {
		return nil, errors.Join(fmt.Errorf("origin of %s: %w: it has other keys", name, ErrCorrupt),
			x.Close())
	}
	return x, nil
}

func (o *origins) close() error {
	err := o.Close()
	for _, f := range o.of {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// states goes through the keys, and what is known of their States; of a file without an origin it
// goes through that, and knows nothing. So no value is read.
type states struct {
	*merge
	known []bool
}

func (o *origins) states(ctx context.Context) *states {
	s := &states{merge: &merge{}}
	for i, f := range o.files {
		known := o.of[i] != nil
		if known {
			f = o.of[i]
		}
		s.runs, s.known = append(s.runs, f.Cursor(ctx)), append(s.known, known)
	}
	s.seek(nil)
	return s
}

// kept is what an origin has of the State of the key that s stands on.
func (s *states) kept() []byte {
	if !s.known[s.at] {
		return nil
	}
	return s.entry().Value
}

// compact writes all that has a value into one file, with its origin.
func (o *origins) compact(ctx context.Context, w *save) error {
	s := o.states(ctx)
	for item, err := range o.Scan(ctx, strictkv.Range{}) {
		if err != nil {
			return err
		}
		for s.entry() != nil && s.entry().Deleted {
			s.next()
		}
		if s.entry() == nil {
			return errors.Join(s.err(), fmt.Errorf("origin of %s: %w", o.Name(), ErrCorrupt))
		}
		copy(item.State[:], s.kept())
		if err := w.put(item); err != nil {
			return err
		}
		s.next()
	}
	return s.err()
}

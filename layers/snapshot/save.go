package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/snapshot/internal/table"
)

// DefaultAttempts is how often a Save or Diff is tried while others go on writing.
const DefaultAttempts = 10

// SaveOptions configures a Save or a Diff.
type SaveOptions struct {
	// Attempts is how often it is tried to see all keys at one instant; 0 is DefaultAttempts. Each
	// lists the collection twice, and reads what has changed since the one before, as far as the
	// handle's cache has kept the rest.
	Attempts int
	// ItemWise is for a collection of more than 1 048 576 keys, tombstones included, or to which
	// writes never pause for as long as listing it takes: each key is saved as it is at an instant
	// of its own, and Snapshot.ItemWise tells so.
	ItemWise bool
}

// Save saves a collection, without those nested in it, as a snapshot, and returns its name. All
// keys are as they were at one instant, unless SaveOptions.ItemWise allows less. It costs a list
// request for 1000 keys, twice, and a read for each that the handle's cache does not have.
//
// Errors: strictkv.ErrConflict if others went on writing through all attempts, strictkv.ErrTooLarge
// if there are too many keys for one instant, ErrBusy, those of a scan, the store's, and ctx's.
func Save(
	ctx context.Context, s Store, c *strictkv.Collection, o SaveOptions,
) (string, error) {
	if c == nil {
		return "", fmt.Errorf("save: nil collection: %w", ErrInvalid)
	}
	return saveOf(ctx, s, &collection{c}, o)
}

func saveOf(ctx context.Context, s Store, from source, o SaveOptions) (string, error) {
	var name string
	err := saving(ctx, s, func(in session) error {
		w, err := newSave(in)
		if err != nil {
			return err
		}
		err = w.scan(ctx, from, o, func(items iter.Seq2[strictkv.Item, error], _ reader) error {
			for item, err := range items {
				if err == nil {
					err = w.put(item)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}, strictkv.Range{})
		if err != nil {
			return err
		}
		name, err = w.publish(table.Meta{Length: -1})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("save: %w", err)
	}
	return name, nil
}

// save is a file of content and its origin: the States of the keys' objects.
type save struct {
	content, origin *output
	instant, began  time.Time // began is when this run did
	itemWise        bool
}

func newSave(in session) (w *save, err error) {
	w = &save{}
	if w.content, err = create(in); err == nil {
		w.origin, err = create(in)
	}
	return w, err
}

// restart begins a run, which may see the instant at which the run before was validated.
func (w *save) restart() error {
	if w.instant, w.began = w.began, time.Now(); w.instant.IsZero() {
		w.instant = w.began
	}
	return errors.Join(w.content.restart(), w.origin.restart())
}

// put adds a key with its value and its State.
func (w *save) put(item strictkv.Item) error {
	e := table.Entry{Key: item.Key, Value: item.Value}
	if !item.Expires.IsZero() {
		e.Expires = item.Expires.UnixNano()
	}
	if err := w.content.w.Add(e); err != nil {
		return err
	}
	return w.seen(item)
}

// stateKept is how many bytes of a State are kept: what a chance has to hit for a change to go
// unseen, of one key, is 1 in 2^64.
const stateKept = 8

// seen notes the State of a key's object, in an origin that has the keys of the content.
func (w *save) seen(item strictkv.Item) error {
	return w.origin.w.Add(table.Entry{Key: item.Key, Value: kept(item.State)})
}

// kept is what an origin has of a State: nothing of the zero State.
func kept(s strictkv.State) []byte {
	if s == (strictkv.State{}) {
		return nil
	}
	return bytes.Clone(s[:stateKept])
}

// gone adds the deletion of a key.
func (w *save) gone(key []byte) error {
	e := table.Entry{Key: key, Deleted: true}
	return errors.Join(w.content.w.Add(e), w.origin.w.Add(e))
}

// publish makes content and origin be there. Without its origin, content is as good, but that a
// Diff upon it has to read all.
func (w *save) publish(m table.Meta) (string, error) {
	name, err := w.content.publish(m)
	if err != nil {
		return "", err
	}
	return name, w.publishOrigin(name)
}

func (w *save) publishOrigin(name string) error {
	tail, _, err := w.origin.w.Finish(table.Meta{Instant: w.instant, ItemWise: w.itemWise})
	if err != nil {
		return err
	}
	return w.origin.draft.publish(kindOrigin, name, tail)
}

// reader reads a key of the collection that is scanned, at the scan's instant if there is one.
type reader func(key []byte) (strictkv.Item, error)

// sight is a look at what is saved: f is given the keys, from the beginning in each run.
type sight func(iter.Seq2[strictkv.Item, error], reader) error

func (w *save) scan(
	ctx context.Context, from source, o SaveOptions, f sight, r strictkv.Range,
) error {
	attempts := o.Attempts
	if attempts == 0 {
		attempts = DefaultAttempts
	}
	if attempts < 0 {
		return fmt.Errorf("%d attempts: %w", attempts, ErrInvalid)
	}
	w.itemWise = o.ItemWise
	for range attempts {
		if err := from.prepare(ctx); err != nil {
			return err
		}
		var err error
		if o.ItemWise {
			err = w.itemWisely(ctx, from, f, r)
		} else {
			err = w.atOnce(ctx, from, f, r, attempts)
		}
		if err != nil {
			return err
		}
		if settled, err := from.settled(ctx); settled || err != nil {
			return err
		}
	}
	return fmt.Errorf("collections went on appearing through %d attempts: %w", attempts,
		strictkv.ErrConflict)
}

func (w *save) itemWisely(
	ctx context.Context, from source, f sight, r strictkv.Range,
) error {
	if err := w.restart(); err != nil {
		return err
	}
	return f(from.items(ctx, r), func(key []byte) (strictkv.Item, error) {
		c, key, err := from.place(key)
		if err != nil {
			return strictkv.Item{}, err
		}
		return c.ReadItem(ctx, key)
	})
}

func (w *save) atOnce(
	ctx context.Context, from source, f sight, r strictkv.Range, attempts int,
) error {
	err := from.handle().View(ctx, func(tx *strictkv.Tx) error {
		if err := w.restart(); err != nil {
			return err
		}
		return f(from.scan(tx, r), func(key []byte) (strictkv.Item, error) {
			c, key, err := from.place(key)
			if err != nil {
				return strictkv.Item{}, err
			}
			return tx.ReadItem(c, key)
		})
	}, strictkv.MaxAttempts(attempts))
	switch {
	case errors.Is(err, strictkv.ErrConflict):
		return fmt.Errorf("others went on writing through %d attempts; SaveOptions.ItemWise takes "+
			"each key at an instant of its own: %w", attempts, err)
	case errors.Is(err, strictkv.ErrTooLarge):
		return fmt.Errorf("too many keys for one instant; SaveOptions.ItemWise takes each at an "+
			"instant of its own: %w", err)
	}
	return err
}

// Save saves the changes that With and Without have made, as a layer on what they were made of, and
// returns the name of that; without a change, the name that it has. Errors: ErrInvalid, ErrNoBase,
// ErrBusy, and the store's.
func (s *Snapshot) Save(ctx context.Context) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	name := s.Name()
	err := saving(ctx, s.store, func(in session) error {
		if err := based(ctx, s.store, name); err != nil {
			return err
		}
		out, err := create(in)
		if err != nil {
			return err
		}
		n := s.files[0].Length
		for e := s.changes.first(nil); e != nil; e = e.next(s.changes) {
			by, changed, err := s.change(ctx, e.Entry)
			if err == nil && changed {
				err = out.w.Add(e.Entry)
			}
			if err != nil {
				return err
			}
			n += by
		}
		if out.w.Entries() == 0 {
			return nil
		}
		name, err = out.publish(table.Meta{Base: s.files[0].Name, Length: n})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("save: %w", err)
	}
	return name, nil
}

// change is by how much an entry atop of the files changes the number of keys, and whether it
// changes anything.
func (s *Snapshot) change(ctx context.Context, e table.Entry) (by int64, changed bool, err error) {
	below, found, err := findIn(ctx, s.files, e.Key)
	if err != nil {
		return 0, false, err
	}
	had := found && !below.Deleted
	if e.Deleted {
		return -presence(had), had, nil
	}
	same := had && below.Expires == e.Expires && bytes.Equal(below.Value, e.Value)
	return presence(!had), !same, nil
}

// based refuses a layer on what is not there any more.
func based(ctx context.Context, s Store, name string) error {
	f, err := openNamed(ctx, s, name)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %s", ErrNoBase, name)
	} else if err != nil {
		return err
	}
	return f.Close()
}

// Compact merges a snapshot with all that it is a layer on, and returns the name of the one file:
// byte by byte the one that a Save of the same content makes. It streams. Errors: those of Open,
// ErrBusy, and the store's.
func Compact(ctx context.Context, s Store, name string) (string, error) {
	err := saving(ctx, s, func(in session) (err error) {
		o, err := openOrigins(ctx, s, name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.close()) }()
		if len(o.files) == 1 {
			return nil
		}
		w, err := newSave(in)
		if err != nil {
			return err
		}
		w.instant, w.itemWise = o.instant, o.itemWise
		if err := o.compact(ctx, w); err != nil {
			return err
		}
		if name, err = w.content.publish(table.Meta{Length: -1}); err != nil || o.of[0] == nil {
			return err
		}
		return w.publishOrigin(name)
	})
	if err != nil {
		return "", fmt.Errorf("compact: %w", err)
	}
	return name, nil
}

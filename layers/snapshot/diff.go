package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/snapshot/internal/table"
)

const (
	// changesMax is how many changed keys a Diff reads at once, if their values are small.
	changesMax = 64
	// changesBytes is how large they may be together: while they are larger, it reads half as many,
	// and one at a time in the end.
	changesBytes = 64 << 20
)

// Diff saves how a collection differs from a snapshot of it as a layer on that, and returns the
// layer's name; that of the base if it does not differ. It lists the collection, twice, and reads
// only keys whose objects have changed since the base was saved, as far as the base is of Save,
// Diff or Compact; of what With or Build have made it reads all. Values that the base has are not
// read. All keys are as they were at one instant, unless SaveOptions.ItemWise allows less.
//
// Errors: those of Open for the base, ErrInvalid for one with LayersMax layers, and those of Save.
func Diff(
	ctx context.Context, s Store, base string, c *strictkv.Collection, o SaveOptions,
) (string, error) {
	if c == nil {
		return "", fmt.Errorf("diff: nil collection: %w", ErrInvalid)
	}
	return diffOf(ctx, s, base, &collection{c}, o)
}

func diffOf(
	ctx context.Context, s Store, base string, of source, o SaveOptions,
) (string, error) {
	name := base
	err := saving(ctx, s, func(in session) (err error) {
		from, err := openOrigins(ctx, s, base)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, from.close()) }()
		if len(from.files) >= LayersMax {
			return fmt.Errorf("snapshot %s has %d layers: compact it: %w", base, LayersMax,
				ErrInvalid)
		}
		d := &diff{ctx: ctx, from: from}
		if d.save, err = newSave(in); err != nil {
			return err
		}
		if err := d.scan(ctx, of, o, d.run, strictkv.Range{KeysOnly: true}); err != nil {
			return err
		}
		if d.content.w.Entries() == 0 {
			return in.touch(kindContent, base) // whoever saves it now need not fear a GC
		}
		name, err = d.publish(table.Meta{Base: from.files[0].Name, Length: d.length})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("diff: %w", err)
	}
	return name, nil
}

// diff is a Diff: a merge of the base with a listing.
type diff struct {
	*save
	ctx     context.Context
	from    *origins
	read    reader
	length  int64
	changes []change // not yet read
	window  int      // how many are read at once
}

// change is a key that has, or may have, changed.
type change struct {
	strictkv.Item
	had    bool // it has a value in the base
	listed bool // it has one now, or had when it was listed
}

func (d *diff) run(items iter.Seq2[strictkv.Item, error], read reader) error {
	d.read, d.length, d.changes = read, d.from.files[0].Length, nil
	base := d.from.states(d.ctx)
	for item, err := range items {
		if err != nil {
			return err
		}
		if err := d.missing(base, item.Key); err != nil {
			return err
		}
		had, same := false, false
		if e := base.entry(); e != nil && bytes.Equal(e.Key, item.Key) {
			state := kept(item.State)
			had = !e.Deleted
			same = had && state != nil && bytes.Equal(base.kept(), state)
			base.next()
		}
		if same {
			continue
		}
		if err := d.add(change{item, had, true}); err != nil {
			return err
		}
	}
	if err := d.missing(base, nil); err != nil {
		return err
	}
	return d.flush()
}

// missing deletes the keys of the base before one that is listed; nil is all that are left.
func (d *diff) missing(base *states, before []byte) error {
	for ; ; base.next() {
		e := base.entry()
		if e == nil || before != nil && bytes.Compare(e.Key, before) >= 0 {
			return base.err()
		}
		if e.Deleted {
			continue
		}
		if err := d.add(change{strictkv.Item{Key: e.Key}, true, false}); err != nil {
			return err
		}
	}
}

func (d *diff) add(c change) error {
	if d.changes = append(d.changes, c); len(d.changes) < max(d.window, 1) {
		return nil
	}
	return d.flush()
}

// flush reads the changes' values, and writes what they are.
func (d *diff) flush() error {
	var g errgroup.Group
	for i := range d.changes {
		if c := &d.changes[i]; c.listed {
			g.Go(func() error {
				item, err := d.read(c.Key)
				if errors.Is(err, strictkv.ErrNotFound) { // it was deleted since it was listed
					c.listed = false
					return nil
				}
				c.Value, c.Expires = item.Value, item.Expires
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	size := 0
	for _, c := range d.changes {
		size += len(c.Value)
		if err := d.write(c); err != nil {
			return err
		}
	}
	clear(d.changes) // their values would live on
	d.changes, d.window = d.changes[:0], window(d.window, size)
	return nil
}

// window is how many changes to read at once after so many that had a size.
func window(before, size int) int {
	if size > changesBytes {
		return max(before/2, 1)
	}
	return min(max(2*before, 1), changesMax)
}

func (d *diff) write(c change) error {
	if d.length += presence(c.listed) - presence(c.had); c.listed {
		return d.put(c.Item)
	}
	if c.had {
		return d.gone(c.Key)
	}
	return nil
}

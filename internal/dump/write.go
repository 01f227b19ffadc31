package dump

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/keytext"
)

// Options say how to dump, or to load.
type Options struct {
	// Format is JSON or CSV.
	Format string
	// Snapshot has the keys of a collection be of one instant: see Items.
	Snapshot bool
	// Progress, if not nil, is called now and then with the number of keys so far.
	Progress func(keys int64)
}

// tell calls Progress.
func (o Options) tell(n int64) {
	if o.Progress != nil {
		o.Progress(n)
	}
}

// Collection writes the keys of a collection, but not of those nested in it.
func Collection(ctx context.Context, w io.Writer, c *strictkv.Collection, o Options) error {
	out, err := newWriter(w, o.Format)
	if err != nil {
		return err
	}
	d := dumping{out: out, o: o}
	return errors.Join(d.keys(ctx, c, ""), out.Close())
}

// Database writes the keys of all collections of a database, each with the path of its own, in
// which case Snapshot is of each collection for itself.
func Database(ctx context.Context, w io.Writer, db *strictkv.DB, o Options) error {
	out, err := newWriter(w, o.Format)
	if err != nil {
		return err
	}
	d := dumping{out: out, o: o}
	return errors.Join(d.all(ctx, db, nil), out.Close())
}

// dumping is a dump.
type dumping struct {
	out writer
	o   Options
	n   int64
}

// keys writes the keys of a collection; path is what the rows have of it.
func (d *dumping) keys(ctx context.Context, c *strictkv.Collection, path string) error {
	for item, err := range Items(ctx, c, strictkv.Range{}, d.o.Snapshot) {
		if err == nil {
			err = d.out.Write(Of(path, item))
		}
		if err != nil {
			return err
		}
		d.n++
		d.o.tell(d.n)
	}
	return nil
}

// all writes the keys of the collections in the one with these names, and of those nested in them.
func (d *dumping) all(ctx context.Context, db *strictkv.DB, names [][]byte) error {
	inner := db.Collections(ctx)
	if c := Below(db, names); c != nil {
		inner = c.Collections(ctx)
	}
	for name, err := range inner {
		if err != nil {
			return err
		}
		path := append(names[:len(names):len(names)], name)
		if err := d.keys(ctx, Below(db, path), keytext.ShowPath(path)); err != nil {
			return err
		}
		if err := d.all(ctx, db, path); err != nil {
			return err
		}
	}
	return nil
}

// Items yields those of a range: as Collection.Items does, or, if wanted, of one instant, which
// takes as much memory as they have.
func Items(
	ctx context.Context, c *strictkv.Collection, r strictkv.Range, one bool,
) iter.Seq2[strictkv.Item, error] {
	if !one {
		return c.Items(ctx, r)
	}
	return func(yield func(strictkv.Item, error) bool) {
		all, err := strictkv.DoView(ctx, c.DB(), func(tx *strictkv.Tx) (
			all []strictkv.Item, err error,
		) {
			for item, err := range tx.Scan(c, r) {
				if err != nil {
					return nil, err
				}
				all = append(all, item)
			}
			return all, nil
		})
		for _, item := range all {
			if !yield(item, nil) {
				return
			}
		}
		if err != nil {
			yield(strictkv.Item{}, err)
		}
	}
}

// Below is the collection with these names, each within the one before; nil if there are none.
func Below(db *strictkv.DB, names [][]byte) (c *strictkv.Collection) {
	for _, name := range names {
		if c == nil {
			c = db.Collection(name)
		} else {
			c = c.Collection(name)
		}
	}
	return c
}

package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/snapshot"
)

// RestoreOptions configures a Restore.
type RestoreOptions struct {
	// Only are the names of a collection, the outermost first, that alone is restored, with those
	// nested in it; none is all of the database.
	Only [][]byte
	// Resume goes on with a Restore that was stopped: what is there need not be empty. A key that
	// is there with the same value is fine, one with another stays, and the Restore fails with
	// ErrOther, when all others are there.
	Resume bool
	// Progress, if not nil, is called from time to time, with what has been restored so far.
	Progress func(RestoreReport)
}

// RestoreReport is what a Restore has done.
type RestoreReport struct {
	// Inserted counts keys, and Present those that were there with the same value. Expired are
	// those whose time has come since; they are left out.
	Inserted, Present, Expired int64
	// Bytes is the size of keys and values.
	Bytes int64
	// Other counts keys that had another value, which stays; Keys are some of them, as
	// snapshot.DatabaseKey makes them.
	Other int64
	Keys  [][]byte
}

// keysMax bounds RestoreReport.Keys.
const keysMax = 100

// expiringMax is how many keys that expire are inserted at once.
const expiringMax = 64

// Restore inserts the keys of a backup, "" being the last, into a database that is empty, or a
// collection that is. It never overwrites a key. It is not a transaction: nobody should use the
// database before it has returned. All that is read is compared with its hash first.
//
// Errors: ErrNotFound, of the backup, or of the collection in it, ErrNotEmpty, ErrOther, ErrKey,
// strictkv.ErrCorrupt, those of Collection.Load, and the store's. After one, go on with Resume.
func (r *Repository) Restore(
	ctx context.Context, name string, db *strictkv.DB, o RestoreOptions,
) (RestoreReport, error) {
	x := &restoring{ctx: ctx, db: db, o: o, now: time.Now()}
	snap, _, err := r.open(ctx, name)
	if err == nil {
		err = errors.Join(x.run(snap), snap.Close())
	}
	if err != nil {
		return x.report, fmt.Errorf("restore: %w", err)
	}
	return x.report, nil
}

type restoring struct {
	ctx    context.Context
	db     *strictkv.DB
	o      RestoreOptions
	now    time.Time
	report RestoreReport
	err    error // that ended the entries
}

func (x *restoring) run(snap *snapshot.Snapshot) error {
	if x.db == nil {
		return fmt.Errorf("nil database: %w", strictkv.ErrInvalid)
	}
	if !x.o.Resume {
		if err := x.empty(); err != nil {
			return err
		}
	}
	var all strictkv.Range
	if len(x.o.Only) > 0 {
		own := snapshot.DatabaseKey(x.o.Only, nil)
		all = strictkv.Prefix(own[:len(own)-2]) // with what is nested
	}
	next, stop := iter.Pull2(snap.Scan(x.ctx, all))
	defer stop()
	row, more := x.next(next)
	if !more && x.err == nil && len(x.o.Only) > 0 {
		return fmt.Errorf("%w: it has nothing of the collection %.100q", ErrNotFound, x.o.Only)
	}
	for more && x.err == nil {
		var err error
		if row, more, err = x.collection(next, row); err != nil {
			return err
		}
	}
	if x.err == nil && x.report.Other > 0 {
		return fmt.Errorf("%w: %d of them", ErrOther, x.report.Other)
	}
	return x.err
}

// empty refuses what has keys.
func (x *restoring) empty() error {
	names := x.db.Collections(x.ctx)
	if len(x.o.Only) > 0 {
		c := below(x.db, x.o.Only)
		for _, err := range c.Items(x.ctx, strictkv.Range{KeysOnly: true, Limit: 1}) {
			if err == nil {
				err = fmt.Errorf("the collection is %w", ErrNotEmpty)
			}
			return err
		}
		names = c.Collections(x.ctx)
	}
	for name, err := range names {
		if err == nil {
			err = fmt.Errorf("the database is %w: it has the collection %.100q", ErrNotEmpty,
				name)
		}
		return err
	}
	return nil
}

func below(db *strictkv.DB, names [][]byte) *strictkv.Collection {
	c := db.Collection(names[0])
	for _, name := range names[1:] {
		c = c.Collection(name)
	}
	return c
}

// row is an entry of the backup.
type row struct {
	strictkv.Item // the key is that in its collection
	prefix        []byte
	path          [][]byte
}

func (x *restoring) next(next func() (strictkv.Item, error, bool)) (r row, more bool) {
	item, err, more := next()
	if more && err == nil {
		r.Item = item
		if r.path, r.Key, err = snapshot.ParseDatabaseKey(item.Key); err == nil {
			r.prefix = item.Key[:len(item.Key)-len(r.Key)]
			return r, true
		}
	}
	x.err = err
	return r, false
}

// collection restores the keys of one collection, from the first one on, and returns the one behind
// them.
func (x *restoring) collection(
	next func() (strictkv.Item, error, bool), first row,
) (r row, more bool, err error) {
	c := below(x.db, first.path)
	prefix, before := first.prefix, x.report
	r, more = first, true
	var expiring []strictkv.Item
	report, err := c.Load(x.ctx, func(yield func(key, value []byte) bool) {
		for more && bytes.Equal(r.prefix, prefix) {
			switch {
			case r.Expires.IsZero():
				if !yield(r.Key, r.Value) {
					return
				}
			case !r.Expires.After(x.now):
				x.report.Expired++
			default:
				if expiring = append(expiring, r.Item); len(expiring) == expiringMax {
					if x.err = x.expire(c, prefix, expiring); x.err != nil {
						return
					}
					expiring = expiring[:0]
				}
			}
			r, more = x.next(next)
		}
	}, strictkv.LoadOptions{Progress: func(l strictkv.LoadReport) {
		if x.o.Progress != nil {
			p := x.report
			p.Inserted, p.Present = before.Inserted+l.Inserted, before.Present+l.Present
			p.Bytes = before.Bytes + l.Bytes
			x.o.Progress(p)
		}
	}})
	x.report.Inserted += report.Inserted
	x.report.Present += report.Present
	x.report.Bytes += report.Bytes
	for _, f := range report.Failures {
		if !errors.Is(f.Err, strictkv.ErrExists) {
			return r, more, f.Err
		}
		x.other(prefix, f.Key)
	}
	x.report.Other += report.Failed - int64(len(report.Failures))
	if err == nil && x.err == nil {
		err = x.expire(c, prefix, expiring)
	}
	return r, more, err
}

func (x *restoring) other(prefix, key []byte) {
	if x.report.Other++; len(x.report.Keys) < keysMax {
		x.report.Keys = append(x.report.Keys, append(slices.Clip(prefix), key...))
	}
}

// expire inserts keys that expire.
func (x *restoring) expire(
	c *strictkv.Collection, prefix []byte, items []strictkv.Item,
) error {
	inserted, same := make([]bool, len(items)), make([]bool, len(items))
	var g errgroup.Group
	for i, item := range items {
		g.Go(func() error {
			return x.db.Tx(x.ctx, func(tx *strictkv.Tx) error {
				err := tx.Insert(c, item.Key, item.Value, strictkv.ExpireAt(item.Expires))
				if inserted[i] = err == nil; !errors.Is(err, strictkv.ErrExists) {
					return err
				}
				there, err := tx.ReadItem(c, item.Key)
				same[i] = bytes.Equal(there.Value, item.Value) && there.Expires.Equal(item.Expires)
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, item := range items {
		switch {
		case inserted[i]:
			x.report.Inserted++
		case same[i]:
			x.report.Present++
		default:
			x.other(prefix, item.Key)
			continue
		}
		x.report.Bytes += int64(len(item.Key) + len(item.Value))
	}
	return nil
}

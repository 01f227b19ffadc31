package dump

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/keytext"
)

// Load inserts the keys of rows into a collection, by its names, or into those that the rows name
// below it. It does as Collection.Load: a key that is there with the same value is fine, one with
// another is left and reported. Rows of one collection should stand together: those are loaded
// many at once, but for those that expire. What has expired is passed over.
//
// Errors: ErrMalformed of a row that can't be read, which tells the line: what stands before it has
// been loaded, and nothing behind; and those of Collection.Load.
func Load(
	ctx context.Context, db *strictkv.DB, into [][]byte, r io.Reader, o Options,
) (Report, error) {
	l := loading{db: db, base: into, now: time.Now(), o: o}
	err := l.all(ctx, read(r, o.Format))
	return l.report, err
}

// loading is a load: of runs of rows that belong to one collection.
type loading struct {
	db     *strictkv.DB
	base   [][]byte // the collection that others are in
	now    time.Time
	o      Options
	report Report
	err    error // that ended the rows
}

// Report is what a Load has done.
type Report struct {
	Inserted int64 `json:"inserted"`
	Present  int64 `json:"present"`
	Expired  int64 `json:"expired"`
	Bytes    int64 `json:"bytes"`
	Failed   int64 `json:"failed"`
	// Failures lists them, up to 100.
	Failures []Failure `json:"failures,omitempty"`
}

// failuresMax bounds the failures that a Report lists.
const failuresMax = 100

// Failure is a key that could not be loaded. Its collection is the path of the row's; empty where
// there is one for all.
type Failure struct {
	Collection string `json:"collection,omitempty"`
	Key        string `json:"key"`
	Error      string `json:"error"`
}

// all loads the rows.
func (l *loading) all(ctx context.Context, all iter.Seq2[Row, error]) error {
	next, stop := iter.Pull2(all)
	defer stop()
	row, more := l.next(next)
	for more && l.err == nil {
		c, err := l.collection(row.Collection)
		if err != nil {
			return malformed(row.line, err)
		}
		run, before := row.Collection, l.report
		r, err := c.Load(ctx, func(yield func(key, value []byte) bool) {
			for more && row.Collection == run {
				if row.Expires.IsZero() {
					if !yield(row.Key, row.Value) {
						return
					}
				} else if l.err = l.expiring(ctx, c, row); l.err != nil {
					return
				}
				row, more = l.next(next)
			}
		}, strictkv.LoadOptions{Progress: func(r strictkv.LoadReport) {
			l.o.tell(before.Inserted + before.Present + r.Taken)
		}})
		l.add(run, r)
		if err != nil {
			return err
		}
	}
	return l.err
}

// next is the next row; none at the end, or if it can't be read.
func (l *loading) next(next func() (Row, error, bool)) (Row, bool) {
	row, err, more := next()
	if more && err == nil {
		return row, true
	}
	l.err = err
	return row, false
}

func (l *loading) collection(path string) (*strictkv.Collection, error) {
	names := l.base[:len(l.base):len(l.base)]
	if path != "" {
		more, err := keytext.ParsePath(path)
		if err != nil {
			return nil, errors.New(err.Error()) // no error of the call
		}
		names = append(names, more...)
	}
	if len(names) == 0 {
		return nil, errors.New("neither a collection is given, nor does the row name one")
	}
	return Below(l.db, names), nil
}

// expiring inserts a key that expires, unless it has.
func (l *loading) expiring(ctx context.Context, c *strictkv.Collection, row Row) error {
	if !row.Expires.After(l.now) {
		l.report.Expired++
		return nil
	}
	inserted := false
	err := l.db.Tx(ctx, func(tx *strictkv.Tx) error {
		err := tx.Insert(c, row.Key, row.Value, strictkv.ExpireAt(row.Expires))
		if inserted = err == nil; !errors.Is(err, strictkv.ErrExists) {
			return err
		}
		there, rerr := tx.ReadItem(c, row.Key)
		same := bytes.Equal(there.Value, row.Value) && there.Expires.Equal(row.Expires)
		if rerr == nil && !same {
			return fmt.Errorf("%w with another value", err)
		}
		return rerr
	})
	switch {
	case ofTheKey(err):
		failures := []strictkv.LoadFailure{{Key: row.Key, Err: err}}
		l.add(row.Collection, strictkv.LoadReport{Failed: 1, Failures: failures})
	case err != nil:
		return err
	default:
		r := strictkv.LoadReport{Present: 1, Bytes: int64(len(row.Key) + len(row.Value))}
		if inserted {
			r.Present, r.Inserted = 0, 1
		}
		l.add(row.Collection, r)
	}
	return nil
}

// ofTheKey reports whether an error is about one key, as those of LoadFailure are: others may be
// loaded all the same.
func ofTheKey(err error) bool {
	for _, target := range []error{
		strictkv.ErrExists, strictkv.ErrInvalidKey, strictkv.ErrTooLarge, strictkv.ErrCorrupt,
		strictkv.ErrFormat,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// add adds what was done to a collection, of which the rows have this path.
func (l *loading) add(path string, r strictkv.LoadReport) {
	l.report.Inserted += r.Inserted
	l.report.Present += r.Present
	l.report.Bytes += r.Bytes
	l.report.Failed += r.Failed
	for _, f := range r.Failures {
		if len(l.report.Failures) < failuresMax {
			l.report.Failures = append(l.report.Failures,
				Failure{path, keytext.Show(f.Key), f.Err.Error()})
		}
	}
}

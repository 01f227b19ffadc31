package pebble

import (
	"context"
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/strictkv/strictkv/backend"
)

// pageSize is the largest number of entries of a listing that sets no limit.
const pageSize = 1000

// List implements backend.Backend: the page is a snapshot. It reads the objects that are no
// files of their own, as far as they are not in memory. Limit 0 means 1000 entries; a negative
// Limit is backend.ErrInvalid. Damage to data does not show; if the directory of names is
// damaged, a listing that needs the damaged part is backend.ErrCorrupt.
func (b *Backend) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	page, err := b.list(ctx, o)
	return page, failure("list", o.Prefix, err)
}

func (b *Backend) list(ctx context.Context, o backend.ListOptions) (page backend.Page, err error) {
	if err := b.begin(ctx, o.Limit >= 0); err != nil {
		return backend.Page{}, err
	}
	defer b.end()
	if o.Limit == 0 {
		o.Limit = pageSize
	}
	w := walk{o: o}
	w.i, err = b.db.NewIter(&pebble.IterOptions{
		LowerBound: objectKey(o.Prefix), UpperBound: past(objectKey(o.Prefix)),
	})
	if err != nil {
		return backend.Page{}, err
	}
	err = w.fill(ctx)
	if err = errors.Join(err, w.i.Close()); err == nil {
		err = b.flight.waitAll(ctx)
	}
	if err != nil {
		return backend.Page{}, engineError(o.Prefix, err)
	}
	return w.page, nil
}

// walk goes through the names of a page.
type walk struct {
	i    *pebble.Iterator
	o    backend.ListOptions
	page backend.Page
}

// fill fills the page.
func (w *walk) fill(ctx context.Context) error {
	for more := w.i.SeekGE(append(objectKey(w.o.After), 0)); more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := string(w.i.Key()[1:])
		group := w.group(name)
		if group != "" && group <= w.o.After { // All of it came before.
			more = w.i.SeekGE(past(objectKey(group)))
			continue
		}
		if len(w.page.Objects)+len(w.page.Prefixes) == w.o.Limit {
			w.page.More = true
			return nil
		}
		if group != "" {
			w.page.Prefixes = append(w.page.Prefixes, group)
			more = w.i.SeekGE(past(objectKey(group)))
			continue
		}
		info, err := w.info(name)
		if err != nil {
			return err
		}
		w.page.Objects = append(w.page.Objects, info)
		more = w.i.Next()
	}
	return w.i.Error()
}

// info is the entry of the object that the walk is at.
func (w *walk) info(name string) (backend.Info, error) {
	value, err := w.i.ValueAndErr()
	if err != nil {
		return backend.Info{}, err
	}
	var r record
	if r.parse(value) != nil {
		return backend.Info{Name: name, Size: int64(len(value)), Damaged: true}, nil
	}
	return backend.Info{
		Name: name, Version: r.version.text(), Size: r.size(), Modified: r.modified,
	}, nil
}

// group is the entry of Page.Prefixes that stands for a name, or empty if the name stands for
// itself.
func (w *walk) group(name string) string {
	if w.o.Delimiter == "" {
		return ""
	}
	i := strings.Index(name[len(w.o.Prefix):], w.o.Delimiter)
	if i < 0 {
		return ""
	}
	return name[:len(w.o.Prefix)+i+len(w.o.Delimiter)]
}

// past is the least key that is greater than all that begin with one. It changes that.
func past(key []byte) []byte {
	for i := len(key) - 1; i >= 0; i-- {
		if key[i] < 0xff {
			key[i]++
			return key[:i+1]
		}
	}
	return nil // The first byte is less.
}

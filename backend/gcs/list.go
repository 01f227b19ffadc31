package gcs

import (
	"context"
	"errors"

	"cloud.google.com/go/storage"
	"google.golang.org/api/iterator"

	"github.com/strictkv/strictkv/backend"
)

// listed are the attributes that a listing asks for.
var listed = []string{"Name", "Generation", "Size", "Created"}

var errLimit = errors.New("the limit is negative")

// List implements backend.Backend. Limit 0 means up to 1000 entries; the store
// never returns more. Info.Modified is when this generation was created; a change of
// its metadata does not move it.
func (b *Backend) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	if o.Limit < 0 {
		return backend.Page{}, b.fail("list", o.Prefix, backend.ErrInvalid, errLimit)
	}
	if err := ctx.Err(); err != nil {
		return backend.Page{}, b.fail("list", o.Prefix, backend.ErrUnavailable, err)
	}
	page, err := nextPage(b.objects(ctx, o), o)
	if err != nil {
		return backend.Page{}, b.readError(ctx, "list", o.Prefix, false, err)
	}
	b.exists()
	if o.Limit > 0 {
		trim(&page, o.Limit)
	}
	return page, nil
}

// objects starts a listing, of which the first entry may be o.After itself.
func (b *Backend) objects(ctx context.Context, o backend.ListOptions) *storage.ObjectIterator {
	q := storage.Query{
		Prefix: o.Prefix, Delimiter: o.Delimiter, StartOffset: o.After,
		Projection: storage.ProjectionNoACL,
	}
	if err := q.SetAttrSelection(listed); err != nil {
		panic("gcs: " + err.Error()) // One of listed is no attribute.
	}
	it := b.bucket.Objects(ctx, &q)
	it.PageInfo().MaxSize = o.Limit
	if o.Limit > 0 && o.After != "" {
		it.PageInfo().MaxSize++ // StartOffset is inclusive.
	}
	return it
}

// nextPage returns the first of the store's pages that has an entry beyond
// o.After. The one before may hold just the prefix that After is, or is within.
func nextPage(it *storage.ObjectIterator, o backend.ListOptions) (backend.Page, error) {
	var page backend.Page
	for {
		attrs, err := it.Next()
		if errors.Is(err, iterator.Done) {
			return page, nil
		}
		if err != nil {
			return backend.Page{}, err
		}
		switch {
		case attrs.Prefix > o.After:
			page.Prefixes = append(page.Prefixes, attrs.Prefix)
		case attrs.Name > o.After:
			page.Objects = append(page.Objects, backend.Info{
				Name: attrs.Name, Version: format(attrs.Generation),
				Size: attrs.Size, Modified: attrs.Created,
			})
		}
		if it.PageInfo().Remaining() == 0 && len(page.Objects)+len(page.Prefixes) > 0 {
			page.More = it.PageInfo().Token != ""
			return page, nil
		}
	}
}

// trim leaves the first limit entries in the common order of objects and
// prefixes: one more than the limit was asked for, and emulators count objects
// only.
func trim(page *backend.Page, limit int) {
	i, j := 0, 0
	for i+j < limit && i+j < len(page.Objects)+len(page.Prefixes) {
		if j == len(page.Prefixes) ||
			i < len(page.Objects) && page.Objects[i].Name < page.Prefixes[j] {
			i++
		} else {
			j++
		}
	}
	page.More = page.More || i < len(page.Objects) || j < len(page.Prefixes)
	page.Objects, page.Prefixes = page.Objects[:i], page.Prefixes[:j]
}

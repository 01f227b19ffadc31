package azure

import (
	"context"
	"errors"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/strictkv/strictkv/backend"
)

// pageMax is the largest number of entries that the store puts into a page.
const pageMax = 5000

var (
	errLimit = errors.New("the limit is negative")
	errEntry = errors.New("the listing has an incomplete entry")
)

// List implements backend.Backend. Limit 0 means up to 5000 entries; the store
// never returns more. Info.Modified has a resolution of one second.
func (b *Backend) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	err := b.err
	if o.Limit < 0 {
		err = errLimit
	}
	if err != nil {
		return backend.Page{}, b.fail("list", o.Prefix, backend.ErrInvalid, err)
	}
	if err := ctx.Err(); err != nil {
		return backend.Page{}, b.fail("list", o.Prefix, backend.ErrUnavailable, err)
	}
	from, ok := start(o)
	if !ok {
		return backend.Page{}, nil
	}
	page, err := nextPage(once(ctx), b.segments(o, from), o)
	if err != nil {
		return backend.Page{}, b.readError(ctx, "list", o.Prefix, err)
	}
	if o.Limit > 0 {
		trim(&page, o.Limit)
	}
	return page, nil
}

// start returns the least name that an entry behind o.After can have or roll up,
// empty if all have that prefix; false if no entry can be there. It is within
// the prefix, and of one level behind it, as Azure wants it with a delimiter.
func start(o backend.ListOptions) (string, bool) {
	rest, ok := strings.CutPrefix(o.After, o.Prefix)
	switch i := strings.Index(rest, o.Delimiter); {
	case o.After <= o.Prefix:
		return "", true
	case !ok: // Names with the prefix are all less.
		return "", false
	case o.Delimiter != "" && i >= 0: // The whole entry is not greater than After.
		return behind(o.Prefix + rest[:i+len(o.Delimiter)]), true
	}
	return o.After, true
}

// behind returns a name beyond all that begin with s, or else s.
func behind(s string) string {
	last := s[len(s)-1]
	if last >= '~' { // Not by one byte.
		return s
	}
	return s[:len(s)-1] + string(rune(last+1))
}

// segment is one page of the store.
type segment struct {
	blobs    []*container.BlobItem
	prefixes []*container.BlobPrefix
	more     bool
}

// segments returns a function that asks for one page after the other.
func (b *Backend) segments(
	o backend.ListOptions, from string,
) func(context.Context) (segment, error) {
	var (
		prefix = optional(o.Prefix)
		begin  = optional(from)
		most   *int32
	)
	if o.Limit > 0 { // One more, as StartFrom is inclusive.
		most = to.Ptr(int32(min(o.Limit, pageMax-1) + 1))
	}
	if o.Delimiter == "" {
		pager := b.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
			Prefix: prefix, StartFrom: begin, MaxResults: most,
		})
		return func(ctx context.Context) (segment, error) {
			r, err := pager.NextPage(ctx)
			if err != nil || r.Segment == nil {
				return segment{more: pager.More()}, err
			}
			return segment{blobs: r.Segment.BlobItems, more: pager.More()}, nil
		}
	}
	pager := b.container.NewListBlobsHierarchyPager(o.Delimiter,
		&container.ListBlobsHierarchyOptions{
			Prefix: prefix, StartFrom: begin, MaxResults: most,
		})
	return func(ctx context.Context) (segment, error) {
		r, err := pager.NextPage(ctx)
		if err != nil || r.Segment == nil {
			return segment{more: pager.More()}, err
		}
		return segment{r.Segment.BlobItems, r.Segment.BlobPrefixes, pager.More()}, nil
	}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// nextPage returns the first of the store's pages that has an entry beyond
// o.After. Azure may send empty pages, and emulators ignore StartFrom.
func nextPage(
	ctx context.Context, next func(context.Context) (segment, error), o backend.ListOptions,
) (backend.Page, error) {
	for {
		s, err := next(ctx)
		if err != nil {
			return backend.Page{}, err
		}
		page := backend.Page{More: s.more}
		for _, p := range s.prefixes {
			if p.Name == nil {
				return backend.Page{}, errEntry
			}
			if *p.Name > o.After {
				page.Prefixes = append(page.Prefixes, *p.Name)
			}
		}
		for _, item := range s.blobs {
			info, err := entry(item)
			if err != nil {
				return backend.Page{}, err
			}
			if info.Name > o.After {
				page.Objects = append(page.Objects, info)
			}
		}
		if !page.More || len(page.Objects)+len(page.Prefixes) > 0 {
			return page, nil
		}
	}
}

// entry returns what the listing tells of a blob.
func entry(item *container.BlobItem) (backend.Info, error) {
	p := item.Properties
	if item.Name == nil || p == nil || p.ContentLength == nil || p.LastModified == nil ||
		format(p.ETag) == "" {
		return backend.Info{}, errEntry
	}
	return backend.Info{
		Name: *item.Name, Version: format(p.ETag),
		Size: *p.ContentLength, Modified: *p.LastModified,
	}, nil
}

// trim leaves the first limit entries in the common order of objects and
// prefixes: one more than the limit was asked for.
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

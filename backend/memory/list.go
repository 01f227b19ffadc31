package memory

import (
	"context"
	"strings"

	"github.com/strictkv/strictkv/backend"
)

// List implements backend.Backend: the page is a snapshot. Limit 0 means 1000
// entries; a negative Limit is backend.ErrInvalid.
func (b *Backend) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	if err := check(ctx, o.Limit >= 0); err != nil {
		return backend.Page{}, &callError{"list", o.Prefix, err}
	}
	if o.Limit == 0 {
		o.Limit = pageSize
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	var page backend.Page
	at := b.names.find(func(name string) bool {
		return name > o.After && name >= o.Prefix
	})
	for {
		name, ok := b.names.at(at)
		if !ok || !strings.HasPrefix(name, o.Prefix) {
			return page, nil
		}
		group := rollup(name, o)
		if group != "" && group <= o.After { // All of it came before.
			at = b.names.past(group)
			continue
		}
		if len(page.Objects)+len(page.Prefixes) == o.Limit {
			page.More = true
			return page, nil
		}
		if group != "" {
			page.Prefixes = append(page.Prefixes, group)
			at = b.names.past(group)
			continue
		}
		page.Objects = append(page.Objects, b.objects[name].info(name))
		at = b.names.next(at)
	}
}

func (o object) info(name string) backend.Info {
	return backend.Info{
		Name: name, Version: o.version, Size: int64(len(o.data)), Modified: o.modified,
	}
}

// rollup is the entry of Page.Prefixes that stands for name, or empty if name
// stands for itself.
func rollup(name string, o backend.ListOptions) string {
	if o.Delimiter == "" {
		return ""
	}
	i := strings.Index(name[len(o.Prefix):], o.Delimiter)
	if i < 0 {
		return ""
	}
	return name[:len(o.Prefix)+i+len(o.Delimiter)]
}

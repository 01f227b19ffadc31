package bucketurl

import (
	"context"
	"fmt"
	"strings"

	"github.com/strictkv/strictkv/backend"
)

// prefixed is the part of a store whose names begin with a prefix, which its own
// names do without. The names in its errors are those of the store.
type prefixed struct {
	in     backend.Backend
	prefix string
}

// check refuses the empty name, which would become the name of an object.
func check(call, name string) error {
	if name == "" {
		return fmt.Errorf("bucketurl %s %q: %w: the name is empty", call, name, backend.ErrInvalid)
	}
	return nil
}

func (p *prefixed) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	if err := check("get", name); err != nil {
		return backend.Object{}, err
	}
	return p.in.Get(ctx, p.prefix+name, known)
}

func (p *prefixed) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	if err := check("put", name); err != nil {
		return backend.Stamp{}, err
	}
	return p.in.Put(ctx, p.prefix+name, data, c)
}

func (p *prefixed) Delete(ctx context.Context, name string, v backend.Version) error {
	if err := check("delete", name); err != nil {
		return err
	}
	return p.in.Delete(ctx, p.prefix+name, v)
}

func (p *prefixed) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	o.Prefix = p.prefix + o.Prefix
	if o.After != "" {
		o.After = p.prefix + o.After
	}
	page, err := p.in.List(ctx, o)
	for i := range page.Objects {
		page.Objects[i].Name = strings.TrimPrefix(page.Objects[i].Name, p.prefix)
	}
	for i := range page.Prefixes {
		page.Prefixes[i] = strings.TrimPrefix(page.Prefixes[i], p.prefix)
	}
	return page, err
}

func (p *prefixed) Capabilities() backend.Capabilities { return p.in.Capabilities() }

package bucketurl

import (
	"context"
	"fmt"

	"github.com/strictkv/strictkv/backend"
)

var (
	_ backend.Batcher = (*Bucket)(nil)
	_ backend.Batcher = (*prefixed)(nil)
)

// BatchMax implements backend.Batcher: what the store says, and 0 if it is none.
func (b *Bucket) BatchMax() int { return batchMax(b.Backend) }

// PutAll implements backend.Batcher, if the store does; else it is backend.ErrInvalid.
func (b *Bucket) PutAll(
	ctx context.Context, writes []backend.Write,
) (at []backend.Stamp, refused int, err error) {
	return putAll(ctx, b.Backend, writes)
}

func (p *prefixed) BatchMax() int { return batchMax(p.in) }

func (p *prefixed) PutAll(
	ctx context.Context, writes []backend.Write,
) (at []backend.Stamp, refused int, err error) {
	all := make([]backend.Write, len(writes))
	for i, w := range writes {
		if err := check("put all", w.Name); err != nil {
			return nil, i, err
		}
		w.Name = p.prefix + w.Name
		all[i] = w
	}
	return putAll(ctx, p.in, all)
}

func batchMax(b backend.Backend) int {
	if in, ok := b.(backend.Batcher); ok {
		return in.BatchMax()
	}
	return 0
}

func putAll(
	ctx context.Context, b backend.Backend, writes []backend.Write,
) (at []backend.Stamp, refused int, err error) {
	if in, ok := b.(backend.Batcher); ok {
		return in.PutAll(ctx, writes)
	}
	return nil, 0, fmt.Errorf("bucketurl put all: %w: the store does not write several objects "+
		"at one instant", backend.ErrInvalid)
}

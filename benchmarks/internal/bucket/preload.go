package bucket

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
)

// preloaders is how many keys are made, or objects removed, at once.
const preloaders = 32

// Collection is that of all benchmarks.
func Collection(db *strictkv.DB) *strictkv.Collection { return db.Collection([]byte("keys")) }

// Key is the name of the i-th key: 16 bytes, as long for each.
func Key(i int) []byte { return fmt.Appendf(nil, "key-%012d", i) }

// Direct opens the database without simulated latency, for what happens before a measurement.
// The caller closes it.
func (b *Bucket) Direct(ctx context.Context, opts ...strictkv.Option) (*strictkv.DB, error) {
	return strictkv.Open(ctx, b.name, b.objects, opts...)
}

// Preload makes the first n keys, all with the same value: through a handle of its own,
// without simulated latency.
func (b *Bucket) Preload(ctx context.Context, n int, value []byte) error {
	db, err := b.Direct(ctx, strictkv.WithCacheSize(0))
	if err != nil {
		return err
	}
	c := Collection(db)
	err = each(n, func(i int) error { return c.Insert(ctx, Key(i), value) })
	return errors.Join(err, db.Close(ctx))
}

// remove deletes the database's objects.
func (b *Bucket) remove(ctx context.Context) error {
	for after := ""; ; {
		page, err := b.objects.List(ctx, backend.ListOptions{Prefix: b.name + "/", After: after})
		if err != nil {
			return err
		}
		err = each(len(page.Objects), func(i int) error {
			return b.objects.Delete(ctx, page.Objects[i].Name, page.Objects[i].Version)
		})
		if err != nil || !page.More {
			return err
		}
		after = page.Objects[len(page.Objects)-1].Name
	}
}

// each calls f for 0 to n-1, some at a time, and returns the first error.
func each(n int, f func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(preloaders)
	for i := range n {
		group.Go(func() error { return f(i) })
	}
	return group.Wait()
}

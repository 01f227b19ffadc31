// Package clouds lets examples work on every bucket that package bucketurl opens. Import it
// for that alone.
package clouds

import (
	"context"

	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/examples/internal/store"
)

func init() {
	store.Cloud = func(ctx context.Context, url string) (store.Store, error) {
		b, err := bucketurl.Open(ctx, url)
		if err != nil {
			return store.Store{}, err
		}
		return store.Store{Backend: b, Release: b.Close}, nil
	}
}

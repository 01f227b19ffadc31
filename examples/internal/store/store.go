// Package store opens the bucket that an example works on: a folder, or one in a cloud. The
// SDKs of the clouds take minutes to compile, which a program on a folder should not pay for:
// only with the build tag "cloud" do the examples import package clouds, which knows them.
package store

import (
	"context"
	"fmt"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
)

// Store is an open bucket.
type Store struct {
	backend.Backend

	// Release gives back what its clients hold; nil is nothing.
	Release func() error
}

// Close gives back what the bucket's clients hold. Close its databases before.
func (s Store) Close() error {
	if s.Release == nil {
		return nil
	}
	return s.Release()
}

// Cloud opens a bucket by its URL. Package clouds sets it.
var Cloud func(ctx context.Context, url string) (Store, error)

// Open opens the bucket at a URL, or if that is empty a folder. It fails for a URL if the
// program was built without the tag "cloud".
func Open(ctx context.Context, dir, url string) (Store, error) {
	switch {
	case url == "":
		return Store{Backend: folder.New(dir)}, nil
	case Cloud == nil:
		return Store{}, fmt.Errorf("bucket %q: this program was built for folders alone: "+
			"build it with -tags cloud, as in go run -tags cloud ./examples/bank -bucket URL", url)
	}
	return Cloud(ctx, url)
}

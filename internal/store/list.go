package store

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/strictkv/strictkv/backend"
)

// List yields the objects whose names begin with prefix, in byte order, page by page.
// Names are relative to the database. An error ends it.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[backend.Info, error] {
	return s.objects(ctx, backend.ListOptions{Prefix: s.FullName(prefix)}, same)
}

// objects yields the objects of a listing. next tells the limit of the page that follows.
func (s *Store) objects(
	ctx context.Context, o backend.ListOptions, next func(limit int) int,
) iter.Seq2[backend.Info, error] {
	return func(yield func(backend.Info, error) bool) {
		for page, err := range s.pages(ctx, o, next) {
			if err != nil {
				yield(backend.Info{}, err)
				return
			}
			for _, info := range page.Objects {
				info.Name = strings.TrimPrefix(info.Name, s.prefix)
				if !yield(info, nil) {
					return
				}
			}
		}
	}
}

func (s *Store) page(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	var page backend.Page
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		s.counts.Lists.Add(1)
		page, err = s.backend.List(ctx, o)
		return err
	})
	if err != nil {
		return page, fmt.Errorf("list %q: %w", o.Prefix, err)
	}
	return page, nil
}

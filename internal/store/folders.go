package store

import (
	"context"
	"iter"
	"strings"

	"github.com/strictkv/strictkv/backend"
)

// Limits of the pages of Peek.
const (
	// peekMin is how many objects the first page has.
	peekMin = 16
	// peekMax is how many a page may have before the store's own size is good enough.
	peekMax = 256
	// peekGrowth is how many times larger each page is than the one before.
	peekGrowth = 4
)

// Folders yields what the names of objects below prefix begin with, up to and with the
// next slash: each once, in byte order, page by page. Names are relative to the database.
// An error ends it.
func (s *Store) Folders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		o := backend.ListOptions{Prefix: s.FullName(prefix), Delimiter: "/"}
		for page, err := range s.pages(ctx, o, same) {
			if err != nil {
				yield("", err)
				return
			}
			for _, folder := range page.Prefixes {
				if !yield(strings.TrimPrefix(folder, s.prefix), nil) {
					return
				}
			}
		}
	}
}

// Peek yields what List does, for who expects to stop soon: the first pages are small.
func (s *Store) Peek(ctx context.Context, prefix string) iter.Seq2[backend.Info, error] {
	return s.objects(ctx, backend.ListOptions{Prefix: s.FullName(prefix), Limit: peekMin}, larger)
}

func same(limit int) int { return limit }

// larger is the size of the page after one of the size; 0 is the store's own.
func larger(limit int) int {
	if limit *= peekGrowth; limit > peekMax {
		return 0
	}
	return limit
}

// pages yields the pages of a listing. next tells the limit of the page that follows.
func (s *Store) pages(
	ctx context.Context, o backend.ListOptions, next func(limit int) int,
) iter.Seq2[backend.Page, error] {
	return func(yield func(backend.Page, error) bool) {
		for {
			page, err := s.page(ctx, o)
			if !yield(page, err) || err != nil || !page.More {
				return
			}
			if n := len(page.Objects); n > 0 {
				o.After = page.Objects[n-1].Name
			}
			if n := len(page.Prefixes); n > 0 {
				o.After = max(o.After, page.Prefixes[n-1])
			}
			o.Limit = next(o.Limit)
		}
	}
}

package store

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

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
		page, err = s.list(ctx, o)
		return err
	})
	if err != nil {
		return page, fmt.Errorf("list %q: %w", o.Prefix, err)
	}
	return page, nil
}

// Asked is when a request was sent that proved something: by the logical clock, and by the
// real one.
type Asked struct {
	Proved uint64
	Until  time.Time
}

// Page is one page of a listing. Names are relative to the database.
type Page struct {
	Objects []backend.Info
	More    bool
	Asked   Asked
}

// ListPage lists at most limit objects whose names begin with prefix and are greater than
// after, which is none for all; in one request.
func (s *Store) ListPage(
	ctx context.Context, prefix, after string, limit int,
) (Page, error) {
	o := backend.ListOptions{Prefix: s.FullName(prefix), Limit: limit}
	if after != "" {
		o.After = s.FullName(after)
	}
	asked := Asked{Proved: s.Tick(), Until: s.rt.Now()} // or later, if it is sent again
	page, err := s.page(ctx, o)
	if err != nil {
		return Page{}, err
	}
	for i := range page.Objects {
		page.Objects[i].Name = strings.TrimPrefix(page.Objects[i].Name, s.prefix)
	}
	return Page{Objects: page.Objects, More: page.More, Asked: asked}, nil
}

// Listed returns what the cache remembers of a cell that a listing shows, if that is the
// version listed, or is known from a later request. A listing of the same version proves
// the cell as a read does.
func (s *Store) Listed(name string, v backend.Version, asked Asked) (Snapshot, bool) {
	e, ok := s.cache.Lookup(name)
	if !ok {
		return Snapshot{}, false
	}
	if e.Version == v {
		if asked.Proved > e.Proved {
			e.Proved, e.Until = asked.Proved, asked.Until
			e.Settled = max(e.Settled, e.Proved)
			s.cache.Learn(name, e)
		}
		return snapshot(name, e), true
	}
	return snapshot(name, e), e.Proved > asked.Proved
}

// Kept is Listed for a cell that the cache has on disk alone, and at the version listed: that
// proves it, as a request for it would. It may block.
func (s *Store) Kept(name string, v backend.Version, asked Asked) (Snapshot, bool) {
	if !s.cache.Keeps() {
		return Snapshot{}, false
	}
	if _, ok := s.cache.Lookup(name); ok {
		return Snapshot{}, false
	}
	e, ok := s.cache.Recall(name)
	if !ok || e.Version != v {
		return Snapshot{}, false
	}
	s.counts.DiskHits.Add(1)
	e.Proved, e.Until, e.Settled = asked.Proved, asked.Until, asked.Proved
	e.Since = s.rt.Now() // the listing's answer came before
	s.cache.Learn(name, e)
	return snapshot(name, e), true
}

package scan

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/store"
)

// Limits of listing.
const (
	// pageMax is how many names one request asks for: the most that every store gives.
	pageMax = 1000
	// pageSlack is how many names more than are wanted the first page of a scan with a
	// limit asks for: some may be tombstones.
	pageSlack = 16
	// keptMax is how many names a reverse scan keeps of a pass.
	keptMax = 16 * pageMax
	// marksMax is how many beginnings of pages it remembers of what it does not keep.
	marksMax = 4096
)

// pages are the cells of a range in the order in which they are wanted, as far as
// listings have been made, or are known from before.
//
// Stores list forward only. A reverse scan first lists all of its interval, keeps the last
// names, and remembers where the pages before them begin. When it has gone through the
// names, it lists those pages once more, one at a time from the last to the first. So an
// interval of up to keptMax names is listed once, and a longer one twice, of which once
// before the first key comes.
type pages struct {
	*Scanner
	Range // what is left of it
	// limit is how many names the next page asks for.
	limit int
	known []*Listing
	// marks are the beginnings of pages in what is left of a reverse scan, in order.
	marks []string
	// at is the instant at which all that was taken was current, if it is known.
	at   time.Time
	live bool // something was listed
}

func (s *Scanner) newPages(r Range, known []*Listing) *pages {
	p := &pages{Scanner: s, Range: r, limit: pageMax, known: known}
	if r.Limit > 0 && !r.Reverse && r.Limit < pageMax-pageSlack {
		p.limit = r.Limit + pageSlack
	}
	return p
}

// done reports whether nothing is left.
func (p *pages) done() bool { return p.Empty() }

// next returns what comes next, in the order of the scan. It may be empty.
func (p *pages) next(ctx context.Context) ([]Found, error) {
	if l := p.knownNext(); l != nil {
		return p.take(l), nil
	}
	p.live = true
	if p.Reverse {
		return p.back(ctx)
	}
	found, upTo, err := p.page(ctx, p.Interval, p.limit)
	p.limit = min(2*p.limit, pageMax)
	p.From = upTo
	return found, err
}

// knownNext is the listing that begins where the scan is, or nil.
func (p *pages) knownNext() *Listing {
	for _, l := range p.known {
		if l.begins(p.Range) {
			return l
		}
	}
	return nil
}

// begins reports whether the range begins, in its direction, within the listing.
func (l *Listing) begins(r Range) bool {
	if r.Reverse {
		return l.From < r.To && r.To <= l.To
	}
	return l.Contains(r.From)
}

// take takes what is known from a listing.
func (p *pages) take(l *Listing) []Found {
	from, to := max(p.From, l.From), min(p.To, l.To)
	i, j := l.search(from), l.search(to)
	found := slices.Clone(l.found[i:j])
	if p.at.IsZero() && !p.live {
		p.at = l.at
	}
	old := l.at.IsZero() || !l.at.Equal(p.at)
	p.live = p.live || old
	for i := range found {
		found[i].live = old
	}
	if p.Reverse {
		slices.Reverse(found)
		p.To = from
	} else {
		p.From = to
	}
	return found
}

// page lists the beginning of an interval, up to the bound that it returns.
func (s *Scanner) page(
	ctx context.Context, i keyspace.Interval, limit int,
) (found []Found, upTo string, err error) {
	prefix, after := i.Listing()
	for {
		page, err := s.st.ListPage(ctx, prefix, after, limit)
		if err != nil {
			return nil, "", err
		}
		found = within(i, page)
		n := len(page.Objects)
		switch {
		case n == 0 && page.More:
			return nil, "", fmt.Errorf("list %q: %w: an empty page is not the last", prefix,
				backend.ErrUnavailable)
		case !page.More || page.Objects[n-1].Name >= i.To:
			return found, i.To, nil
		}
		if after = page.Objects[n-1].Name; after >= i.From {
			return found, keyspace.UpTo(after), nil
		}
	}
}

// within are the cells of a page that are within the interval. A name that keyspace does
// not make is none of the database's: it is passed over.
func within(i keyspace.Interval, page store.Page) []Found {
	found := make([]Found, 0, len(page.Objects))
	for _, o := range page.Objects {
		if !i.Contains(o.Name) {
			continue
		}
		if _, err := i.Path.Key(o.Name); err != nil {
			continue
		}
		found = append(found, Found{
			Name: o.Name, Version: o.Version, Size: o.Size, asked: page.Asked, live: true,
			damaged: o.Damaged,
		})
	}
	return found
}

// back lists what is left from the last mark on, and returns the end of it.
func (p *pages) back(ctx context.Context) ([]Found, error) {
	pass := p.Interval
	for len(p.marks) > 0 && p.marks[len(p.marks)-1] >= p.To { // what was known reached over it
		p.marks = p.marks[:len(p.marks)-1]
	}
	if n := len(p.marks); n > 0 {
		pass.From, p.marks = p.marks[n-1], p.marks[:n-1]
	}
	var kept [][]Found // pages
	var begins []string
	names := 0
	for !pass.Empty() {
		found, upTo, err := p.page(ctx, pass, pageMax)
		if err != nil {
			return nil, err
		}
		kept, begins = append(kept, found), append(begins, pass.From)
		for names += len(found); names > keptMax; {
			names -= len(kept[0])
			p.mark(begins[0])
			kept, begins = kept[1:], begins[1:]
		}
		pass.From = upTo
	}
	p.To = begins[0]
	all := slices.Concat(kept...)
	slices.Reverse(all)
	return all, nil
}

// mark remembers where a page begins. When there are too many, it forgets every second
// one, but the first.
func (p *pages) mark(begin string) {
	if len(p.marks) == marksMax {
		for i := range marksMax / 2 {
			p.marks[i] = p.marks[2*i]
		}
		p.marks = p.marks[:marksMax/2]
	}
	p.marks = append(p.marks, begin)
}

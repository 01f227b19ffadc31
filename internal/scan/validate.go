package scan

import (
	"context"
	"slices"

	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// doubtsMax is how many cells of a page are read at once to validate them.
const doubtsMax = 1000

// Validator says who validates spans.
type Validator struct {
	// Role is as for resolving.
	Role resolve.Role
	// Own are the cells that hold intents of the attempt, as they were before: nobody has
	// replaced them since.
	Own map[string]resolve.Reading
}

// Validate lists again what was consumed, in parallel, and compares. A name at the version
// seen is as it was, unless an undecided intent was in it. One that is new, gone, or at
// another version is read, and compared by writer. Where the writer seen is not known,
// since the listing had told enough, another version counts as a change.
//
// It returns what it has listed, for another run to begin with. Who holds no intents lists a
// third time, beside the reading, if there is something to read: what has not changed between
// the two listings was current in between, all of it at one instant. Another run that sees
// nothing else needs no validation, and the time in which it can be disturbed is short.
func (s *Scanner) Validate(
	ctx context.Context, spans []*Span, v Validator,
) (now []*Listing, stale bool, err error) {
	var parts []*part
	for _, span := range spans {
		parts = append(parts, span.parts()...)
	}
	err = seam.Each(s.rt, len(parts), func(i int) (err error) {
		p := parts[i]
		p.Scanner, p.Validator = s, v
		p.listed, err = p.list(ctx)
		p.now.found = slices.Clone(p.listed)
		p.compare()
		return err
	})
	if err == nil {
		err = s.settle(ctx, parts)
	}
	if err != nil {
		return nil, false, err
	}
	for _, p := range parts {
		now = append(now, &p.now)
		stale = stale || p.stale
	}
	return now, stale, nil
}

// settle reads the cells in doubt, and lists again to find an instant for what was listed.
func (s *Scanner) settle(ctx context.Context, parts []*part) error {
	doubts := 0
	for _, p := range parts {
		doubts += len(p.doubts)
	}
	if doubts == 0 {
		return nil
	}
	at, quiet := s.rt.Now(), make([]bool, len(parts))
	err := seam.Each(s.rt, 2*len(parts), func(i int) (err error) {
		p := parts[i/2]
		switch {
		case i%2 == 0:
			return p.settle(ctx)
		case !p.Role.Ranked:
			quiet[i/2], err = p.unchanged(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, p := range parts {
		if !quiet[i] || p.moved {
			return nil
		}
	}
	for _, p := range parts {
		p.now.at = at
	}
	return nil
}

// part is a page of a span, as it is validated.
type part struct {
	*Scanner
	Validator
	seen   []Found
	listed []Found
	now    Listing // listed, with what more is known
	stale  bool
	// doubts are indices of now.found, each with what was seen.
	doubts []doubt
	// moved says that a cell which was read may not be as it was when it was listed.
	moved bool
}

type doubt struct {
	now  int
	seen *Found
}

// parts cuts the span into pages, so that they can be listed in parallel.
func (s *Span) parts() []*part {
	if s.Empty() {
		return nil
	}
	found, rest := s.ordered(), s.consumed
	var parts []*part
	for n := (len(found) + pageMax - 1) / pageMax; n > 1; n-- {
		size := (len(found) + n - 1) / n
		p := &part{seen: found[:size], now: Listing{Interval: rest}}
		p.now.To = keyspace.UpTo(found[size-1].Name)
		parts, found, rest.From = append(parts, p), found[size:], p.now.To
	}
	return append(parts, &part{seen: found, now: Listing{Interval: rest}})
}

// list lists the part.
func (p *part) list(ctx context.Context) (all []Found, err error) {
	limit := min(pageMax, len(p.seen)+pageSlack)
	for rest := p.now.Interval; !rest.Empty(); limit = pageMax {
		found, upTo, err := p.page(ctx, rest, limit)
		if err != nil {
			return nil, err
		}
		all, rest.From = append(all, found...), upTo
	}
	return all, nil
}

// unchanged lists the part again, and reports whether nothing has changed.
func (p *part) unchanged(ctx context.Context) (bool, error) {
	again, err := p.list(ctx)
	same := slices.EqualFunc(again, p.listed, func(x, y Found) bool {
		return x.Name == y.Name && x.Version == y.Version
	})
	return err == nil && same, err
}

// settle reads the cells in doubt.
func (p *part) settle(ctx context.Context) error {
	for len(p.doubts) > 0 {
		some := p.doubts[:min(len(p.doubts), doubtsMax)]
		p.doubts = p.doubts[len(some):]
		changed, moved := make([]bool, len(some)), make([]bool, len(some))
		err := seam.Each(p.rt, len(some), func(i int) error {
			f := &p.now.found[some[i].now]
			rd, err := p.rs.Effective(ctx, f.Name, p.Role)
			if err == nil {
				moved[i] = rd.Version != f.Version || rd.Cell.Intent != nil
				f.learn(rd)
				changed[i] = !some[i].seen.matches(rd)
			}
			return err
		})
		if err != nil {
			return err
		}
		for i := range some {
			p.stale, p.moved = p.stale || changed[i], p.moved || moved[i]
		}
		if p.stale {
			return nil // the rest is read when it is wanted
		}
	}
	return nil
}

// compare goes through what was seen and what is listed now, by name.
func (p *part) compare() {
	i := 0
	for j := range p.now.found {
		now := &p.now.found[j]
		for ; i < len(p.seen) && p.seen[i].Name < now.Name; i++ {
			p.gone(&p.seen[i])
		}
		var seen *Found
		if i < len(p.seen) && p.seen[i].Name == now.Name {
			seen = &p.seen[i]
			i++
		}
		if !p.same(seen, now) {
			p.doubts = append(p.doubts, doubt{j, seen})
		}
	}
	for ; i < len(p.seen); i++ {
		p.gone(&p.seen[i])
	}
}

// gone compares a name that is not listed any more.
func (p *part) gone(seen *Found) {
	_, own := p.Own[seen.Name]
	if !own && !seen.matches(resolve.Reading{Snapshot: store.NoObject(seen.Name)}) {
		p.stale = true
	}
}

// same reports whether a cell certainly has the effective value that was seen, or that it
// has not, by what the listing tells.
func (p *part) same(seen, now *Found) bool {
	if base, own := p.Own[now.Name]; own {
		p.stale = p.stale || !seen.matches(base)
		return true
	}
	switch {
	case seen == nil:
		return false
	case seen.Own:
		return true
	case seen.Version == now.Version && seen.isSettled() && !now.damaged:
		now.known, now.present, now.settled = seen.known, seen.present, seen.settled
		now.writer, now.reading, now.expires = seen.writer, seen.reading, seen.expires
		return true
	}
	return false
}

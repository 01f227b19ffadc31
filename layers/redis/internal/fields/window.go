package fields

import (
	"cmp"
	"slices"

	"github.com/strictkv/strictkv"
)

// placed is a pair at its place.
type placed struct {
	place uint64
	Pair
}

// scan returns the elements within a range.
func (f *Fields) scan(r strictkv.Range) ([]placed, error) {
	var found []placed
	var long [][]byte // the keys of those whose names are not known yet
	var at []int
	for e, err := range f.x.Range(r) {
		if err != nil {
			return nil, err
		}
		if r.KeysOnly {
			e.Value = nil
		} else if e.Value == nil {
			e.Value = []byte{}
		}
		p, err := elementPair(e.Name, e.Value)
		if err != nil {
			return nil, err
		}
		if p.Name == nil {
			long, at = append(long, e.Name), append(at, len(found))
		}
		found = append(found, placed{keyPlace(e.Name), p})
	}
	if len(long) == 0 {
		return found, nil
	}
	values, err := f.x.ReadMulti(long)
	if err != nil {
		return nil, err
	}
	for i, value := range values {
		p, err := elementPair(long[i], value)
		if err != nil {
			return nil, err
		}
		found[at[i]].Name = p.Name
	}
	return found, nil
}

// window returns the first names from a place on, limit at most; with values if that is wanted.
func (f *Fields) window(place uint64, limit int, values bool) ([]placed, error) {
	if place >= places {
		return nil, nil
	}
	var found []placed
	for _, p := range f.pairs {
		if at := placeOf(p.Name); at >= place {
			found = append(found, placed{at, p})
		}
	}
	if f.moved > 0 {
		r := from(place)
		r.Limit, r.KeysOnly = limit, !values
		elements, err := f.scan(r)
		if err != nil {
			return nil, err
		}
		found = append(found, elements...)
	}
	slices.SortFunc(found, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
	return found[:min(limit, len(found))], nil
}

// Page returns some count names from a cursor on, 0 at first, and the cursor for the next page: 0
// after the last. All names that are there from the first page to the last are on one of them. What
// is small is one page.
func (f *Fields) Page(cursor uint64, count int, values bool) ([]Pair, uint64, error) {
	if f.x == nil && len(f.pairs) <= smallElements {
		return f.pairs, 0, nil
	}
	// Names at one place are on one page: there may be more than count of them.
	for limit := count + 1; ; limit *= 2 {
		found, err := f.window(cursor, limit, values)
		if err != nil {
			return nil, 0, err
		}
		if len(found) < limit {
			return unplaced(found), 0, nil
		}
		if n := pageEnd(found, count); n > 0 {
			return unplaced(found[:n]), found[n].place, nil
		}
	}
}

// pageEnd is where a page of some count names ends, which has all that are at its last place; 0 if
// that can't be told of what was found.
func pageEnd(found []placed, count int) int {
	for i := count; i < len(found); i++ {
		if found[i].place != found[i-1].place {
			return i
		}
	}
	return 0
}

func unplaced(found []placed) []Pair {
	pairs := make([]Pair, len(found))
	for i, p := range found {
		pairs[i] = p.Pair
	}
	return pairs
}

package keyspace

import "strings"

const (
	// behindCell is what follows cellKind in ASCII: no name of a cell begins so.
	behindCell = cellKind + 1
	// upTo makes an exclusive bound of a name that is to be within.
	upTo = "\x00"
	// highest is greater than whatever follows the first byte by which two encoded names
	// differ: the slash's ".~~" is followed by no second '~'.
	highest = "~~~~"
	// boundMax is the longest name that is sent to a store as a bound, relative to the
	// database, in bytes.
	boundMax = CellMax - DatabaseMax - 1
	// BoundMax is the longest bound of an interval: the longest key, and what makes it the
	// bound behind that, in bytes.
	BoundMax = KeyMax + 1
)

// Interval is the part of a collection's cells whose names are at least From and less
// than To.
type Interval struct {
	Path     Path
	From, To string
}

// Interval returns the cells of p whose keys are at least from and less than to; none is
// the open end. A bound of more than BoundMax bytes is a *KeyError.
func (p Path) Interval(from, to []byte) (Interval, error) {
	i := Interval{p, p.Cells(), string(p) + string(rune(behindCell))}
	for _, b := range []struct {
		key  []byte
		name *string
	}{{from, &i.From}, {to, &i.To}} {
		if len(b.key) == 0 {
			continue
		}
		if n := len(b.key); n > BoundMax {
			return Interval{}, &KeyError{Len: n, Limit: BoundMax, What: whatBound}
		}
		*b.name = string(appendName([]byte(p.Cells()), b.key))
	}
	return i, nil
}

const whatBound = "bound of the range"

// Empty reports whether there can be no cell in the interval.
func (i Interval) Empty() bool { return i.From >= i.To }

// Contains reports whether the name is within the interval.
func (i Interval) Contains(name string) bool { return i.From <= name && name < i.To }

// UpTo is the exclusive bound of an interval that ends with the name.
func UpTo(name string) string { return name + upTo }

// Listing tells how to list the interval: by names that begin with prefix and are
// greater than after. Some that are not within the interval may come along, at both ends.
func (i Interval) Listing() (prefix, after string) {
	prefix = i.Path.Cells()
	n := len(prefix)
	for n < min(len(i.From), len(i.To)) && i.From[n] == i.To[n] {
		n++
	}
	if strings.HasPrefix(i.From, prefix) && strings.HasPrefix(i.To, prefix) {
		prefix = i.From[:n]
	}
	prefix = strings.TrimSuffix(prefix, upTo)
	if i.From <= prefix {
		return prefix, ""
	}
	return prefix, before(i.From)
}

// before returns what is less than the bound, but not less than any encoded name that is.
func before(bound string) string {
	if name, ok := strings.CutSuffix(bound, upTo); ok {
		return name
	}
	if len(bound) > boundMax {
		return bound[:boundMax] // what comes along is not within the interval
	}
	head, last := bound[:len(bound)-1], bound[len(bound)-1]
	for last--; last > ' '; last-- {
		if lead := leads[last]; lead == "" || strings.IndexByte("!;^~", last) >= 0 {
			return head + string(rune(last)) + highest
		}
	}
	return head
}

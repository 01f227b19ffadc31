package zsetcmd

import (
	"bytes"
	"iter"
	"maps"
	"slices"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

func (z *zset) elements() *keys.Elements { return z.c.Elements(z.key, &z.entry) }

// saveLarge writes what has changed, and reports whether it could: not if that is too much, but
// the set has become so small that it can be written anew.
func (z *zset) saveLarge() (done bool, err error) {
	var out, in []entry
	for _, member := range slices.Sorted(maps.Keys(z.changes)) {
		score := z.changes[member]
		old, err := z.before(member)
		if err != nil {
			return false, err
		}
		if old != nil && score != nil && *old == *score {
			continue
		}
		if old != nil {
			out = append(out, entry{[]byte(member), *old})
		}
		if score != nil {
			in = append(in, entry{[]byte(member), *score})
		}
	}
	// A member that goes is two writes as well, one that changes three.
	if 2*(len(out)+len(in)) > keys.WritesMax {
		if z.n <= growMax {
			return false, nil
		}
		return false, keys.ErrTooMany
	}
	if err := z.write(out, in); err != nil {
		return false, err
	}
	z.entry.SetHeader(encodeHeader(z.n))
	return true, z.c.Set(z.key, z.entry)
}

// before is the score that a member has in the store; nil if it is none.
func (z *zset) before(member string) (*float64, error) {
	if err := z.look([]byte(member)); err != nil {
		return nil, err
	}
	return z.found[member], nil
}

// write takes entries out of a large set, and puts others in: a member that is in both stays.
func (z *zset) write(out, in []entry) error {
	x := z.elements()
	if err := x.Changed(); err != nil {
		return err
	}
	tx, order := z.c.Raw(), x.Order()
	for _, e := range out {
		key, _ := orderKey(e)
		if err := tx.Delete(order, key); err != nil {
			return err
		}
		if score := z.changes[string(e.member)]; score == nil {
			if err := x.Delete(e.member); err != nil {
				return err
			}
		}
	}
	for _, e := range in {
		key, value := orderKey(e)
		if err := tx.Write(order, key, value); err != nil {
			return err
		}
		if err := x.Write(e.member, appendScore(nil, e.score)); err != nil {
			return err
		}
	}
	return nil
}

// grow makes a large set of the members in memory.
func (z *zset) grow() error {
	e, err := z.c.NewLarge(z.key, keys.SortedSet)
	if err != nil {
		return err
	}
	e.Expires = z.entry.Expires
	z.entry = e
	if err := z.write(nil, z.small); err != nil {
		return err
	}
	z.entry.SetHeader(encodeHeader(z.n))
	return z.c.Set(z.key, z.entry)
}

// walkLarge yields the members of a range, and may yield some beside it.
func (z *zset) walkLarge(b bounds, reverse bool) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		x := z.elements()
		first := func() (float64, error) { return z.first(x) }
		r, err := b.names(first)
		if err != nil {
			yield(entry{}, err)
			return
		}
		r.KeysOnly, r.Reverse = true, reverse
		alike := alike{reverse: reverse, yield: yield}
		for item, err := range z.c.Raw().Scan(x.Order(), r) {
			var e entry
			var long bool
			if err == nil {
				e, long, err = parseOrder(item.Key)
			}
			if err == nil && long {
				begin := e
				if e.member, err = z.c.Raw().Read(x.Order(), item.Key); err == nil {
					if !alike.add(begin, e) {
						return
					}
					continue
				}
			}
			if err != nil {
				yield(entry{}, err)
				return
			}
			if !alike.flush() || !yield(e, nil) {
				return
			}
		}
		alike.flush()
	}
}

// first is the least score of all.
func (z *zset) first(x *keys.Elements) (float64, error) {
	for item, err := range z.c.Raw().Scan(x.Order(), strictkv.Range{Limit: 1, KeysOnly: true}) {
		if err != nil {
			return 0, err
		}
		e, _, err := parseOrder(item.Key)
		return e.score, err
	}
	return 0, damaged("no member in the order")
}

// alike puts long members in order that begin alike.
type alike struct {
	reverse bool
	yield   func(entry, error) bool
	begin   entry
	tied    []entry
}

// add keeps an entry until another does not begin alike. It reports whether to go on.
func (a *alike) add(begin, e entry) bool {
	if len(a.tied) > 0 && compare(a.begin, begin) != 0 && !a.flush() {
		return false
	}
	a.begin, a.tied = begin, append(a.tied, e)
	return true
}

// flush yields what was kept, in order. It reports whether to go on.
func (a *alike) flush() bool {
	tied := a.tied
	a.tied = nil
	slices.SortFunc(tied, func(x, y entry) int {
		if a.reverse {
			x, y = y, x
		}
		return bytes.Compare(x.member, y.member)
	})
	for _, e := range tied {
		if !a.yield(e, nil) {
			return false
		}
	}
	return true
}

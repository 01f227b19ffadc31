package zsetcmd

import (
	"slices"

	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// Limits above which a set becomes a large one. Tests lower them.
var (
	smallMax      = keys.SmallMax
	smallElements = 128
)

// growMax is how many members a set may have to be written as a large one at once: there are nodes
// to write, too.
const growMax = 800

// zset is the value of a key, in one run. What is changed is kept in memory until save; ranks and
// slices don't see it.
type zset struct {
	c     *command.Call
	key   []byte
	entry keys.Entry
	n     int // changes included

	small   []entry             // in order
	header  treeHeader          // of a large one
	large   *tree               // if it has been asked for
	found   map[string]*float64 // scores that were looked up; nil is no member
	changes map[string]*float64 // nil is removed
}

// open reads the set of a key. It is empty if there is none.
func open(c *command.Call, key []byte) (*zset, error) {
	e, err := c.Value(key, keys.SortedSet)
	if err != nil {
		return nil, err
	}
	z := &zset{c: c, key: key, entry: e}
	switch {
	case e.Large:
		z.header, err = decodeHeader(e.Header())
		z.n = z.header.n
	case !e.Absent():
		z.small, err = decode(e.Body)
		z.n = len(z.small)
	}
	return z, err
}

// replace is the set that a key is to have in place of what it has.
func replace(c *command.Call, key []byte, entries []entry) (*zset, error) {
	for i := range entries {
		if len(entries[i].member) > keys.NameMax { // of a plain set
			return nil, keys.ErrNameTooLong
		}
		entries[i].score = plus(entries[i].score)
	}
	z := &zset{c: c, key: key, small: entries, n: len(entries)}
	slices.SortFunc(z.small, compare)
	return z, z.save()
}

func (z *zset) absent() bool { return z.entry.Absent() }

// size is how many members there are without changes.
func (z *zset) size() int {
	if z.entry.Large {
		return z.header.n
	}
	return len(z.small)
}

// entries are all members, in order.
func (z *zset) entries() ([]entry, error) { return z.slice(0, z.size(), false) }

// look reads the scores of members, in one wave if the set is large.
func (z *zset) look(members ...[]byte) error {
	if z.found == nil {
		z.found = make(map[string]*float64, max(len(members), len(z.small)))
		for i := range z.small {
			z.found[string(z.small[i].member)] = &z.small[i].score
		}
	}
	if !z.entry.Large {
		return nil
	}
	var names [][]byte
	for _, m := range members {
		if _, known := z.found[string(m)]; !known {
			names = append(names, m)
		}
	}
	if len(names) == 0 {
		return nil
	}
	values, err := z.elements().ReadMulti(names)
	if err != nil {
		return err
	}
	for i, v := range values {
		z.found[string(names[i])] = nil
		if v == nil {
			continue
		}
		score, err := cutScore(v)
		if err != nil {
			return err
		}
		z.found[string(names[i])] = &score
	}
	return nil
}

// score is that of a member, changes included, and whether it is one.
func (z *zset) score(member []byte) (float64, bool, error) {
	score, changed := z.changes[string(member)]
	if !changed {
		if err := z.look(member); err != nil {
			return 0, false, err
		}
		score = z.found[string(member)]
	}
	if score == nil {
		return 0, false, nil
	}
	return *score, true, nil
}

// set gives a member a score. Whether it is one must have been asked.
func (z *zset) set(member []byte, score float64, is bool) {
	score = plus(score)
	if !is {
		z.n++
	}
	z.change(member, &score)
}

// remove removes a member, which must be one.
func (z *zset) remove(member []byte) {
	z.n--
	z.change(member, nil)
}

func (z *zset) change(member []byte, score *float64) {
	if z.changes == nil {
		z.changes = map[string]*float64{}
	}
	z.changes[string(member)] = score
}

// span is the ranks of a range: from the first to below the last.
func (z *zset) span(b bounds) (from, to int, err error) {
	if b.by == byRank {
		return 0, z.size(), nil
	}
	if from, err = z.rank(b.below); err != nil {
		return 0, 0, err
	}
	to, err = z.rank(func(e entry) bool { return !b.above(e) })
	return from, max(from, to), err
}

// rank is how many members there are for which below is true: those before a place.
func (z *zset) rank(below func(entry) bool) (int, error) {
	if z.entry.Large {
		return z.order().rank(below)
	}
	at, _ := slices.BinarySearchFunc(z.small, below, side)
	return at, nil
}

// slice is the members from one rank to below another, in order or in reverse.
func (z *zset) slice(from, to int, reverse bool) (entries []entry, err error) {
	if z.entry.Large {
		entries, err = z.order().slice(from, to)
	} else {
		entries = slices.Clone(z.small[from:max(from, to)])
	}
	if reverse {
		slices.Reverse(entries)
	}
	return entries, err
}

// save writes what has changed.
func (z *zset) save() error {
	if z.n == 0 {
		_, err := z.c.Delete(z.key)
		return err
	}
	if z.entry.Large {
		if done, err := z.saveLarge(); done || err != nil {
			return err
		}
	} else {
		z.merge()
	}
	body := encode(z.small)
	above := len(body) > smallMax || z.n > smallElements
	if above && z.n <= growMax && z.c.Grows(z.n) {
		return z.grow()
	}
	z.entry.Kind, z.entry.Large, z.entry.Body = keys.SortedSet, false, body
	return z.c.Set(z.key, z.entry)
}

// merge changes the members of a small set.
func (z *zset) merge() {
	kept := make([]entry, 0, z.n)
	for _, e := range z.small {
		if _, changed := z.changes[string(e.member)]; !changed {
			kept = append(kept, e)
		}
	}
	for member, score := range z.changes {
		if score != nil {
			kept = append(kept, entry{[]byte(member), *score})
		}
	}
	slices.SortFunc(kept, compare)
	z.small, z.changes = kept, nil
}

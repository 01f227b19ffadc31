package typed_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/typed"
)

const (
	modelHandles = 4
	modelTxs     = 60 // of each handle
	modelOps     = 5  // of a transaction, at most
)

// calls are what a transaction does with a collection of users: the real one, or the model.
type calls interface {
	get(k string) string
	getMulti(ks ...string) string
	set(k string, v user) error
	insert(k string, v user) error
	delete(k string) error
	update(k string, tag string) error
	scan(from string, reverse bool, limit int) string
	byMail(mail string) string
	byTag(tag string, reverse bool, limit int) string
	byN(from int, reverse bool) string
}

// real is a collection within a transaction.
type real struct {
	u  users
	tx *strictkv.Tx
}

// failed is an error that ends a run of a transaction's function: one that will be run again may
// see an entry without its value.
type failed struct{ error }

func must(err error) {
	if err != nil {
		panic(failed{err})
	}
}

func (c real) get(k string) string {
	v, ok, err := c.u.Get(c.tx, k)
	must(err)
	return fmt.Sprint(v, ok)
}

func (c real) getMulti(ks ...string) string {
	found, err := c.u.ReadMulti(c.tx, ks...)
	must(err)
	return fmt.Sprint(found)
}

func (c real) set(k string, v user) error    { return c.u.Set(c.tx, k, v) }
func (c real) insert(k string, v user) error { return c.u.Insert(c.tx, k, v) }
func (c real) delete(k string) error         { return c.u.Delete(c.tx, k) }

func (c real) update(k, tag string) error {
	return c.u.Update(c.tx, k, func(old user, ok bool) (user, error) {
		if ok && old.N%3 == 0 {
			return old, strictkv.Remove
		}
		old.N++
		old.Tags = append(old.Tags[:min(1, len(old.Tags))], tag)
		return old, nil
	})
}

func (c real) scan(from string, reverse bool, limit int) string {
	s := ""
	r := typed.Range[string]{From: &from, Reverse: reverse, Limit: limit}
	for i, err := range c.u.Scan(c.tx, r) {
		must(err)
		s += fmt.Sprint(i)
	}
	return s
}

func (c real) byMail(mail string) string {
	k, v, ok, err := c.u.mail.Get(c.tx, mail)
	must(err)
	return fmt.Sprint(k, v, ok)
}

func (c real) byTag(tag string, reverse bool, limit int) string {
	s, r := "", typed.Range[string]{Reverse: reverse, Limit: limit}
	for i, err := range c.u.tags.Find(c.tx, tag, r) {
		must(err)
		s += fmt.Sprint(i)
	}
	return s
}

func (c real) byN(from int, reverse bool) string {
	s := ""
	for e, err := range c.u.n.Scan(c.tx, typed.Range[int]{From: &from, Reverse: reverse}) {
		must(err)
		s += fmt.Sprint(e)
	}
	return s
}

// model is the same as a Go map.
type model map[string]user

func (m model) get(k string) string {
	v, ok := m[k]
	return fmt.Sprint(v, ok)
}

func (m model) getMulti(ks ...string) string {
	var all []typed.Found[user]
	for _, k := range ks {
		v, ok := m[k]
		all = append(all, typed.Found[user]{Value: v, OK: ok})
	}
	return fmt.Sprint(all)
}

func (m model) set(k string, v user) error {
	for other, o := range m {
		if other != k && v.Mail != "" && o.Mail == v.Mail {
			return typed.ErrNotUnique
		}
	}
	m[k] = v
	return nil
}

func (m model) insert(k string, v user) error {
	if _, ok := m[k]; ok {
		return strictkv.ErrExists
	}
	return m.set(k, v)
}

func (m model) delete(k string) error {
	delete(m, k)
	return nil
}

func (m model) update(k, tag string) error {
	old, ok := m[k]
	if ok && old.N%3 == 0 {
		return m.delete(k)
	}
	old.N++
	old.Tags = append(slices.Clone(old.Tags[:min(1, len(old.Tags))]), tag)
	m[k] = old
	return nil
}

// sorted are the keys in order, or backwards.
func (m model) sorted(reverse bool) []string {
	ks := slices.Sorted(maps.Keys(m))
	if reverse {
		slices.Reverse(ks)
	}
	return ks
}

func (m model) scan(from string, reverse bool, limit int) string {
	s, n := "", 0
	for _, k := range m.sorted(reverse) {
		if k >= from && (limit == 0 || n < limit) {
			n++
			s += fmt.Sprint(typed.Item[string, user]{Key: k, Value: m[k]})
		}
	}
	return s
}

func (m model) byMail(mail string) string {
	for k, v := range m {
		if v.Mail == mail {
			return fmt.Sprint(k, v, true)
		}
	}
	return fmt.Sprint("", user{}, false)
}

func (m model) byTag(tag string, reverse bool, limit int) string {
	s, n := "", 0
	for _, k := range m.sorted(reverse) {
		if slices.Contains(m[k].Tags, tag) && (limit == 0 || n < limit) {
			n++
			s += fmt.Sprint(typed.Item[string, user]{Key: k, Value: m[k]})
		}
	}
	return s
}

func (m model) byN(from int, reverse bool) string {
	var all []typed.Entry[int, string, user]
	for k, v := range m {
		if v.N >= from {
			all = append(all, typed.Entry[int, string, user]{Index: v.N, Key: k, Value: v})
		}
	}
	slices.SortFunc(all, func(a, b typed.Entry[int, string, user]) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), strings.Compare(a.Key, b.Key))
	})
	if reverse {
		slices.Reverse(all)
	}
	s := ""
	for _, e := range all {
		s += fmt.Sprint(e)
	}
	return s
}

// play does what a seed says, and tells what came of it. The first call that is refused since
// something is not unique ends it.
func play(seed uint64, c calls) (told []string, err error) {
	r := rand.New(rand.NewPCG(seed, 1))
	key := func() string { return string(rune('a' + r.IntN(6))) }
	tag := func() string { return [...]string{"", "\x00", "p", "p\x00q"}[r.IntN(4)] }
	mail := func() string { return string(rune('A' + r.IntN(8))) }
	for range 1 + r.IntN(modelOps) {
		k, v := key(), user{Mail: mail(), Tags: []string{tag(), tag()}, N: r.IntN(9) - 4}
		if r.IntN(3) == 0 {
			v.Mail = ""
		}
		op, limit, reverse := r.IntN(11), r.IntN(3), r.IntN(2) == 0
		var err error
		was := ""
		switch op {
		case 0:
			was = c.get(k)
		case 1:
			was = c.getMulti(k, key(), k)
		case 2, 3:
			err = c.set(k, v)
		case 4, 5:
			err = c.insert(k, v)
		case 6:
			err = c.delete(k)
		case 7:
			err = c.update(k, tag())
		case 8:
			was = c.scan(k, reverse, limit)
		case 9:
			was = c.byMail(mail()) + c.byTag(tag(), reverse, limit)
		case 10:
			was = c.byN(v.N, reverse)
		}
		switch {
		case errors.Is(err, typed.ErrNotUnique):
			return append(told, "not unique"), err
		case errors.Is(err, strictkv.ErrExists):
			was = "exists"
		case err != nil:
			return nil, err
		}
		told = append(told, fmt.Sprint(op, " ", was))
	}
	return told, nil
}

// played is a transaction that has ended: its seed, what it was told, and its place in the order
// of those that committed. One that was refused has seen the state between two of them.
type played struct {
	seed    uint64
	told    []string
	place   int
	refused bool
}

// TestModel runs random transactions from several handles, which conflict, and then does the same
// with a map, in the order in which they committed: all they were told must be the same. Each
// counts a counter up, so that the order is known.
func TestModel(t *testing.T) {
	for name, store := range map[string]func() backend.Backend{
		"memory": func() backend.Backend { return memory.New() },
		"folder": func() backend.Backend { return folder.New(t.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) { checkModel(t, store()) })
	}
}

func checkModel(t *testing.T, store backend.Backend) {
	var mu sync.Mutex
	var all []played
	var group errgroup.Group
	first := usersOf(open(t, store))
	for h := range modelHandles {
		u := usersOf(open(t, store))
		group.Go(func() error {
			for i := range modelTxs {
				p := played{seed: uint64(h*modelTxs + i)}
				err := p.run(t, u)
				p.refused = errors.Is(err, typed.ErrNotUnique)
				if err != nil && !p.refused {
					return err
				}
				mu.Lock()
				all = append(all, p)
				mu.Unlock()
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	slices.SortStableFunc(all, func(a, b played) int {
		if a.place == b.place { // who was refused has seen the counter before it was counted up
			return cmp.Compare(b.refusal(), a.refusal())
		}
		return cmp.Compare(a.place, b.place)
	})
	m, refused := model{}, 0
	for _, p := range all {
		c := maps.Clone(m)
		told, err := play(p.seed, c)
		require.Equal(t, told, p.told, "transaction %d, at place %d", p.seed, p.place)
		if p.refused {
			require.ErrorIs(t, err, typed.ErrNotUnique)
			refused++
			continue
		}
		require.NoError(t, err)
		m = c
	}
	assert.NotZero(t, refused)
	assert.Less(t, refused, len(all)/2, "most commit")
	first.inStep(t)
	first.agrees(t)
	inTx(t, first.Raw().DB(), func(tx *strictkv.Tx) {
		assert.Equal(t, m.scan("", false, 0), real{first, tx}.scan("", false, 0))
	})
}

func (p *played) refusal() int {
	if p.refused {
		return 1
	}
	return 0
}

func (p *played) run(t *testing.T, u users) error {
	db := u.Raw().DB()
	places := typed.New(db.Collection([]byte("places")), typed.String[string](), typed.JSON[int]())
	return db.Tx(t.Context(), func(tx *strictkv.Tx) (err error) {
		defer func() {
			switch r := recover().(type) {
			case nil:
			case failed:
				err = r.error
			default:
				panic(r)
			}
		}()
		n, _, err := places.Get(tx, "last")
		if err != nil {
			return err
		}
		if p.told, err = play(p.seed, real{u, tx}); errors.Is(err, typed.ErrNotUnique) {
			p.place = n + 1
			return err
		}
		if err != nil {
			return err
		}
		p.place = n + 1
		return places.Set(tx, "last", n+1)
	})
}

package replica

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/strictkv/strictkv"
)

// disk is a storage in memory that outlives who has it open, and loses what a crash does.
type disk struct {
	mu      sync.Mutex
	pairs   pairs
	durable pairs // as of the last durable batch
	// left is how many batches it takes until it crashes; negative is no end.
	left int
}

// pairs are in the order of keys, and never changed.
type pairs []pair

type pair struct {
	key   string
	value []byte
}

func newDisk() *disk { return &disk{left: -1} }

var errCrash = errors.New("crash")

func (p pairs) find(key []byte) (int, bool) {
	return sort.Find(len(p), func(i int) int { return strings.Compare(string(key), p[i].key) })
}

func (p pairs) get(key []byte, use func([]byte) error) error {
	i, ok := p.find(key)
	if !ok {
		return errAbsent
	}
	return use(slices.Clone(p[i].value))
}

func (p pairs) cursor(from, to []byte) (cursor, error) {
	i, _ := p.find(from)
	j, _ := p.find(to)
	return &walk{p[i:max(i, j)], -1}, nil
}

func (pairs) close() error { return nil }

func (p pairs) apply(ops []op) pairs {
	all := map[string][]byte{}
	for _, x := range p {
		all[x.key] = x.value
	}
	for _, o := range ops {
		switch o.kind {
		case opSet:
			all[string(o.key)] = bytes.Clone(o.value)
		case opDelete:
			delete(all, string(o.key))
		case opDeleteRange:
			for k := range all {
				if k >= string(o.key) && k < string(o.value) {
					delete(all, k)
				}
			}
		}
	}
	next := make(pairs, 0, len(all))
	for k, v := range all {
		next = append(next, pair{k, v})
	}
	slices.SortFunc(next, func(x, y pair) int { return strings.Compare(x.key, y.key) })
	return next
}

func (d *disk) now() pairs {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pairs
}

func (d *disk) get(key []byte, use func([]byte) error) error { return d.now().get(key, use) }
func (d *disk) cursor(from, to []byte) (cursor, error)       { return d.now().cursor(from, to) }
func (d *disk) snapshot() (snapshot, error)                  { return d.now(), nil }
func (*disk) close() error                                   { return nil }

func (d *disk) commit(b *batch, durable bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		return errCrash
	}
	d.left = max(d.left-1, -1)
	d.pairs = d.pairs.apply(b.ops)
	if durable {
		d.durable = d.pairs
	}
	return nil
}

// crash loses what was not durable.
func (d *disk) crash() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pairs, d.left = d.durable, -1
}

type walk struct {
	pairs
	at int
}

func (w *walk) to(i int) bool {
	w.at = max(min(i, len(w.pairs)), -1)
	return w.at >= 0 && w.at < len(w.pairs)
}

func (w *walk) first() bool            { return w.to(0) }
func (w *walk) last() bool             { return w.to(len(w.pairs) - 1) }
func (w *walk) next() bool             { return w.to(w.at + 1) }
func (w *walk) prev() bool             { return w.to(w.at - 1) }
func (w *walk) key() []byte            { return []byte(w.pairs[w.at].key) }
func (w *walk) value() ([]byte, error) { return slices.Clone(w.pairs[w.at].value), nil }

// openOn opens a Replica on a disk in memory.
func openOn(ctx context.Context, db *strictkv.DB, d *disk, o Options) (*Replica, error) {
	o, err := o.prepared(db)
	if err != nil {
		return nil, err
	}
	r := newReplica(db, o)
	r.open = func() (storage, error) { return d, nil }
	r.discard = func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.pairs, d.durable = nil, nil
		return nil
	}
	return r, r.start(ctx, "")
}

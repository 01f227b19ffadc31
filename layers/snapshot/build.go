package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"

	"github.com/strictkv/strictkv/layers/snapshot/internal/table"
)

// sortedMax is how many bytes of keys and values a Build sorts in memory, each with entryMemory
// more, which is about what the entry itself takes.
const (
	sortedMax   = 64 << 20
	entryMemory = 96
)

// runsMax bounds the sorted runs of a Build, 640 GiB.
const runsMax = 10_000

// Build saves what a sequence yields as a snapshot, and returns its name. Keys in order are written
// as they come; others are sorted, 64 MiB of memory at a time, in files beside the snapshots, or
// those for temporary files if that is a bucket: each byte is then written twice. Of a key that
// comes twice, the last value counts. A process that dies may leave files named *.saving among the
// temporary ones. What the sequence yields may be reused as soon as it goes on.
//
// Errors: ErrInvalid for a key that is not 1 to 4096 bytes long, or a value of more than 64 MiB;
// ErrBusy, the store's, and ctx's.
func Build(ctx context.Context, s Store, seq iter.Seq2[[]byte, []byte]) (string, error) {
	var name string
	err := saving(ctx, s, func(in session) (err error) {
		b := &building{ctx: ctx, in: in}
		defer func() { err = errors.Join(err, b.close()) }()
		if err := b.take(seq); err != nil {
			return err
		}
		name, err = b.finish()
		return err
	})
	if err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	return name, nil
}

// saving runs f in a session.
func saving(ctx context.Context, s Store, f func(session) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	in, err := s.begin(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(in), in.end())
}

// output is a file that is being saved.
type output struct {
	draft draft
	w     *table.Writer
}

func create(in session) (*output, error) {
	d, err := in.create()
	if err != nil {
		return nil, err
	}
	return &output{d, table.NewWriter(d.segment)}, nil
}

// restart forgets what was written.
func (o *output) restart() error {
	o.w = table.NewWriter(o.draft.segment)
	return o.draft.restart()
}

// publish makes the file be there, under the name of its content.
func (o *output) publish(m table.Meta) (name string, err error) {
	tail, sum, err := o.w.Finish(m)
	if err != nil {
		return "", err
	}
	name = hex.EncodeToString(sum[:])
	return name, o.draft.publish(kindContent, name, tail)
}

// building is a Build: keys go to a first run, which becomes the snapshot if all of them are in
// order; what comes behind a key that is not, is sorted in memory, and becomes further runs.
type building struct {
	ctx    context.Context
	in     session
	first  *output
	last   []byte
	sorted bool // so far

	memory []table.Entry
	bytes  int
	runs   []*table.File // the newest first
	paths  []string
}

func (b *building) take(seq iter.Seq2[[]byte, []byte]) (err error) {
	if b.first, err = create(b.in); err != nil {
		return err
	}
	b.sorted = true
	for key, value := range seq {
		e := table.Entry{Key: key, Value: value}
		if err := e.Check(); err != nil {
			return err
		}
		if b.sorted = b.sorted && (b.last == nil || bytes.Compare(key, b.last) > 0); b.sorted {
			b.last = append(b.last[:0], key...)
			err = b.first.w.Add(e)
		} else {
			err = b.keep(e)
		}
		if err == nil && (b.first.w.Entries()+int64(len(b.memory)))%scanCheckEvery == 0 {
			err = b.ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return b.ctx.Err()
}

func (b *building) keep(e table.Entry) error {
	e.Key, e.Value = bytes.Clone(e.Key), bytes.Clone(e.Value)
	b.memory = append(b.memory, e)
	if b.bytes += len(e.Key) + len(e.Value) + entryMemory; b.bytes < sortedMax {
		return nil
	}
	return b.spill()
}

// spill writes what is in memory into a run.
func (b *building) spill() (err error) {
	if len(b.runs) >= runsMax {
		return fmt.Errorf("more than %d runs of %d bytes: %w", runsMax, sortedMax, ErrInvalid)
	}
	f, err := os.CreateTemp(b.in.scratch(), "*."+kindSaving)
	if err != nil {
		return err
	}
	b.paths = append(b.paths, f.Name())
	w := table.NewWriter(func(segment []byte, _ table.Sum) error {
		_, err := f.Write(segment)
		return err
	})
	for _, e := range b.ordered() {
		if err = w.Add(e); err != nil {
			break
		}
	}
	if err == nil {
		var tail []byte
		if tail, _, err = w.Finish(table.Meta{}); err == nil {
			_, err = f.Write(tail)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	run, err := table.OpenFile(f.Name())
	if err == nil {
		b.runs = slices.Insert(b.runs, 0, run)
	}
	clear(b.memory)
	b.memory, b.bytes = b.memory[:0], 0
	return err
}

// ordered is what is in memory, sorted; of equal keys the last.
func (b *building) ordered() []table.Entry {
	slices.Reverse(b.memory)
	slices.SortStableFunc(b.memory, func(x, y table.Entry) int {
		return bytes.Compare(x.Key, y.Key)
	})
	b.memory = slices.CompactFunc(b.memory, func(x, y table.Entry) bool {
		return bytes.Equal(x.Key, y.Key)
	})
	return b.memory
}

// finish makes one file of all.
func (b *building) finish() (string, error) {
	if b.sorted {
		return b.first.publish(table.Meta{Length: -1})
	}
	tail, _, err := b.first.w.Finish(table.Meta{})
	if err != nil {
		return "", err
	}
	if err := b.spill(); err != nil {
		return "", err
	}
	run, err := b.first.draft.reopen(tail)
	if err != nil {
		return "", err
	}
	b.runs = append(b.runs, run)
	out, err := create(b.in)
	if err != nil {
		return "", err
	}
	h := newHeap(b.ctx, b.runs)
	for {
		e, ok := h.next()
		if !ok {
			break
		}
		if err := out.w.Add(e); err != nil {
			return "", err
		}
	}
	if err := h.err(); err != nil {
		return "", err
	}
	return out.publish(table.Meta{Length: -1})
}

func (b *building) close() (err error) {
	for _, r := range b.runs {
		err = errors.Join(err, r.Close())
	}
	for _, p := range b.paths {
		err = errors.Join(err, os.Remove(p))
	}
	return err
}

// runHeap merges many runs; of equal keys the first run's counts.
type runHeap struct {
	cursors []*table.Cursor
	order   []int // a heap of those that are not at their end
	last    []byte
	failed  error
}

func newHeap(ctx context.Context, runs []*table.File) *runHeap {
	h := &runHeap{}
	for i, r := range runs {
		c := r.Cursor(ctx)
		c.Seek(nil)
		h.cursors = append(h.cursors, c)
		if c.Entry() != nil {
			h.order = append(h.order, i)
		}
		h.failed = cmp.Or(h.failed, c.Err())
	}
	for i := len(h.order)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
	return h
}

func (h *runHeap) less(x, y int) bool {
	c := bytes.Compare(h.cursors[x].Entry().Key, h.cursors[y].Entry().Key)
	return c < 0 || c == 0 && x < y
}

func (h *runHeap) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(h.order) {
			return
		}
		if c+1 < len(h.order) && h.less(h.order[c+1], h.order[c]) {
			c++
		}
		if !h.less(h.order[c], h.order[i]) {
			return
		}
		h.order[i], h.order[c] = h.order[c], h.order[i]
		i = c
	}
}

// next is the next entry of all.
func (h *runHeap) next() (table.Entry, bool) {
	for len(h.order) > 0 && h.failed == nil {
		c := h.cursors[h.order[0]]
		e := *c.Entry()
		if c.Next(); c.Entry() == nil {
			n := len(h.order) - 1
			h.order[0], h.order = h.order[n], h.order[:n]
			h.failed = c.Err()
		}
		h.down(0)
		if !bytes.Equal(e.Key, h.last) {
			h.last = e.Key
			return e, true
		}
	}
	return table.Entry{}, false
}

func (h *runHeap) err() error { return h.failed }

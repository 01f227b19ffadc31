package sweep_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/sweep"
)

// rested is longer than a damaged object must have been as it is.
const rested = 2 * time.Hour

func (w *world) repair(o sweep.CheckOptions) sweep.CheckReport {
	w.T.Helper()
	o.Repair, o.Database = true, "db"
	r, err := sweep.NewChecker(w.st, w.rs, o).Check(background)
	require.NoError(w.T, err)
	return r
}

// probed opens a handle that knows that the store honours the condition of a DELETE.
func (w *world) probed() {
	w.probe = store.ProbeOnce
	w.open()
}

// rot damages cells.
func (w *world) rot(names ...string) {
	for _, name := range names {
		o, err := w.Mem.Get(background, prefix+name, "")
		require.NoError(w.T, err)
		data := append([]byte{}, o.Data...)
		data[len(data)-1] ^= 1
		w.PutData(name, data)
	}
}

// effective is a key's value, as a new handle sees it.
func (w *world) effective(name string) string {
	w.T.Helper()
	w.open()
	rd, err := w.rs.Effective(background, name, resolve.Role{})
	require.NoError(w.T, err)
	v, _ := rd.Effective()
	return string(v.Data)
}

// outcome are the values of keys, as handles see them that come one after another.
func (w *world) outcome(names ...string) string {
	var values []string
	for _, name := range names {
		values = append(values, w.effective(name))
	}
	return strings.Join(values, " ")
}

// torn are attempts with a damaged member =b, in every state of the others, and what must
// become of =a and =c: both are new, or both are old.
var torn = []struct {
	name  string
	make  func(w *world)
	alone bool // nobody can tell, unless nobody else is there
	want  string
}{
	{"staged, all landed", func(w *world) {
		w.Rival(2, cell.Staged, "=a", "=b", "=c").Place("=a", "=b", "=c")
	}, true, "v v"},
	{"staged, one folded", func(w *world) {
		w.Rival(2, cell.Staged, "=a", "=b", "=c").Place("=a", "=b", "=c").Fold("=a")
	}, false, "new new"},
	{"staged, the damaged one folded", func(w *world) {
		w.Rival(2, cell.Staged, "=a", "=b", "=c").Place("=a", "=b", "=c").Fold("=b")
	}, true, "v v"},
	{"staged, all others folded", func(w *world) {
		w.Rival(2, cell.Staged, "=a", "=b", "=c").Place("=a", "=b", "=c").Fold("=a", "=c")
	}, false, "new new"},
	{"staged, one not landed", func(w *world) {
		w.Rival(2, cell.Staged, "=a", "=b", "=c").Place("=a", "=b")
	}, true, "v v"},
	{"pending, the primary is well", func(w *world) {
		w.Rival(2, cell.Pending, "=a", "=b", "=c").Place("=a", "=b", "=c")
	}, false, "v v"},
	{"pending, the primary is well, and has committed", func(w *world) {
		w.Rival(2, cell.Pending, "=a", "=b", "=c").Place("=a", "=b", "=c").Fold("=a")
	}, false, "new new"},
	{"pending, the primary is damaged", func(w *world) {
		w.Rival(2, cell.Pending, "=b", "=a", "=c").Place("=a", "=b", "=c")
	}, true, "v v"},
	{"pending, the primary is damaged, and had committed", func(w *world) {
		w.Rival(2, cell.Pending, "=b", "=a", "=c").Place("=a", "=b", "=c").Fold("=b")
	}, true, "v v"},
	{"pending, the primary is damaged, another is folded", func(w *world) {
		w.Rival(2, cell.Pending, "=b", "=a", "=c").Place("=a", "=b", "=c").Fold("=b", "=a")
	}, false, "new new"},
}

// TestRepairTearsNothingApart: whatever became of an attempt, its other members agree about
// it, before and after a repair; and whom only the damaged object could tell keep it in place.
func TestRepairTearsNothingApart(t *testing.T) {
	for _, x := range torn {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=c")
				x.make(w)
				w.rot("=b")
				pass(rested)
				r := w.repair(sweep.CheckOptions{})
				p := r.Problems[0]
				for _, q := range r.Problems {
					if q.Object == prefix+"=b" {
						p = q
					}
				}
				if x.alone {
					assert.Empty(t, p.MovedTo)
					assert.Contains(t, p.Left, "nobody can tell")
					w.open()
					r = w.repair(sweep.CheckOptions{Alone: true})
				} else {
					assert.NotEmpty(t, p.MovedTo, p.Left)
				}
				assert.EqualValues(t, 1, r.Moved)
				assert.Equal(t, x.want, w.outcome("=a", "=c"))
				assert.Equal(t, x.want, w.outcome("=a", "=c"))
				assert.Empty(t, w.effective("=b"))
				pass(time.Minute)
				assert.Empty(t, w.check().Problems)
			})
		})
	}
}

// TestRepairKeepsWhatItMoves: the copy has the object's bytes, and those of its external
// value, and nothing removes it.
func TestRepairKeepsWhatItMoves(t *testing.T) {
	inWorld(t, func(w *world) {
		w.probed()
		v := w.external("=k", 7)
		w.Write(1, cell.Put, v, "=k")
		w.rot("=k")
		w.PutData("=k (1)", []byte("a stray"))
		w.PutData("thumbs.db", []byte("another"))
		bytes := map[string]bool{}
		for name := range w.all() {
			o, err := w.Mem.Get(background, name, "")
			require.NoError(t, err)
			bytes[string(o.Data)] = true
		}
		pass(rested)
		dry := w.repair(sweep.CheckOptions{DryRun: true})
		assert.Len(t, w.all(), len(bytes), "a dry run writes nothing")
		w.open()
		r := w.repair(sweep.CheckOptions{})
		assert.EqualValues(t, 3, r.Moved)
		assert.Equal(t, dry.Moved, r.Moved)
		for i, p := range r.Problems {
			assert.Empty(t, p.Left, p.Object)
			assert.Equal(t, dry.Problems[i].MovedTo, p.MovedTo)
			assert.True(t, strings.HasPrefix(p.MovedTo, prefix+"lost/"))
			assert.True(t, strings.HasSuffix(p.MovedTo, strings.TrimPrefix(p.Object, prefix)))
		}
		for range 3 {
			w.open()
			w.sweepAs(sweep.Options{Horizon: -1})
		}
		for name := range w.all() {
			o, err := w.Mem.Get(background, name, "")
			require.NoError(t, err)
			delete(bytes, string(o.Data))
		}
		assert.Empty(t, bytes, "what is gone")
		again := w.check()
		assert.Empty(t, again.Problems)
		assert.EqualValues(t, 4, again.Lost)
	})
}

// all are the names of all objects.
func (w *world) all() map[string]bool {
	page, err := w.Mem.List(background, backend.ListOptions{})
	require.NoError(w.T, err)
	names := map[string]bool{}
	for _, info := range page.Objects {
		names[info.Name] = true
	}
	return names
}

// TestRepairLeaves what it must not touch, and says why.
func TestRepairLeaves(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=young", "=newer", "=changed")
		w.rot("=changed")
		o, err := w.Mem.Get(background, prefix+"=newer", "")
		require.NoError(t, err)
		data := append([]byte{}, o.Data...)
		data[4] = 99
		w.PutData("=newer", data)
		pass(rested)
		w.rot("=young")
		w.hook(faulty.Put, "=changed", func() error {
			w.PutData("=changed", []byte("by another"))
			return nil
		})
		r := w.repair(sweep.CheckOptions{})
		left := map[string]string{}
		for _, p := range r.Problems {
			left[p.Object] = p.Left
			assert.Empty(t, p.MovedTo)
		}
		assert.Equal(t, map[string]string{
			prefix + "=newer":   "",
			prefix + "=young":   "it was written less than 1h0m0s ago",
			prefix + "=changed": "left: it has changed meanwhile",
		}, left)
		assert.Zero(t, r.Moved)
	})
}

// TestRepairFailsHalfway: a copy that can't be made leaves the object; what was interrupted is
// done again under the same names.
func TestRepairFailsHalfway(t *testing.T) {
	inWorld(t, func(w *world) {
		w.probed()
		w.PutData("stray", []byte("a stray"))
		fail := errors.New("no")
		w.mu.Lock()
		w.before = func(op faulty.Op) error {
			if op.Kind == faulty.Delete {
				return errors.Join(fail, backend.ErrDenied)
			}
			return nil
		}
		w.mu.Unlock()
		r := w.repair(sweep.CheckOptions{})
		require.Len(t, r.Problems, 1)
		assert.Contains(t, r.Problems[0].Left, "no")
		w.open()
		w.mu.Lock()
		w.before = nil
		w.mu.Unlock()
		r = w.repair(sweep.CheckOptions{})
		assert.EqualValues(t, 1, r.Moved)
		assert.EqualValues(t, 1, r.Lost, "the copy was there")
		assert.Len(t, w.all(), 2, "meta and the copy")
		ctx, cancel := context.WithCancel(background)
		cancel()
		_, err := sweep.NewChecker(w.st, w.rs, sweep.CheckOptions{Repair: true}).Check(ctx)
		require.ErrorIs(t, err, context.Canceled)
	})
}

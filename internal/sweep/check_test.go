package sweep_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/sweep"
)

func (w *world) check() sweep.CheckReport {
	w.T.Helper()
	r, err := sweep.NewChecker(w.st, w.rs, sweep.CheckOptions{}).Check(background)
	require.NoError(w.T, err)
	return r
}

// unlink removes the object of an external value.
func (w *world) unlink(cellName string, v cell.Value) {
	w.Remove(keyspace.Value(cellName, v.Ref))
}

func TestCheckCounts(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=m0", "=m1", "=m2", "=m3")
		w.Write(1, cell.Put, w.external("=b", 2), "=b")
		w.tombstone(2, "=c")
		w.condemned("=d")
		w.condemnedV1("=e")
		w.place(20, w.external("=m0", 20), 2, "=m0", "=m1")
		w.place(21, w.external("=m2", 21), 1, "=m2", "=m3")
		w.external("=m1", 20) // that of each member is its own
		w.external("=a", 3)
		w.external("=gone", 4)
		w.PutData(keyspace.Clock(id(1).String()), nil)
		w.PutData(hint(1), []byte("whatever it holds"))
		r := w.check()
		assert.Empty(t, r.Problems)
		assert.Positive(t, r.Bytes)
		assert.Equal(t, sweep.CheckReport{
			Objects: 18, Bytes: r.Bytes, Values: 6, External: 1, Tombstones: 3, Condemned: 2,
			Committed: 2, Undecided: 1, Orphans: 2, OrphanBytes: int64(2 * len("external value 3")),
			Clocks: 1, Hints: 1,
		}, r)
	})
}

func TestCheckOfExternalValues(t *testing.T) {
	const name = "=a"
	overwrite := func(data string) func(w *world, v cell.Value) {
		return func(w *world, v cell.Value) {
			w.PutData(keyspace.Value(name, v.Ref), []byte(data))
		}
	}
	for _, x := range []struct {
		name    string
		harm    func(w *world, v cell.Value)
		problem string
	}{
		{"sound", func(*world, cell.Value) {}, ""},
		{"missing", func(w *world, v cell.Value) { w.unlink(name, v) }, "missing"},
		{"truncated", overwrite("external"), "8 bytes instead of 16"},
		{"changed", overwrite("External value 2"), "wrong checksum"},
		{"unlinked and removed while it is looked for", func(w *world, v cell.Value) {
			w.hook(faulty.Get, keyspace.Value(name, v.Ref), func() error {
				w.Value(3, name)
				w.unlink(name, v)
				return nil
			})
		}, ""},
	} {
		for kind, link := range map[string]func(w *world, v cell.Value){
			"value": func(w *world, v cell.Value) { w.Write(2, cell.Put, v, name) },
			"committed intent": func(w *world, v cell.Value) {
				w.Value(1, name, "=b")
				w.place(2, v, 2, name, "=b")
			},
		} {
			t.Run(x.name+" "+kind, func(t *testing.T) {
				inWorld(t, func(w *world) {
					v := w.external(name, 2)
					link(w, v)
					x.harm(w, v)
					o := sweep.CheckOptions{Prefix: name}
					r, err := sweep.NewChecker(w.st, w.rs, o).Check(background)
					require.NoError(t, err)
					if x.problem == "" {
						assert.Empty(t, r.Problems)
						return
					}
					require.Len(t, r.Problems, 1)
					assert.Equal(t, prefix+keyspace.Value(name, v.Ref), r.Problems[0].Object)
					assert.Contains(t, r.Problems[0].What, x.problem)
				})
			})
		}
	}
}

// Its client removes the value of an attempt that has failed.
func TestCheckMissesNoValueOfAnUndecidedIntent(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		v := w.external("=a", 2)
		w.place(2, v, 1, "=a", "=b")
		w.unlink("=a", v)
		assert.Empty(t, w.check().Problems)
	})
}

func TestCheckOfAValueThatCannotBeReached(t *testing.T) {
	inWorld(t, func(w *world) {
		v := w.external("=a", 2)
		w.Write(2, cell.Put, v, "=a")
		w.hook(faulty.Get, keyspace.Value("=a", v.Ref), func() error { return backend.ErrDenied })
		_, err := sweep.NewChecker(w.st, w.rs, sweep.CheckOptions{}).Check(background)
		assert.ErrorIs(t, err, backend.ErrDenied)
	})
}

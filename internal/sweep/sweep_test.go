package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/feed"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/sweep"
)

// none is a sweep without a horizon.
var none = sweep.Options{Horizon: -1}

func TestATombstoneGoesInTwoSteps(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=alive")
		w.Value(1, "=a")
		w.tombstone(2, "=a")
		pass(horizon)
		r := w.sweep()
		assert.Equal(t, int64(1), r.Waiting, "not older than the horizon")
		assert.Zero(t, r.Condemned)

		pass(time.Second)
		r = w.sweep()
		assert.Equal(t, int64(1), r.Condemned)
		got, _ := w.Cell("=a")
		assert.True(t, got.Condemned)
		assert.Equal(t, id(2), got.Writer, "otherwise it is as it was")

		pass(horizon)
		r = w.sweep()
		assert.Equal(t, int64(1), r.Waiting, "condemned for no longer than a horizon")
		assert.Contains(t, w.names(), "=a")

		pass(time.Second)
		r = w.sweep()
		assert.Equal(t, sweep.Report{Objects: 3, Bytes: r.Bytes, Tombstones: 1}, r)
		assert.Zero(t, w.sent(faulty.Get), "the listing tells all")
		assert.Equal(t, []string{"=alive"}, w.names())
	})
}

func TestAWriteLiftsTheCondemnation(t *testing.T) {
	inWorld(t, func(w *world) {
		w.condemned("=fenced", "=late")
		pass(horizon + time.Second)
		c, _ := w.Cell("=fenced")
		w.Put("=fenced", cell.Fence(c))
		w.hook(faulty.Delete, "=late", func() error { // after it was listed
			w.Value(5, "=late")
			return nil
		})
		r := w.sweep()
		assert.Zero(t, r.Tombstones)
		assert.Equal(t, int64(1), r.Changed)
		assert.Equal(t, int64(1), r.Waiting)
		assert.Equal(t, []string{"=fenced", "=late"}, w.names())
	})
}

func TestATombstoneThatChangesWhileItIsLookedAt(t *testing.T) {
	inWorld(t, func(w *world) {
		w.tombstone(2, "=a", "=b")
		pass(horizon + time.Second)
		w.hook(faulty.Get, "=a", func() error { w.tombstone(3, "=a"); return nil })
		r := w.sweepAs(sweep.Options{Horizon: horizon, Prefix: "=a"})
		assert.Equal(t, sweep.Report{Objects: 1, Bytes: r.Bytes, Changed: 1}, r,
			"what has been written since is young again")
		w.hook(faulty.Put, "=b", func() error { w.Value(3, "=b"); return nil })
		r = w.sweepAs(sweep.Options{Horizon: horizon, Prefix: "=b"})
		assert.Equal(t, sweep.Report{Objects: 1, Bytes: r.Bytes, Changed: 1}, r)
		got, _ := w.Cell("=b")
		assert.Equal(t, id(3), got.Writer)
	})
}

// The tombstone is what tells that attempt 50 has committed.
func TestMarksAreHelpedBeforeTheirTombstoneGoes(t *testing.T) {
	marked := func(w *world) {
		w.Value(1, "=a", "=b")
		w.place(50, cell.Value{}, 2, "=a", "=b")
		w.Fold("=a")
		c, _ := w.Cell("=a")
		require.Len(w.T, c.Marks, 1)
		pass(horizon + time.Second)
		b, _ := w.Cell("=b") // its intent is found young, so that only the mark leads there
		w.Put("=b", b)
	}
	for name, o := range map[string]sweep.Options{
		"with a horizon":               {Horizon: horizon},
		"without one, of a collection": {Horizon: -1, Prefix: "=a"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				marked(w)
				r := w.sweepAs(o)
				if o.Horizon < 0 {
					assert.Equal(t, int64(1), r.Tombstones)
					assert.NotContains(t, w.names(), "=a")
				} else {
					assert.Equal(t, int64(1), r.Condemned)
					a, _ := w.Cell("=a")
					assert.Empty(t, a.Marks)
					assert.True(t, a.Condemned)
				}
				b, _ := w.Cell("=b")
				assert.Nil(t, b.Intent)
				assert.Equal(t, id(50), b.Writer, "attempt 50 had committed")
			})
		})
		t.Run(name+", and the other member is out of reach", func(t *testing.T) {
			inWorld(t, func(w *world) {
				marked(w)
				_, version := w.Cell("=a")
				w.hook(faulty.Get, "=b", func() error { return backend.ErrDenied })
				r, err := w.try(background, o)
				require.ErrorIs(t, err, backend.ErrDenied)
				assert.Positive(t, r.Failed)
				_, now := w.Cell("=a")
				assert.Equal(t, version, now, "the mark stays")
			})
		})
	}
}

// A sweep without a horizon that could not settle an intent must not remove the mark that
// tells its outcome.
func TestNothingGoesUnreadWhereAnIntentIsLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.place(50, cell.Value{}, 2, "=a", "=b")
		w.Fold("=a")
		w.tombstone(2, "=c")
		w.hook(faulty.Put, "=b", func() error { return backend.ErrDenied })
		r, err := w.try(background, none)
		require.ErrorIs(t, err, backend.ErrDenied)
		assert.Equal(t, int64(1), r.Tombstones, "that without marks goes")
		assert.Equal(t, int64(2), r.Failed, "=b, and =a which waits for it")
		assert.Equal(t, []string{"=a", "=b"}, w.names())
		w.before = nil
		r = w.sweepAs(none)
		assert.Equal(t, int64(1), r.Settled)
		assert.Equal(t, int64(2), r.Tombstones)
		assert.Empty(t, w.names())
	})
}

func TestACondemnedTombstoneOfVersion1(t *testing.T) {
	inWorld(t, func(w *world) {
		w.condemnedV1("=a")
		pass(horizon)
		assert.Equal(t, int64(1), w.sweep().Waiting)
		pass(time.Second)
		assert.Equal(t, int64(1), w.sweep().Tombstones)
		assert.Empty(t, w.names())
	})
}

// A damaged object can have any size. It is evidence.
func TestWhatIsTooLargeForATombstoneIsNotRemovedUnread(t *testing.T) {
	for _, o := range []sweep.Options{{Horizon: horizon}, none} {
		inWorld(t, func(w *world) {
			w.PutData("=a", make([]byte, 4097))
			w.PutData("=b", make([]byte, 4099))
			pass(horizon + time.Second)
			r, err := w.try(background, o)
			require.ErrorIs(t, err, backend.ErrCorrupt)
			assert.Equal(t, int64(2), r.Failed)
			assert.Equal(t, []string{"=a", "=b"}, w.names())
		})
	}
}

func TestAbandonedIntents(t *testing.T) {
	for _, o := range []sweep.Options{{Horizon: horizon}, none} {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b", "=c", "=d")
			w.place(50, inline("committed"), 2, "=a", "=b")
			w.place(51, inline("undecided"), 1, "=c", "=d")
			if o.Horizon > 0 {
				pass(time.Minute)
				assert.Equal(t, int64(3), w.sweepAs(o).Waiting)
				assert.Zero(t, w.sent(faulty.Get))
				pass(time.Second)
			}
			start := time.Now()
			r := w.sweepAs(o)
			assert.Equal(t, int64(3), r.Settled)
			if o.Horizon > 0 {
				assert.GreaterOrEqual(t, time.Since(start), 2*time.Second, "it has patience")
			} else {
				assert.Less(t, time.Since(start), time.Second, "there is nobody to wait for")
			}
			for name, writer := range map[string]byte{"=a": 50, "=b": 50, "=c": 1, "=d": 1} {
				got, _ := w.Cell(name)
				assert.Nil(t, got.Intent, name)
				assert.Equal(t, id(writer), got.Writer, name)
			}
			assert.Zero(t, w.sweepAs(o).Settled)
		})
	}
}

func TestExternalValues(t *testing.T) {
	inWorld(t, func(w *world) {
		names := map[byte]string{}
		for n := range byte(6) {
			names[n] = keyspace.Value("=a", id(n).String())
		}
		w.Write(1, cell.Put, w.external("=a", 1), "=a")
		w.place(2, w.external("=a", 2), 1, "=a", "=other")
		w.external("=a", 3)
		w.external("=a", 4)
		pass(30 * time.Second)
		c, _ := w.Cell("=a")
		pass(horizon)
		w.Put("=a", c) // the intent is alive
		pass(time.Second)
		w.external("=a", 5)
		r := w.sweep()
		assert.Equal(t, int64(2), r.Values)
		assert.Equal(t, int64(len("external value 3")*2), r.ValueBytes)
		assert.Equal(t, 1, w.sent(faulty.Get), "the cell is read once for all")
		assert.Equal(t, []string{names[1], names[2], names[5], "=a"}, w.names())

		pass(horizon + time.Second)
		w.sweep() // kills attempt 2
		r = w.sweep()
		assert.Equal(t, int64(1), r.Values)
		assert.Equal(t, []string{names[1], "=a", "=other"}, w.names())
	})
}

func TestAnotherCollectionIsLeftAlone(t *testing.T) {
	for _, o := range []sweep.Options{{Horizon: horizon}, none} {
		inWorld(t, func(w *world) {
			w.litter()
			before := w.names()
			if o.Horizon > 0 {
				before = slices.Insert(before, 2, "+c/=b") // fenced
			}
			w.condemned("+c/=a", "+c/+d/=a")
			w.external("+c/=b", 1)
			pass(horizon + time.Second)
			o.Prefix = "+c/"
			r := w.sweepAs(o)
			assert.Equal(t, sweep.Report{
				Objects: 3, Bytes: r.Bytes, Tombstones: 2, Values: 1, ValueBytes: r.ValueBytes,
			}, r)
			assert.Equal(t, before, w.names())
		})
	}
}

func TestValuesOfManyCells(t *testing.T) {
	inWorld(t, func(w *world) {
		var alive []string
		for c := range byte(5) {
			name := fmt.Sprintf("=%d", c)
			for n := range byte(25) {
				v := w.external(name, 10*n+c)
				if n == 10 {
					w.Write(1, cell.Put, v, name)
					alive = append(alive, keyspace.Value(name, v.Ref))
				}
			}
		}
		pass(horizon + time.Second)
		r := w.sweepAs(sweep.Options{Horizon: horizon, Concurrency: 1}) // no race to fence a cell
		assert.Equal(t, int64(120), r.Values)
		assert.Equal(t, 10, w.sent(faulty.Get), "one for each 16 of a cell")
		assert.Equal(t, append(alive, "=0", "=1", "=2", "=3", "=4"), w.names())
	})
}

// A value is linked after it was listed, by a transaction that is about to end.
func TestTheCellOfAValueIsReadAfterItWasListed(t *testing.T) {
	for _, o := range []sweep.Options{{Horizon: horizon}, none} {
		inWorld(t, func(w *world) {
			w.Value(1, "=a")
			v := w.external("=a", 2)
			pass(horizon + time.Second)
			_, err := w.st.Read(background, "=a") // the cache knows the old state
			require.NoError(t, err)
			w.hook(faulty.Get, "=a", func() error {
				w.before = nil
				w.Write(2, cell.Put, v, "=a")
				return nil
			})
			assert.Zero(t, w.sweepAs(o).Values)
			assert.Len(t, w.names(), 2)
		})
	}
}

// A write that links a value has been on its way for longer than a horizon, and arrives while a
// sweep is about to remove the value.
func TestAVeryLateLinkIsRefused(t *testing.T) {
	for _, exists := range []bool{true, false} {
		inWorld(t, func(w *world) {
			if exists {
				w.Value(1, "=a")
			}
			v := w.external("=a", 2)
			c, version := w.Cell("=a")
			cond := backend.IfAbsent()
			if exists {
				cond = backend.IfVersion(version)
			}
			late := cell.Encode(cell.Write(c, cell.Fold{}, id(2), cell.Put, v), 7)
			pass(horizon + time.Second)
			w.hook(faulty.Delete, keyspace.Value("=a", id(2).String()), func() error {
				_, err := w.Mem.Put(background, prefix+"=a", late, cond)
				assert.ErrorIs(t, err, backend.ErrPrecondition)
				return nil
			})
			assert.Equal(t, int64(1), w.sweep().Values)
			assert.Equal(t, []string{"=a"}, w.names())
		})
	}
}

// Who outruns the fence of a sweep, again and again, uses the cell: its garbage is left.
func TestAFenceThatIsOutrun(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		w.external("=a", 2)
		pass(horizon + time.Second)
		n := byte(0)
		w.hook(faulty.Put, "=a", func() error { n++; w.Value(n, "=a"); return nil })
		r := w.sweep()
		assert.Zero(t, r.Values)
		assert.Equal(t, int64(1), r.Changed)
		assert.Len(t, w.names(), 2)
	})
}

func TestAValueOfACellThatCannotBeRead(t *testing.T) {
	for _, o := range []sweep.Options{{Horizon: horizon}, none} {
		inWorld(t, func(w *world) {
			w.PutData("=a", []byte("damaged!"))
			w.external("=a", 2)
			pass(horizon + time.Second)
			r, err := w.try(background, o)
			require.ErrorIs(t, err, backend.ErrCorrupt)
			assert.Equal(t, int64(1), r.Failed)
			assert.Len(t, w.names(), 2)
		})
	}
}

func TestWhatIsNoneOfASweepsBusiness(t *testing.T) {
	dry := sweep.Options{Horizon: horizon, DryRun: true}
	for _, o := range []sweep.Options{{Horizon: horizon}, none, dry} {
		inWorld(t, func(w *world) {
			foreign := []string{"*a.beef", "+x", "=%zz", "clock.beef", "stranger"}
			for _, name := range foreign {
				w.PutData(name, []byte("hello"))
			}
			w.Value(1, "=z")
			pass(horizon + time.Second)
			r := w.sweepAs(o)
			assert.Equal(t, int64(len(foreign)), r.Foreign)
			names := append(foreign[:2:2], "=%zz", "=z", "clock.beef", "stranger")
			assert.Equal(t, names, w.names())
		})
	}
}

func TestClocksThatWereLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		w.PutData(keyspace.Clock(id(1).String()), nil)
		pass(horizon)
		assert.Zero(t, w.sweep().Clocks)
		pass(time.Second)
		assert.Equal(t, int64(1), w.sweep().Clocks)
		w.PutData(keyspace.Clock(id(1).String()), nil)
		assert.Equal(t, int64(1), w.sweepAs(none).Clocks)
		assert.Empty(t, w.names())
	})
}

// hint is the name of an object of hints, of a writer whose clock is wrong.
func hint(n uint32) string {
	return keyspace.Hint{Time: 1 << 62, Handle: id(1).String(), Number: n}.Name()
}

func TestHintsThatWereLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		w.PutData(hint(1), nil)
		pass(feed.Keep)
		w.PutData(hint(2), nil)
		assert.Zero(t, w.sweep().Hints)
		pass(time.Second)
		assert.Equal(t, int64(1), w.sweep().Hints, "a horizon is longer")
		assert.Equal(t, []string{hint(2)}, w.names())
		w.PutData("feed/strange", nil)
		r := w.sweepAs(none)
		assert.Equal(t, int64(1), r.Hints)
		assert.Equal(t, int64(1), r.Foreign)
		assert.Equal(t, []string{"feed/strange"}, w.names())
	})
}

// litter makes garbage of every kind.
func (w *world) litter() {
	w.Value(1, "=v0", "=v1", "=v2", "=v3")
	w.tombstone(2, "=t1", "=t2")
	w.Value(1, "=t3")
	w.place(40, cell.Value{}, 2, "=t3", "=v3")
	w.Fold("=t3") // with a mark
	w.condemned("=c1", "=c2", "=c3")
	w.condemnedV1("=c4")
	w.place(50, inline("x"), 2, "=v1", "=v2")
	w.external("=v0", 60)
	w.external("=gone", 61)
	w.PutData(keyspace.Clock(id(1).String()), nil)
}

func TestDryRun(t *testing.T) {
	for _, o := range []sweep.Options{{Horizon: horizon}, none} {
		inWorld(t, func(w *world) {
			w.litter()
			pass(horizon + time.Second)
			before := w.names()
			dry := o
			dry.DryRun = true
			would := w.sweepAs(dry)
			assert.Zero(t, w.sent(faulty.Put)+w.sent(faulty.Delete))
			for _, op := range w.ops {
				assert.False(t, op.Write(), "%s %s", op.Kind, op.Name)
			}
			assert.Equal(t, before, w.names())
			did := w.sweepAs(o)
			if o.Horizon < 0 { // of the mark and the intents, tombstones come later
				did.Objects, did.Bytes = would.Objects, would.Bytes
				assert.Equal(t, would.Tombstones+1, did.Tombstones, "that in =v3")
				did.Tombstones--
			}
			assert.Equal(t, would.Settled, did.Settled+did.Changed, "=v3 may be helped before")
			did.Settled, did.Changed = would.Settled, 0
			assert.Equal(t, would, did)
		})
	}
}

func TestSweepsAtOnce(t *testing.T) {
	for _, h := range []time.Duration{horizon, -1} {
		inWorld(t, func(w *world) {
			w.litter()
			pass(horizon + time.Second)
			const sweeps = 4
			var rs [sweeps]sweep.Report
			require.NoError(t, seam.Each(seam.Real(), sweeps, func(i int) (err error) {
				o := sweep.Options{Horizon: h, Concurrency: 4}
				rs[i], err = sweep.New(w.st, w.rs, o).Sweep(background)
				return err
			}))
			w.Drain(w.h)
			var tombstones, values int64
			for _, r := range rs {
				tombstones += r.Tombstones
				values += r.Values
			}
			assert.Equal(t, int64(2), values, "each is removed by one of them")
			if h < 0 {
				assert.Equal(t, []string{"=v0", "=v1", "=v2"}, w.names())
				return
			}
			assert.Equal(t, int64(4), tombstones)
			assert.Equal(t, []string{
				"=gone", "=t1", "=t2", "=t3", "=v0", "=v1", "=v2", "=v3",
			}, w.names(), "the cell of a value that was gone is fenced")
		})
	}
}

func TestAStoreWithoutConditionalDeleteKeepsTombstones(t *testing.T) {
	for _, o := range []sweep.Options{{Horizon: horizon}, none} {
		inWorld(t, func(w *world) {
			w.litter()
			pass(horizon + time.Second)
			o.KeepTombstones = true
			r := w.sweepAs(o)
			assert.Zero(t, r.Tombstones+r.Condemned)
			assert.Equal(t, int64(2), r.Values)
			names := []string{"=c1", "=c2", "=c3", "=c4"}
			if o.Horizon > 0 {
				names = append(names, "=gone") // fenced
			}
			names = append(names, "=t1", "=t2", "=t3", "=v0", "=v1", "=v2", "=v3")
			assert.Equal(t, names, w.names())
		})
	}
}

func TestARemovalOfUnknownOutcome(t *testing.T) {
	inWorld(t, func(w *world) {
		w.condemned("=a", "=b")
		pass(horizon + time.Second)
		n := 0
		w.hook(faulty.Delete, "=a", func() error {
			if n++; n == 1 {
				w.Remove("=a")
				return backend.ErrOutcomeUnknown
			}
			return nil
		})
		r := w.sweep()
		assert.Equal(t, int64(2), r.Tombstones+r.Changed, "it is sent again")
		w.condemned("=a")
		pass(horizon + time.Second)
		w.hook(faulty.Delete, "=a", func() error { return backend.ErrOutcomeUnknown })
		r, err := w.try(background, sweep.Options{Horizon: horizon})
		assert.ErrorIs(t, err, backend.ErrOutcomeUnknown)
		assert.Equal(t, int64(1), r.Failed)
	})
}

func TestAFailureAtOneObjectDoesNotEndTheSweep(t *testing.T) {
	inWorld(t, func(w *world) {
		w.condemned("=a", "=b", "=c")
		pass(horizon + time.Second)
		w.hook(faulty.Delete, "=a", func() error { return backend.ErrDenied })
		r, err := w.try(background, sweep.Options{Horizon: horizon})
		require.ErrorIs(t, err, backend.ErrDenied)
		assert.ErrorContains(t, err, "sweep: 1 objects failed")
		assert.ErrorContains(t, err, `"db/=a"`)
		assert.Equal(t, int64(2), r.Tombstones)
		assert.Equal(t, int64(1), r.Failed)
	})
}

func TestManyFailuresEndTheSweep(t *testing.T) {
	inWorld(t, func(w *world) {
		const objects = 3000
		for i := range objects {
			w.condemned(fmt.Sprintf("=%d", i))
		}
		pass(horizon + time.Second)
		w.before = func(op faulty.Op) error {
			if op.Kind == faulty.Delete && op.Name[len(prefix)] == '=' {
				return backend.ErrDenied
			}
			return nil
		}
		r, err := w.try(background, sweep.Options{Horizon: horizon})
		assert.ErrorContains(t, err, "sweep: gave up: 10")
		assert.LessOrEqual(t, len(err.Error()), 2000, "it names the first ones only")
		assert.NotErrorIs(t, err, context.Canceled, "the caller's context has not ended")
		assert.Less(t, r.Failed, int64(1100))
		assert.Len(t, w.names(), objects)
	})
}

func TestTheEndOfItsContextEndsTheSweep(t *testing.T) {
	inWorld(t, func(w *world) {
		for i := range 100 {
			w.condemned(fmt.Sprintf("=%02d", i))
		}
		pass(horizon + time.Second)
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		n := 0
		w.before = func(op faulty.Op) error {
			if n++; n == 50 {
				cancel()
			}
			return nil
		}
		r, err := w.try(ctx, sweep.Options{Horizon: horizon, Concurrency: 1})
		require.ErrorIs(t, err, context.Canceled)
		assert.Less(t, r.Tombstones, int64(51))
		assert.Len(t, w.names(), 100-int(r.Tombstones), "another sweep goes on")
		assert.Zero(t, r.Failed, "that is no failure")
	})
}

func TestAListingThatFailsEndsTheSweep(t *testing.T) {
	inWorld(t, func(w *world) {
		w.before = func(op faulty.Op) error {
			if op.Kind == faulty.List {
				return backend.ErrDenied
			}
			return nil
		}
		for _, o := range []sweep.Options{{Horizon: horizon}, none, {DryRun: true}} {
			_, err := w.try(background, o)
			assert.ErrorIs(t, err, backend.ErrDenied)
			assert.ErrorContains(t, err, "sweep: ")
		}
	})
}

// The listing goes on while others work, and no further than there is room for.
func TestTheListingIsAhead(t *testing.T) {
	inWorld(t, func(w *world) {
		const objects, ahead = 8000, 4096 + 10 + 1000
		for i := range objects {
			w.condemned(fmt.Sprintf("=%d", i))
		}
		pass(horizon + time.Second)
		var removed, listed, most int
		w.before = func(op faulty.Op) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			switch {
			case op.Kind == faulty.List && op.Name == prefix:
				listed += 1000
				most = max(most, listed-removed)
			case op.Kind == faulty.Delete && op.Name[len(prefix)] == '=':
				removed++
			default:
				return nil
			}
			w.mu.Unlock()
			pass(10 * time.Millisecond)
			w.mu.Lock()
			return nil
		}
		begun := time.Now()
		var calls, last int64
		progress := func(r sweep.Report) {
			calls++
			assert.GreaterOrEqual(t, r.Objects, last)
			last = r.Objects
		}
		r := w.sweepAs(sweep.Options{Horizon: horizon, Concurrency: 10, Progress: progress})
		assert.Equal(t, int64(objects), r.Tombstones)
		assert.Equal(t, r.Objects, last, "the last call tells the result")
		assert.Equal(t, int64(9), calls)
		assert.Greater(t, most, 4000)
		assert.LessOrEqual(t, most, ahead)
		assert.Less(t, time.Since(begun), objects/10*10*time.Millisecond+100*time.Millisecond)
	})
}

var errOdd = errors.New("odd")

func TestStoreTimeFails(t *testing.T) {
	inWorld(t, func(w *world) {
		w.condemned("=a")
		pass(horizon + time.Second)
		w.before = func(op faulty.Op) error {
			if op.Kind == faulty.Put {
				return errOdd
			}
			return nil
		}
		_, err := w.try(background, sweep.Options{Horizon: horizon})
		assert.Error(t, err)
		assert.Equal(t, []string{"=a"}, w.names(), "without a time nothing is old")
	})
}

package store_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
)

// The answer to the creation of a database tells its creator the time.
func TestCreatorKnowsTheTime(t *testing.T) {
	st, _ := open(t, memory.New())
	assert.False(t, st.Moment().There.IsZero())
}

// Where answers to reads tell no time, the clock is that of the process from the beginning, and not
// 1970: an export by a new handle would be full of values that have been due for long.
func TestAnOpenHandleHasAClock(t *testing.T) {
	mem := memory.New()
	open(t, mem)
	w := &wire{mem: mem}
	w.after = func(_ faulty.Op, _ int, a *faulty.Answer) {
		a.Stamp.Time, a.Object.Time = time.Time{}, time.Time{}
	}
	before := time.Now().UnixNano()
	st, err := store.Open(background, w.options())
	require.NoError(t, err)
	assert.GreaterOrEqual(t, st.Clock(), before)
}

// TestAnObjectTellsTheTime: when it was written has passed, though the answer that says so may tell
// no time of its own.
func TestAnObjectTellsTheTime(t *testing.T) {
	st, w := open(t, memory.New())
	putCell(t, st, store.NoObject("=a"), "text")
	written := time.Now().Add(time.Hour).Round(0)
	w.after = func(_ faulty.Op, _ int, a *faulty.Answer) {
		a.Object.Time, a.Object.Modified = time.Time{}, written
	}
	_, err := st.Fetch(background, "=a")
	require.NoError(t, err)
	assert.Equal(t, written, st.Moment().There)
}

// TestARefusalTellsNoTime: a handle that knows no time of the store's is answered without one, by
// a refusal. That does not say that the store's answers tell none: else the handle would take the
// clock of its process for the store's, and values for due.
func TestARefusalTellsNoTime(t *testing.T) {
	for name, x := range map[string]struct {
		answer error // to the first write, though that takes effect
		write  func(st *store.Store) error
		want   error
	}{
		"an external value": {backend.ErrDenied, func(st *store.Store) error {
			_, _, err := st.Upload(background, "=a", st.NewValue(nil), nil)
			return err
		}, backend.ErrDenied},
		"a second copy, when asking for the time": {
			backend.ErrOutcomeUnknown, func(st *store.Store) error {
				_, err := st.StoreTime(background)
				return err
			}, nil,
		},
		"the answer to a second copy, when asking for the time": {
			backend.ErrPrecondition, func(st *store.Store) error {
				_, err := st.StoreTime(background)
				return err
			}, nil,
		},
		"an announcement": {backend.ErrPrecondition, func(st *store.Store) error {
			_, _, err := st.Announce(background, "mine", nil)
			return err
		}, backend.ErrPrecondition},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{mem: memory.New()}
			w.after = func(_ faulty.Op, _ int, a *faulty.Answer) {
				a.Stamp.Time, a.Object.Time = time.Time{}, time.Time{}
			}
			st, err := store.Open(background, w.options())
			require.NoError(t, err)
			w.sent = nil
			w.after = func(op faulty.Op, n int, a *faulty.Answer) {
				if n == 0 {
					*a = faulty.Answer{Err: x.answer}
				}
			}
			require.ErrorIs(t, x.write(st), x.want)
			assert.Zero(t, st.Clock(), "nothing is due")
		})
	}
}

// TestTheClockIsAskedOnce: where answers to reads tell no time, one to a write does, or none: the
// first who needs it asks, nobody else. Else a process whose clock is ahead would count as due what
// is not.
func TestTheClockIsAskedOnce(t *testing.T) {
	for _, tells := range []bool{true, false} {
		mem := memory.New(memory.WithClock(func() time.Time { return time.Now().Add(-time.Hour) }))
		open(t, mem)
		w := &wire{mem: mem}
		w.after = func(op faulty.Op, _ int, a *faulty.Answer) {
			if a.Object.Time = (time.Time{}); !tells || op.Kind != faulty.Put {
				a.Stamp.Time = time.Time{}
			}
		}
		st, err := store.Open(background, w.options())
		require.NoError(t, err)
		ahead := func() bool { return st.Clock() > time.Now().Add(-time.Minute).UnixNano() }
		assert.True(t, ahead(), "it is the process's")
		w.sent = nil
		require.NoError(t, st.AskClock(background))
		assert.Len(t, w.sent, 3, "a write, a listing, a removal")
		assert.Equal(t, !tells, ahead())
		require.NoError(t, st.AskClock(background))
		assert.Len(t, w.sent, 3, "nobody asks again")
	}
}

// TestWritesTellTheTime: where answers to reads tell no time, those to writes do, whatever is
// written: else a process whose clock is ahead would count as due what is not.
func TestWritesTellTheTime(t *testing.T) {
	for name, write := range map[string]func(st *store.Store) error{
		"a cell": func(st *store.Store) error {
			_, _, err := st.Send(background, st.Prepare(store.NoObject("=a"), valued(1)))
			return err
		},
		"an external value": func(st *store.Store) error {
			_, _, err := st.Upload(background, "=a", st.NewValue(nil), nil)
			return err
		},
		"an announcement": func(st *store.Store) error {
			_, _, err := st.Announce(background, "mine", nil)
			return err
		},
	} {
		mem := memory.New(memory.WithClock(func() time.Time { return time.Now().Add(-time.Hour) }))
		open(t, mem)
		w := &wire{mem: mem}
		w.after = func(_ faulty.Op, _ int, a *faulty.Answer) { a.Object.Time = time.Time{} }
		st, err := store.Open(background, w.options())
		require.NoError(t, err)
		ahead := func() bool { return st.Clock() > time.Now().Add(-time.Minute).UnixNano() }
		assert.True(t, ahead(), "it is the process's")
		require.NoError(t, write(st), name)
		assert.False(t, ahead(), name)
	}
}

// The store's time is that of an object. If that can't be removed, it is known nevertheless; if it
// can't be written, it is not.
func TestStoreTime(t *testing.T) {
	then := time.Unix(1e9, 0)
	for _, x := range []struct {
		denied []faulty.Kind
		want   error
	}{
		{nil, nil}, {[]faulty.Kind{faulty.Delete}, nil},
		{[]faulty.Kind{faulty.Put}, backend.ErrDenied},
		{[]faulty.Kind{faulty.List}, backend.ErrDenied},
	} {
		st, w := open(t, memory.New(memory.WithClock(func() time.Time { return then })))
		w.before = func(_ context.Context, op faulty.Op, _ int) error {
			if slices.Contains(x.denied, op.Kind) {
				return backend.ErrDenied
			}
			return nil
		}
		at, err := st.StoreTime(background)
		require.ErrorIs(t, err, x.want, x.denied)
		if x.want == nil {
			require.NoError(t, err, x.denied)
			assert.True(t, at.Equal(then), x.denied)
		}
	}
}

// Of two instants the earlier one is that by each clock that is known: an attempt is over before
// the oldest of the values that it links may be garbage.
func TestEarlierMoment(t *testing.T) {
	at := func(s int64) time.Time {
		if s == 0 {
			return time.Time{}
		}
		return time.Unix(s, 0)
	}
	for _, x := range []struct{ a, b, want [2]int64 }{
		{[2]int64{5, 50}, [2]int64{7, 70}, [2]int64{5, 50}},
		{[2]int64{5, 70}, [2]int64{7, 50}, [2]int64{5, 50}},
		{[2]int64{5, 50}, [2]int64{7, 0}, [2]int64{5, 50}},
		{[2]int64{5, 0}, [2]int64{7, 0}, [2]int64{5, 0}},
	} {
		a := store.Moment{Here: at(x.a[0]), There: at(x.a[1])}
		b := store.Moment{Here: at(x.b[0]), There: at(x.b[1])}
		want := store.Moment{Here: at(x.want[0]), There: at(x.want[1])}
		assert.Equal(t, want, a.Earlier(b), x)
		assert.Equal(t, want, b.Earlier(a), x)
	}
}

// How much time has passed is told by the clock that says most. What was read is as fresh as the
// process's says, as long as the clocks agree; what is due soon may be so while an attempt lasts.
func TestAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leap := time.Duration(0)
		clock := func() time.Time { return time.Now().Add(leap) }
		st, _ := open(t, memory.New(memory.WithClock(clock)))
		begun := st.Moment()
		time.Sleep(time.Minute)
		assert.Equal(t, time.Minute, st.Age(begun), "by the process's")
		assert.True(t, st.Fresh(begun.Here, time.Now(), time.Minute))
		assert.False(t, st.Fresh(begun.Here, time.Now(), time.Minute-1))
		leap = time.Hour
		_, err := st.Read(background, "=a")
		require.NoError(t, err)
		assert.Greater(t, st.Age(begun), 59*time.Minute, "by the store's")
		assert.Equal(t, time.Minute, st.Age(store.Moment{Here: begun.Here}), "which is not known")
		assert.False(t, st.Fresh(begun.Here, time.Now(), time.Hour), "the clocks disagree")

		soon := st.Clock() + int64(store.AttemptMax)
		assert.True(t, st.Soon(soon))
		assert.False(t, st.Soon(soon+1))
	})
}

// What buries an object says that anything may have happened there before: so many have written
// it that nobody can be sure of not being among them.
func TestBury(t *testing.T) {
	st, _ := open(t, memory.New())
	require.NoError(t, st.Keep(background, "=a", []byte("no cell")))
	o, err := st.Raw(background, "=a")
	require.NoError(t, err)
	for v, want := range map[backend.Version]store.Result{
		"x": store.Refused, o.Version: store.Applied,
	} {
		res, err := st.Bury(background, "=a", v)
		assert.Equal(t, want, res)
		assert.Equal(t, want == store.Applied, err == nil)
	}
	s, err := st.Fetch(background, "=a")
	require.NoError(t, err)
	assert.Equal(t, cell.Value{}, s.Cell.Value)
	assert.Len(t, s.Cell.Recent, cell.RecentMax)
	assert.Equal(t, s.Cell.Recent[0], s.Cell.Writer)
	assert.False(t, s.Cell.Writer.IsZero())
}

// A copy is there, or another object is: what was kept is not replaced.
func TestKeep(t *testing.T) {
	st, _ := open(t, memory.New())
	_, err := st.Raw(background, "copy")
	require.ErrorIs(t, err, store.ErrMissing)
	require.NoError(t, st.Keep(background, "copy", []byte("this")))
	require.NoError(t, st.Keep(background, "copy", []byte("this")), "once more")
	require.ErrorIs(t, st.Keep(background, "copy", []byte("that")), backend.ErrInvalid)
	o, err := st.Raw(background, "copy")
	require.NoError(t, err)
	assert.Equal(t, "this", string(o.Data))
}

package feed

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/protocoltest"
)

func TestAReaderListsOnceAndReadsEachObjectOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.put(-time.Minute, 9, 1, "=old")
		r := w.reader()
		assert.Zero(t, r.gets(), "what was there before is not read")
		for i := range uint32(100) {
			if i%3 == 0 {
				w.put(0, 1, i/3+1, "=a", fmt.Sprint("=", i))
				w.put(0, 2, i/3+1, "=a")
				assert.Equal(t, Hints{Names: []string{fmt.Sprint("=", i), "=a"}}, r.next())
			} else {
				assert.Zero(t, r.next())
			}
			pass(time.Second)
		}
		assert.Equal(t, 100, r.lists())
		assert.Equal(t, 68, r.gets())
		assert.LessOrEqual(t, len(r.seen), 10, "what can't be listed any more is forgotten")
	})
}

func TestWhatIsMissing(t *testing.T) {
	for what, x := range map[string]struct {
		do   func(w *world, r *reader)
		want Hints
	}{
		"nothing": {func(w *world, _ *reader) { w.put(0, 1, 4, "=a") },
			Hints{Names: []string{"=a"}}},
		"a number": {func(w *world, _ *reader) { w.put(0, 1, 5, "=a") },
			Hints{Names: []string{"=a"}, Missed: true}},
		"none, but two come in another order": {func(w *world, _ *reader) {
			w.put(time.Second, 1, 4, "=a")
			w.put(0, 1, 5, "=b")
		}, Hints{Names: []string{"=b", "=a"}}},
		"the first of a handle": {func(w *world, _ *reader) { w.put(0, 2, 2, "=a") },
			Hints{Names: []string{"=a"}, Missed: true}},
		"none of a new handle": {func(w *world, _ *reader) { w.put(0, 2, 1, "=a") },
			Hints{Names: []string{"=a"}}},
		"one is damaged": {func(w *world, _ *reader) {
			w.PutData(w.put(0, 1, 4, "=a"), []byte("SKVF\x01 what?"))
			w.put(0, 2, 1, "=b")
		}, Hints{Names: []string{"=b"}, Missed: true}},
		"one is of a later version": {func(w *world, _ *reader) {
			w.PutData(w.put(0, 1, 4, "=a"), sealed("SKVF\x02"))
		}, Hints{Missed: true}},
		"one overflowed": {func(w *world, _ *reader) {
			h := Hints{Names: []string{"=a"}, Missed: true}
			w.PutData(w.put(0, 1, 4), encode(content{Hints: h}))
		}, Hints{Names: []string{"=a"}, Missed: true}},
		"a foreign name": {func(w *world, _ *reader) { w.PutData(keyspace.Hints+"what", nil) },
			Hints{Missed: true}},
		"one vanishes": {func(w *world, r *reader) {
			name := w.put(0, 1, 4, "=a")
			r.Before(faulty.Get, name, 0, func(context.Context) error {
				w.Remove(name)
				return nil
			})
		}, Hints{Missed: true}},
		"one can't be read": {func(w *world, r *reader) {
			name := w.put(0, 1, 4, "=a")
			r.Before(faulty.Get, name, 0, func(context.Context) error { return backend.ErrDenied })
		}, Hints{Missed: true}},
		"too many": {func(w *world, _ *reader) {
			for i := range uint32(readsMax + 1) {
				w.put(time.Duration(i), 1, 4+i)
			}
		}, Hints{Missed: true}},
	} {
		inWorld(t, func(w *world) {
			w.put(0, 1, 3, "=old")
			r := w.reader()
			assert.Zero(t, r.next(), what)
			x.do(w, r)
			assert.Equal(t, x.want, r.next(), what)
			gets := r.gets()
			for range 20 {
				pass(time.Second)
				assert.Zero(t, r.next(), what)
			}
			assert.Equal(t, gets, r.gets(), "%s: it is not looked at again", what)
			w.put(0, 3, 1, "=new")
			assert.Equal(t, Hints{Names: []string{"=new"}}, r.next(), what)
			assert.LessOrEqual(t, gets, readsMax, what)
		})
	}
}

func TestAClockThatIsOffDrawsNobodyAway(t *testing.T) {
	for _, off := range []time.Duration{
		-100 * time.Hour, -time.Hour, -Slack / 2, Slack / 2, time.Hour, 100 * time.Hour,
	} {
		inWorld(t, func(w *world) {
			w.put(0, 2, 1)
			r := w.reader()
			for i := range uint32(60) {
				w.put(off, 1, i+1, "=off")
				w.put(0, 2, i+2, "=right")
				h := r.next()
				assert.Contains(t, h.Names, "=right", "%v at %d", off, i)
				assert.Equal(t, off > -Slack || off < -Slack && i == 0 && len(h.Names) == 2,
					len(h.Names) == 2, "%v at %d", off, i)
				assert.False(t, h.Missed, "%v at %d", off, i)
				pass(time.Second)
			}
			assert.LessOrEqual(t, r.gets(), 120)
			assert.Equal(t, 60, r.lists())
		})
	}
}

func TestASkewedWriterAloneIsFollowed(t *testing.T) {
	for _, off := range []time.Duration{-5 * time.Hour, 5 * time.Hour} {
		inWorld(t, func(w *world) {
			r, c := w.newReader(), w.skewedClient(off)
			mute(r.Net)
			r.Reader = NewReader(r.st, "")
			r.place = 0 // it has never been told a time
			require.True(t, r.next().Missed)
			for i := range 30 {
				name := fmt.Sprint("=", i)
				c.Note([]string{name})
				pass(time.Second)
				assert.Equal(t, Hints{Names: []string{name}}, r.next(), "%v", off)
			}
			c.stop()
		})
	}
}

func TestALateObjectIsReadOrFoundMissing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.put(0, 1, 1)
		w.put(0, 2, 1)
		r := w.reader()
		late := time.Now()
		for i := range uint32(30) {
			pass(time.Second)
			w.put(0, 2, 2+i, "=x")
			assert.Equal(t, Hints{Names: []string{"=x"}}, r.next())
			if i == 5 {
				w.put(time.Until(late), 1, 2, "=late")
				assert.Equal(t, Hints{Names: []string{"=late"}}, r.next())
			}
		}
		w.put(time.Until(late), 1, 3, "=too late")
		assert.Zero(t, r.next())
		w.put(0, 1, 4, "=a")
		assert.Equal(t, Hints{Names: []string{"=a"}, Missed: true}, r.next())
	})
}

func TestManyObjectsAreListedInTurns(t *testing.T) {
	inWorld(t, func(w *world) {
		const many = pagesMax*pageMax + 500
		for i := range uint32(many) {
			w.put(time.Duration(i), 1, i+1)
		}
		r := w.newReader()
		r.place = 0
		assert.Equal(t, Hints{Missed: true}, r.next())
		assert.Equal(t, pagesMax, r.lists())
		w.put(many, 2, 1, "=a")
		assert.Equal(t, Hints{Missed: true}, r.next(), "it has not begun")
		assert.Equal(t, pagesMax+1, r.lists())
		assert.Zero(t, r.gets())
		r.Forget()
		pass(2 * Slack)
		w.put(0, 2, 2, "=b")
		assert.Zero(t, r.next(), "all are listed once more")
		assert.Equal(t, Hints{Names: []string{"=b"}}, r.next())
		for range 3 * int(Slack/time.Second) {
			pass(time.Second)
			w.put(0, 3, 1, "=c")
			r.next()
		}
		assert.Less(t, len(r.seen), 100)
	})
}

func TestAReaderTakesNoNoticeOfItsOwnHandle(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.newReader()
		r.own = protocoltest.ID(1).String()
		r.next()
		w.put(0, 1, 7, "=own")
		w.put(0, 2, 1, "=other")
		assert.Equal(t, Hints{Names: []string{"=other"}}, r.next())
		assert.Equal(t, 1, r.gets())
	})
}

func TestAnErrorOfAReaderChangesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.reader()
		name := w.put(0, 1, 1, "=a")
		ctx, cancel := context.WithCancel(background)
		r.Before(faulty.Get, name, 0, func(context.Context) error {
			cancel()
			return backend.ErrUnavailable
		})
		_, err := r.Next(ctx)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, Hints{Names: []string{"=a"}}, r.next())
	})
}

func TestAReaderRemembersSoManyHandles(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.reader()
		r.handles = map[string]*handle{}
		for i := range handlesMax {
			r.handles[fmt.Sprintf("%032x", i)] = &handle{number: 1, turn: i - handlesMax}
		}
		w.put(0, 1, 1, "=a")
		assert.Equal(t, Hints{Names: []string{"=a"}}, r.next())
		assert.Len(t, r.handles, handlesMax/2+1)
		assert.Contains(t, r.handles, protocoltest.ID(1).String())
	})
}

func TestAHandleThatWasSilentForLong(t *testing.T) {
	inWorld(t, func(w *world) {
		quiet, lost := w.client(), w.client()
		quiet.Note([]string{"=a"})
		lost.Note([]string{"=a"})
		pass(2 * Keep)
		r := w.reader()
		pass(time.Hour)
		assert.Equal(t, Hints{Missed: true}, r.next(), "it was away")
		quiet.Note([]string{"=b"})
		pass(time.Second)
		assert.Equal(t, Hints{Names: []string{"=b"}}, r.next(), "what was before is known")
		lost.SetOutage(true)
		lost.Note([]string{"=c"})
		pass(time.Hour)
		assert.Equal(t, Hints{Missed: true}, r.next(), "it was away")
		lost.SetOutage(false)
		assert.EqualValues(t, 1, lost.Dropped())
		lost.Note([]string{"=d"})
		pass(time.Minute)
		assert.Equal(t, Hints{Names: []string{"=d"}, Missed: true}, r.next())
	})
}

// Who comes back when objects may have been removed that he has not seen has missed something,
// be there a later one or not.
func TestAReaderThatComesBackAfterMinutes(t *testing.T) {
	for away, missed := range map[time.Duration]bool{
		Keep - 2*Slack: false, Keep: true, time.Hour: true,
	} {
		inWorld(t, func(w *world) {
			r, c := w.reader(), w.client()
			pass(time.Second)
			assert.Zero(t, r.next())
			c.Note([]string{"=a"})
			pass(away)
			h := r.next()
			assert.Equal(t, missed, h.Missed, "%v", away)
			assert.Equal(t, away < Keep, len(h.Names) == 1, "%v", away)
			pass(time.Second)
			assert.Zero(t, r.next(), "once")
		})
	}
}

package feed

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/protocoltest"
	"github.com/strictkv/strictkv/internal/seam"
)

// pass lets time pass, and all happen that happens by then.
func pass(d time.Duration) {
	protocoltest.Pass(d)
	synctest.Wait()
}

func TestAWriterWritesOneObjectInAnInterval(t *testing.T) {
	inWorld(t, func(w *world) {
		r, c := w.reader(), w.client()
		for i := range 100 { // for ten seconds
			c.Note([]string{fmt.Sprintf("=%02d", i), "=all"})
			pass(100 * time.Millisecond)
		}
		pass(time.Second)
		assert.Len(t, c.Sent(faulty.Put, ""), 11, "at once, and after each second")
		assert.Len(t, c.Sent("", ""), 11, "and nothing else")
		assert.EqualValues(t, 11, c.Written())
		assert.Zero(t, c.Dropped())
		h := r.next()
		assert.False(t, h.Missed)
		assert.Len(t, h.Names, 101)
	})
}

func TestAWriterWithoutWorkDoesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.client()
		pass(time.Hour)
		c.Note(nil)
		pass(time.Hour)
		assert.Empty(t, c.Sent("", ""))
		c.Close(background)
	})
}

func TestAWriterRemovesItsObjects(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.client()
		for range 2 * int(Keep/time.Second) { // for twice as long as objects are kept
			c.Note([]string{"=a"})
			pass(time.Second)
			assert.LessOrEqual(t, len(w.objects()), int(Keep/time.Second)+1)
		}
		puts, deletes := len(c.Sent(faulty.Put, "")), len(c.Sent(faulty.Delete, ""))
		assert.Equal(t, puts, len(c.Sent("", ""))-deletes)
		assert.InDelta(t, puts/2, deletes, 2)
		pass(Keep - 2*time.Second)
		assert.NotEmpty(t, w.objects())
		pass(3 * time.Second)
		assert.Empty(t, w.objects(), "although nothing is noted any more")
		assert.False(t, c.working, "and there is no goroutine left")
		assert.Len(t, c.Sent(faulty.Delete, ""), puts)
	})
}

func TestAWriterMayHaveNoPermissionToRemove(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.client()
		c.Every(func(_ context.Context, op faulty.Op, a *faulty.Answer) {
			if op.Kind == faulty.Delete && a != nil {
				a.Err = backend.ErrDenied
			}
		})
		for range 5 {
			c.Note([]string{"=a"})
			pass(2 * Keep)
		}
		assert.Len(t, c.Sent(faulty.Delete, ""), 1, "it does not ask again")
		assert.EqualValues(t, 5, c.Written())
	})
}

func TestClosingAWriterWritesTheRestAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		r, c := w.reader(), w.client()
		c.Note([]string{"=a"})
		pass(time.Millisecond)
		c.Note([]string{"=b"})
		pass(time.Millisecond) // it waits until it may write again
		begun := time.Now()
		c.Close(background)
		assert.Zero(t, time.Since(begun))
		assert.Equal(t, Hints{Names: []string{"=a", "=b"}}, r.next())
		c.Note([]string{"=c"})
		pass(time.Hour)
		assert.Len(t, c.Sent("", ""), 2, "it has been closed")
		c.Close(background)
	})
}

func TestClosingAWriterTakesNotLong(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.client()
		c.Every(func(ctx context.Context, _ faulty.Op, a *faulty.Answer) {
			if a == nil {
				_ = seam.Real().Sleep(ctx, time.Minute)
			}
		})
		c.Note([]string{"=a"})
		pass(time.Second)
		begun := time.Now()
		c.Close(background)
		assert.Equal(t, flushMax, time.Since(begun))
		c.stop()
		synctest.Wait()
	})
}

func TestTheEndOfItsLifeStopsAWriter(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.client()
		c.Note([]string{"=a"})
		pass(time.Second) // it waits until it may remove the object
		c.stop()
		pass(time.Hour)
		assert.Len(t, c.Sent("", ""), 1)
		assert.Len(t, w.objects(), 1)
	})
}

func TestWhatFailsIsWrittenLaterOrDropped(t *testing.T) {
	for _, x := range []struct {
		fails   int
		err     error
		dropped int64
		want    Hints
	}{
		{1, backend.ErrUnavailable, 0, Hints{Names: []string{"=a", "=b"}}},
		{2, backend.ErrOutcomeUnknown, 0, Hints{Names: []string{"=a", "=b"}}},
		{3, backend.ErrThrottled, 1, Hints{Names: []string{"=c"}, Missed: true}},
		{3, backend.ErrDenied, 1, Hints{Names: []string{"=c"}, Missed: true}},
	} {
		inWorld(t, func(w *world) {
			r, c := w.reader(), w.client()
			left := x.fails
			c.Every(func(_ context.Context, _ faulty.Op, a *faulty.Answer) {
				if a == nil || left == 0 {
					return
				}
				left--
				a.Err = x.err
				for _, name := range w.objects() { // it has not landed
					w.Remove(name)
				}
			})
			c.Note([]string{"=a"})
			pass(time.Millisecond)
			c.Note([]string{"=b"})
			pass(time.Minute)
			assert.Equal(t, x.dropped, c.Dropped())
			if x.dropped > 0 {
				assert.Zero(t, r.next(), "nobody knows yet")
				c.Note([]string{"=c"})
				pass(time.Minute)
			}
			assert.Len(t, c.Sent(faulty.Put, ""), x.fails+1)
			assert.Equal(t, x.want, r.next(), "%+v", x)
		})
	}
}

// busy is a store that wants to be left alone for half a minute.
type busy struct{ error }

func (busy) RetryAfter() time.Duration { return 30 * time.Second }

func TestAStoreThatAsksForAPauseGetsIt(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.client()
		c.Every(func(_ context.Context, _ faulty.Op, a *faulty.Answer) {
			if a != nil {
				a.Err = busy{backend.ErrThrottled}
			}
		})
		c.Note([]string{"=a"})
		pass(29 * time.Second)
		assert.Len(t, c.Sent("", ""), 1)
		pass(2 * time.Second)
		assert.Len(t, c.Sent("", ""), 2)
		c.stop()
	})
}

func TestAnOutageCostsFewRequests(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.client()
		var back atomic.Bool
		c.Every(func(_ context.Context, _ faulty.Op, a *faulty.Answer) {
			if a != nil && !back.Load() {
				a.Err = backend.ErrUnavailable
				w.Remove(w.objects()[0])
			}
		})
		for range 3600 {
			c.Note([]string{"=a"})
			pass(time.Second)
		}
		sent := len(c.Sent("", ""))
		assert.Greater(t, sent, 60, "it goes on trying")
		assert.Less(t, sent, 70)
		back.Store(true)
		pass(2 * time.Minute)
		assert.EqualValues(t, 1, c.Written())
	})
}

func TestAnAnswerThatIsLostLosesNoHints(t *testing.T) {
	inWorld(t, func(w *world) {
		r, c := w.reader(), w.client()
		lose := true
		c.Every(func(_ context.Context, _ faulty.Op, a *faulty.Answer) {
			if a != nil && lose {
				a.Err, lose = backend.ErrOutcomeUnknown, false
			}
		})
		c.Note([]string{"=a"})
		pass(time.Minute)
		assert.Len(t, w.objects(), 2, "both have landed")
		assert.Equal(t, Hints{Names: []string{"=a"}}, r.next())
		c.Note([]string{"=b"})
		pass(time.Second)
		assert.Equal(t, Hints{Names: []string{"=b"}}, r.next())
	})
}

func TestTooManyNamesForOneObject(t *testing.T) {
	inWorld(t, func(w *world) {
		r, c := w.reader(), w.client()
		c.Note([]string{"=a"})
		pass(time.Millisecond)
		for i := range namesMax + 10 {
			c.Note([]string{fmt.Sprintf("=%05d", i)})
		}
		c.SetOutage(true)
		pass(time.Second)
		c.SetOutage(false)
		pass(time.Minute)
		h := r.next()
		assert.True(t, h.Missed, "although the first try has failed")
		assert.Len(t, h.Names, namesMax+1)
		c.Note([]string{"=b"})
		pass(2 * time.Second)
		assert.Equal(t, Hints{Names: []string{"=b"}}, r.next())
	})
}

func TestHandlesNeverShareNames(t *testing.T) {
	inWorld(t, func(w *world) {
		for range 3 { // opened twice, killed, and opened again
			for _, c := range []*client{w.client(), w.client()} {
				c.Note([]string{"=a"})
				pass(0)
				defer c.stop()
			}
		}
		assert.Len(t, w.objects(), 6)
		ids := map[string]bool{}
		for _, name := range w.objects() {
			h, err := keyspace.ParseHint(name)
			require.NoError(t, err)
			ids[h.Handle] = true
		}
		assert.Len(t, ids, 6)
	})
}

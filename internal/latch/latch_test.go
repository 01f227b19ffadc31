package latch_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/internal/latch"
	"github.com/strictkv/strictkv/internal/seam"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type place = latch.Latch[string]

// queue is a line of waiters with names, and what they got.
type queue struct {
	t       *testing.T
	line    *latch.Queue[string]
	latches map[string]*place
}

func newQueue(t *testing.T) *queue {
	line := latch.NewQueue[string](seam.Real(), latch.CellsMax)
	return &queue{t: t, line: line, latches: map[string]*place{}}
}

// enter lets a waiter enter for cells, each a letter; those it only reads after a slash.
func (q *queue) enter(waiter, cells string, want latch.Place, share bool) {
	q.t.Helper()
	w, r, _ := strings.Cut(cells, "/")
	t, got := q.line.Acquire(new(place), waiter, share, strings.Split(w, ""), strings.Split(r, ""))
	assert.Equal(q.t, want, got, "place of %s", waiter)
	q.latches[waiter] = t
}

func (q *queue) shares(waiter, cells string, want latch.Place) {
	q.t.Helper()
	q.enter(waiter, cells, want, true)
}

// come reports whether the waiter's latch is granted.
func (q *queue) come(waiter string) bool { return q.latches[waiter].Ready().IsSet() }

func (q *queue) close(waiter string) []string {
	return q.line.Close(q.latches[waiter], func(string) {})
}

func (q *queue) done(waiter string) *place { return q.line.Done(q.latches[waiter]) }

func TestWhoWantsOtherCellsDoesNotWait(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "ab", latch.Held)
	q.shares("two", "cd/ef", latch.Held)
	q.shares("three", "g/f", latch.Held)
	assert.Nil(t, q.done("one"))
	q.shares("four", "a", latch.Held)
}

func TestWhoWantsTheSameCellSharesALatch(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", latch.Held)
	q.shares("two", "ab", latch.First)
	q.shares("three", "a", latch.Shared)
	q.shares("four", "b", latch.Shared)
	assert.Same(t, q.latches["two"], q.latches["four"])
	assert.False(t, q.come("two"))
	q.done("one")
	assert.True(t, q.come("two"))
	assert.Equal(t, []string{"two", "three", "four"}, q.close("two"))
	q.shares("five", "b", latch.First)
}

func TestALatchWaitsForAllBeforeIt(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", latch.Held)
	q.shares("two", "b", latch.Held)
	q.shares("three", "ab", latch.First)
	q.done("one")
	assert.False(t, q.come("three"))
	q.done("two")
	assert.True(t, q.come("three"))
}

// Whoever makes a latch want another cell makes it wait for that, too.
func TestWhoSharesALatchMakesItWait(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", latch.Held)
	q.shares("two", "b", latch.Held)
	q.shares("three", "a", latch.First)
	q.shares("four", "ab", latch.Shared)
	q.done("one")
	assert.False(t, q.come("three"))
	q.done("two")
	assert.True(t, q.come("three"))
}

// Once the latch is granted, it does not begin to wait again.
func TestALatchThatHasComeDoesNotWaitAgain(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", latch.Held)
	q.shares("two", "a", latch.First)
	q.shares("busy", "b", latch.Held)
	q.done("one")
	q.shares("three", "a", latch.Shared)
	q.shares("four", "ab", latch.First)
	assert.Equal(t, []string{"two", "three"}, q.close("two"))
}

// A latch only waits for earlier ones: there is no circle.
func TestLatchesDoNotWaitForEachOther(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", latch.Held)
	q.shares("two", "b", latch.Held)
	q.shares("three", "a", latch.First)
	q.shares("four", "b", latch.First)
	q.shares("five", "ab", latch.Shared) // with four, which waits for three
	assert.Same(t, q.latches["four"], q.latches["five"])
	q.done("two")
	assert.False(t, q.come("four"))
	q.done("one")
	assert.True(t, q.come("three"))
	assert.False(t, q.come("four"))
	q.close("three")
	q.done("three")
	assert.True(t, q.come("four"))
}

func TestReadersWaitForWritersAlone(t *testing.T) {
	q := newQueue(t)
	q.shares("reader", "a/x", latch.Held)
	q.shares("other", "b/x", latch.Held)
	q.shares("writer", "x", latch.Held)
	q.shares("late", "c/x", latch.First)
	q.shares("later", "d/x", latch.First)
	q.done("writer")
	assert.True(t, q.come("late"))
	assert.True(t, q.come("later"))
}

func TestWhoDoesNotShareIsAlone(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", latch.Held)
	q.enter("two", "a", latch.First, false)
	q.shares("three", "a", latch.First)
	q.enter("four", "a", latch.First, false)
	q.done("one")
	assert.True(t, q.come("two"))
	assert.False(t, q.come("three"))
	assert.Equal(t, []string{"two"}, q.close("two"))
	q.done("two")
	assert.True(t, q.come("three"))
	assert.False(t, q.come("four"))
}

func TestLimitsOfASharedLatch(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", latch.Held)
	q.shares("two", "a", latch.First)
	for range latch.WaitersMax - 1 {
		q.shares("more", "a", latch.Shared)
	}
	q.shares("last", "a", latch.First)

	q = newQueue(t)
	many := []string{"a"}
	for i := range latch.CellsMax - 1 {
		many = append(many, strings.Repeat("x", i+1))
	}
	q.shares("one", "a", latch.Held)
	_, got := q.line.Acquire(new(place), "two", true, many, nil)
	assert.Equal(t, latch.First, got)
	q.shares("three", "a", latch.Shared)
	q.shares("four", "ab", latch.First)
}

func TestLeaving(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", latch.Held)
	q.shares("two", "a", latch.First)
	q.shares("three", "a", latch.Shared)
	assert.True(t, q.line.Leave(q.latches["two"], "two"))
	q.done("one")
	assert.Equal(t, []string{"three"}, q.close("three"))
	assert.False(t, q.line.Leave(q.latches["three"], "three"), "closed")
}

// After a shared latch that nobody waits for comes another, for those who come again.
func TestWaitersAreExpectedAgain(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", latch.Held)
	q.shares("two", "a", latch.First)
	q.shares("three", "a", latch.Shared)
	assert.Nil(t, q.done("one"))
	full := q.line.Full(q.latches["two"])
	require.NotNil(t, full, "one may come again")
	assert.False(t, full.IsSet())
	q.shares("one", "a", latch.Shared)
	assert.True(t, full.IsSet())
	q.close("two")
	next := q.done("two")
	require.NotNil(t, next)
	assert.Nil(t, next.Ready(), "it has come")
	full = q.line.Full(next)
	for _, waiter := range []string{"one", "two", "three"} {
		assert.False(t, full.IsSet())
		q.shares(waiter, "a", latch.Shared)
		assert.Same(t, next, q.latches[waiter])
	}
	assert.True(t, full.IsSet())
	assert.Len(t, q.close("one"), 3)
	next = q.done("one")
	assert.Empty(t, q.line.Close(next, func(string) {}), "nobody has come")
	assert.Nil(t, q.line.Done(next))
	q.shares("last", "a", latch.Held)
}

func TestAFullLatchNeedNotBeWaitedFor(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", latch.Held)
	q.shares("two", "a", latch.First)
	q.done("one")
	q.shares("one", "a", latch.Shared)
	assert.Nil(t, q.line.Full(q.latches["two"]))
}

func TestNobodyIsExpectedWhereNobodyMayCome(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", latch.Held)
	q.enter("two", "a", latch.First, false)
	q.done("one")
	assert.Nil(t, q.line.Full(q.latches["two"]))
}

func TestOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r latch.Waiter
		ctx := t.Context()
		assert.True(t, r.Tell(latch.Run))
		assert.False(t, r.Quit(), "an order is waiting")
		got, err := r.Next(ctx, seam.Real())
		require.NoError(t, err)
		assert.Equal(t, latch.Run, got)
		go func() {
			time.Sleep(time.Second)
			r.Tell(latch.End)
		}()
		got, err = r.Next(ctx, seam.Real())
		require.NoError(t, err)
		assert.Equal(t, latch.End, got)

		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err = r.Next(short, seam.Real())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.False(t, r.Gone())
		assert.True(t, r.Quit())
		assert.True(t, r.Gone())
		assert.False(t, r.Tell(latch.Run))
	})
}

package turn_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type place = turn.Turn[string]

// queue is a line of riders with names, and what they got.
type queue struct {
	t     *testing.T
	line  *turn.Line[string]
	turns map[string]*place
}

func newQueue(t *testing.T) *queue {
	return &queue{t: t, line: turn.NewLine[string](seam.Real()), turns: map[string]*place{}}
}

// enter lets a rider enter for cells, each a letter; those it only reads after a slash.
func (q *queue) enter(rider, cells string, want turn.Place, share bool) {
	q.t.Helper()
	w, r, _ := strings.Cut(cells, "/")
	t, got := q.line.Enter(new(place), rider, share, strings.Split(w, ""), strings.Split(r, ""))
	assert.Equal(q.t, want, got, "place of %s", rider)
	q.turns[rider] = t
}

func (q *queue) shares(rider, cells string, want turn.Place) {
	q.t.Helper()
	q.enter(rider, cells, want, true)
}

// come tells whether the rider's turn has come.
func (q *queue) come(rider string) bool { return q.turns[rider].Ready().IsSet() }

func (q *queue) close(rider string) []string {
	return q.line.Close(q.turns[rider], func(string) {})
}

func (q *queue) done(rider string) *place { return q.line.Done(q.turns[rider]) }

func TestWhoWantsOtherCellsDoesNotWait(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "ab", turn.Alone)
	q.shares("two", "cd/ef", turn.Alone)
	q.shares("three", "g/f", turn.Alone)
	assert.Nil(t, q.done("one"))
	q.shares("four", "a", turn.Alone)
}

func TestWhoWantsTheSameCellRidesAlong(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", turn.Alone)
	q.shares("two", "ab", turn.First)
	q.shares("three", "a", turn.Along)
	q.shares("four", "b", turn.Along)
	assert.Same(t, q.turns["two"], q.turns["four"])
	assert.False(t, q.come("two"))
	q.done("one")
	assert.True(t, q.come("two"))
	assert.Equal(t, []string{"two", "three", "four"}, q.close("two"))
	q.shares("five", "b", turn.First)
}

func TestATurnWaitsForAllBeforeIt(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", turn.Alone)
	q.shares("two", "b", turn.Alone)
	q.shares("three", "ab", turn.First)
	q.done("one")
	assert.False(t, q.come("three"))
	q.done("two")
	assert.True(t, q.come("three"))
}

// Whoever makes a turn want another cell makes it wait for that, too.
func TestWhoRidesAlongMakesTheTurnWait(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", turn.Alone)
	q.shares("two", "b", turn.Alone)
	q.shares("three", "a", turn.First)
	q.shares("four", "ab", turn.Along)
	q.done("one")
	assert.False(t, q.come("three"))
	q.done("two")
	assert.True(t, q.come("three"))
}

// Once its turn has come, it does not begin to wait again.
func TestATurnThatHasComeDoesNotWaitAgain(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", turn.Alone)
	q.shares("two", "a", turn.First)
	q.shares("busy", "b", turn.Alone)
	q.done("one")
	q.shares("three", "a", turn.Along)
	q.shares("four", "ab", turn.First)
	assert.Equal(t, []string{"two", "three"}, q.close("two"))
}

// A turn only waits for earlier ones: there is no circle.
func TestTurnsDoNotWaitForEachOther(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", turn.Alone)
	q.shares("two", "b", turn.Alone)
	q.shares("three", "a", turn.First)
	q.shares("four", "b", turn.First)
	q.shares("five", "ab", turn.Along) // with four, which waits for three
	assert.Same(t, q.turns["four"], q.turns["five"])
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
	q.shares("reader", "a/x", turn.Alone)
	q.shares("other", "b/x", turn.Alone)
	q.shares("writer", "x", turn.Alone)
	q.shares("late", "c/x", turn.First)
	q.shares("later", "d/x", turn.First)
	q.done("writer")
	assert.True(t, q.come("late"))
	assert.True(t, q.come("later"))
}

func TestWhoDoesNotShareIsAlone(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", turn.Alone)
	q.enter("two", "a", turn.First, false)
	q.shares("three", "a", turn.First)
	q.enter("four", "a", turn.First, false)
	q.done("one")
	assert.True(t, q.come("two"))
	assert.False(t, q.come("three"))
	assert.Equal(t, []string{"two"}, q.close("two"))
	q.done("two")
	assert.True(t, q.come("three"))
	assert.False(t, q.come("four"))
}

func TestLimitsOfASharedTurn(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", turn.Alone)
	q.shares("two", "a", turn.First)
	for range turn.RidersMax - 1 {
		q.shares("more", "a", turn.Along)
	}
	q.shares("last", "a", turn.First)

	q = newQueue(t)
	many := []string{"a"}
	for i := range turn.CellsMax - 1 {
		many = append(many, strings.Repeat("x", i+1))
	}
	q.shares("one", "a", turn.Alone)
	_, got := q.line.Enter(new(place), "two", true, many, nil)
	assert.Equal(t, turn.First, got)
	q.shares("three", "a", turn.Along)
	q.shares("four", "ab", turn.First)
}

func TestLeaving(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", turn.Alone)
	q.shares("two", "a", turn.First)
	q.shares("three", "a", turn.Along)
	assert.True(t, q.line.Leave(q.turns["two"], "two"))
	q.done("one")
	assert.Equal(t, []string{"three"}, q.close("three"))
	assert.False(t, q.line.Leave(q.turns["three"], "three"), "closed")
}

// After a shared turn that nobody waits for comes another, for those who come again.
func TestRidersAreExpectedAgain(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", turn.Alone)
	q.shares("two", "a", turn.First)
	q.shares("three", "a", turn.Along)
	assert.Nil(t, q.done("one"))
	full := q.line.Full(q.turns["two"])
	require.NotNil(t, full, "one may come again")
	assert.False(t, full.IsSet())
	q.shares("one", "a", turn.Along)
	assert.True(t, full.IsSet())
	q.close("two")
	next := q.done("two")
	require.NotNil(t, next)
	assert.Nil(t, next.Ready(), "it has come")
	full = q.line.Full(next)
	for _, rider := range []string{"one", "two", "three"} {
		assert.False(t, full.IsSet())
		q.shares(rider, "a", turn.Along)
		assert.Same(t, next, q.turns[rider])
	}
	assert.True(t, full.IsSet())
	assert.Len(t, q.close("one"), 3)
	next = q.done("one")
	assert.Empty(t, q.line.Close(next, func(string) {}), "nobody has come")
	assert.Nil(t, q.line.Done(next))
	q.shares("last", "a", turn.Alone)
}

func TestAFullTurnNeedNotBeWaitedFor(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", turn.Alone)
	q.shares("two", "a", turn.First)
	q.done("one")
	q.shares("one", "a", turn.Along)
	assert.Nil(t, q.line.Full(q.turns["two"]))
}

func TestNobodyIsExpectedWhereNobodyMayCome(t *testing.T) {
	q := newQueue(t)
	q.shares("one", "a", turn.Alone)
	q.enter("two", "a", turn.First, false)
	q.done("one")
	assert.Nil(t, q.line.Full(q.turns["two"]))
}

func TestOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r turn.Ride
		ctx := t.Context()
		assert.True(t, r.Tell(turn.Run))
		assert.False(t, r.Quit(), "an order is waiting")
		got, err := r.Next(ctx, seam.Real())
		require.NoError(t, err)
		assert.Equal(t, turn.Run, got)
		go func() {
			time.Sleep(time.Second)
			r.Tell(turn.End)
		}()
		got, err = r.Next(ctx, seam.Real())
		require.NoError(t, err)
		assert.Equal(t, turn.End, got)

		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err = r.Next(short, seam.Real())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.False(t, r.Gone())
		assert.True(t, r.Quit())
		assert.True(t, r.Gone())
		assert.False(t, r.Tell(turn.Run))
	})
}

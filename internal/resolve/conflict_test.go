package resolve_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
)

var reader = resolve.Role{}

func TestEffectiveValue(t *testing.T) {
	for _, x := range []struct {
		name   string
		action cell.Action
		commit bool
		value  cell.Value
		writer byte
	}{
		{"put, committed", cell.Put, true, inline("new"), 50},
		{"put, dead", cell.Put, false, inline("v"), 1},
		{"delete, committed", cell.Delete, true, cell.Value{}, 50},
		{"delete, dead", cell.Delete, false, inline("v"), 1},
		{"lock, committed", cell.Lock, true, inline("v"), 1},
		{"lock, dead", cell.Lock, false, inline("v"), 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				r := w.Rival(50, cell.Staged, "=a", "=b")
				if r.Intent.Action = x.action; x.action != cell.Put {
					r.Intent.Value = cell.Value{}
				}
				r.Place("=a")
				if x.commit {
					r.Place("=b")
				} else {
					w.Value(2, "=b")
				}
				c := w.client()
				for _, role := range []resolve.Role{reader, writer(60)} {
					rd, took := c.effective("=a", role)
					value, by := rd.Effective()
					assert.Equal(t, x.value, value)
					assert.Equal(t, id(x.writer), by)
					assert.Equal(t, x.value.Kind == cell.Absent, rd.Absent(0))
					assert.Zero(t, took, "nobody waits for a final attempt")
				}
			})
		})
	}
}

// meeting is somebody who meets an undecided attempt of priority 50 in a cell.
type meeting struct {
	name   string
	mode   cell.Mode
	placed []string
	at     string
	role   resolve.Role
	waits  time.Duration
	killed bool
}

func TestMeetingAnUndecidedAttempt(t *testing.T) {
	const s, p = cell.Staged, cell.Pending
	validator := resolve.Role{Ranked: true, Priority: writer(10).Priority}
	younger := resolve.Role{Ranked: true, Priority: writer(90).Priority}
	a, b, both := []string{"=a"}, []string{"=b"}, []string{"=a", "=b"}
	for _, x := range []meeting{
		{"reader, staged: does not wait", s, a, "=a", reader, 0, false},
		{"reader, pending, primary at expected: does not wait", p, b, "=b", reader, 0, false},
		{"reader, pending primary: waits, then kills", p, a, "=a", reader, patience, true},
		{"reader, pending secondary: waits, then kills", p, both, "=b", reader, patience, true},
		{"older writer kills a pending one at once", p, both, "=a", writer(10), 0, true},
		{"at its secondary too", p, both, "=b", writer(10), 0, true},
		{"or if its primary is at expected", p, b, "=b", writer(10), 0, true},
		{"older writer grants a staged one the latency of a write", s, a, "=a", writer(10),
			grant, true},
		{"younger writer waits for a staged one", s, a, "=a", writer(90), patience, true},
		{"younger writer waits for a pending one", p, both, "=a", writer(90), patience, true},
		{"younger writer, primary at expected", p, b, "=b", writer(90), patience, true},
		{"older validator kills a pending one at once", p, both, "=b", validator, 0, true},
		{"younger validator waits", p, both, "=b", younger, patience, true},
		{"validator, staged: does not wait", s, a, "=a", validator, 0, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				w.Rival(50, x.mode, "=a", "=b").Place(x.placed...)
				c := w.client()
				rd, took := c.effective(x.at, x.role)
				value, by := rd.Effective()
				assert.Equal(t, inline("v"), value, "the committed value")
				assert.Equal(t, id(1), by)
				assert.Equal(t, x.waits, took.Round(time.Millisecond))
				assert.Equal(t, x.killed, w.fenced(), "killed")
				if !x.killed {
					assert.Zero(t, c.requests(faulty.Put), "who does not kill does not write")
				}
			})
		})
	}
}

// Without any patience two validated attempts that read what the other writes would kill
// each other in step for ever: a younger one grants an older four write latencies all the
// same. A reader without intents does not.
func TestNoPatienceAtAll(t *testing.T) {
	younger := resolve.Role{Ranked: true, Priority: writer(90).Priority}
	for _, x := range []struct {
		name  string
		role  resolve.Role
		waits time.Duration
	}{
		{"younger writer", writer(90), 4 * grant},
		{"younger validator", younger, 4 * grant},
		{"older writer", writer(10), 0},
		{"reader", reader, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				w.Rival(50, cell.Pending, "=a", "=b").Place("=a", "=b")
				_, took := w.clientOf(0).effective("=a", x.role)
				assert.Equal(t, x.waits, took.Round(time.Millisecond))
				assert.True(t, w.fenced())
			})
		})
	}
}

// fenced reports whether the attempt of priority 50 on =a and =b cannot commit any more:
// some member is off, as a new client finds out.
func (w *world) fenced() bool {
	for _, name := range []string{"=a", "=b"} {
		if c, _ := w.Cell(name); c.Holds(id(50)) {
			return w.client().status(name).Outcome == cell.Dead
		}
	}
	return true // nobody holds its intent any more
}

// A lock changes no value: readers need no status.
func TestReadersDoNotAskForTheStatusOfALock(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		r := w.Rival(50, cell.Pending, "=a", "=b")
		r.Intent.Action, r.Intent.Value = cell.Lock, cell.Value{}
		r.Place("=a", "=b")
		c := w.client()
		rd, took := c.effective("=b", reader)
		value, by := rd.Effective()
		assert.Equal(t, inline("v"), value)
		assert.Equal(t, id(1), by)
		assert.Zero(t, took)
		assert.Equal(t, 1, c.requests(faulty.Get))
	})
}

func TestPatienceIsCountedInParallel(t *testing.T) {
	inWorld(t, func(w *world) {
		all := names(4)
		w.Value(1, all...)
		w.Rival(50, cell.Pending, "=a", "=b").Place("=a", "=b")
		w.Rival(51, cell.Pending, "=c", "=d").Place("=c", "=d")
		c := w.client()
		start := time.Now()
		done := make(chan struct{})
		for _, name := range []string{"=a", "=c"} {
			go func() { c.effective(name, reader); done <- struct{}{} }()
		}
		<-done
		<-done
		assert.Equal(t, patience, time.Since(start).Round(time.Millisecond))
	})
}

// The time counts from when the attempt was first met, whoever of the handle met it.
func TestPatienceCountsFromTheFirstMeeting(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.Rival(50, cell.Pending, "=a", "=b").Place("=a", "=b")
		c := w.client()
		ctx, cancel := context.WithTimeout(context.Background(), patience/2)
		defer cancel()
		_, err := c.rs.Effective(ctx, "=b", reader)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, took := c.effective("=b", reader)
		assert.Equal(t, patience/2, took.Round(time.Millisecond))
	})
}

func TestHeartbeatBeginsPatienceAnew(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.Rival(50, cell.Pending, "=a", "=b").Place("=a", "=b")
		c := w.client()
		const beats = 3
		go func() {
			for range beats {
				pass(patience * 3 / 4)
				held, _ := w.Cell("=a")
				w.Put("=a", cell.Fence(held))
			}
		}()
		_, took := c.effective("=b", reader)
		assert.GreaterOrEqual(t, took, beats*patience*3/4+patience*3/4, "killed a living owner")
		assert.Less(t, took, beats*patience*3/4+patience*5/4)
	})
}

func TestUndecidedThenCommittedWhileWaiting(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.Rival(50, cell.Pending, "=a", "=b").Place("=a", "=b")
		go func() {
			pass(patience / 2)
			held, _ := w.Cell("=a")
			w.Put("=a", cell.Commit(held, id(50), cell.Fold{}))
		}()
		rd, took := w.client().effective("=b", reader)
		value, by := rd.Effective()
		assert.Equal(t, inline("new"), value)
		assert.Equal(t, id(50), by)
		assert.Less(t, took, patience)
	})
}

func TestFenceRewritesTheMemberAtItsExpectedVersion(t *testing.T) {
	for _, m := range []cell.Mode{cell.Staged, cell.Pending} {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b")
			before, v := w.Cell("=a")
			w.Rival(50, m, "=a", "=b").Place("=b")
			c := w.client()
			c.effective("=b", writer(10))
			after, now := w.Cell("=a")
			assert.Equal(t, before, after, "unchanged but for the nonce")
			assert.NotEqual(t, v, now)
			var put faulty.Op
			for _, op := range c.Sent(faulty.Put, "") {
				put = op
			}
			assert.Equal(t, prefix+"=a", put.Name)
			assert.Equal(t, backend.IfVersion(v), put.Condition)
		})
	}
}

func TestFenceKeepsOthersIntentsAndMarks(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c", "=d")
		w.Rival(40, cell.Staged, "=a", "=c").Place("=a", "=c").Fold("=a")
		w.Rival(41, cell.Staged, "=a", "=d").Place("=a", "=d")
		before, _ := w.Cell("=a") // the mark of 40, and the committed intent of 41
		require.Len(t, before.Marks, 1)
		w.Rival(50, cell.Staged, "=a", "=b").Place("=b")
		w.client().effective("=b", writer(10))
		after, _ := w.Cell("=a")
		assert.Equal(t, before, after)
		assert.True(t, w.fenced())
	})
}

func TestFenceOfAnAbsentMemberCreatesATombstone(t *testing.T) {
	for _, m := range []cell.Mode{cell.Staged, cell.Pending} {
		inWorld(t, func(w *world) {
			w.Rival(50, m, "=a", "=b").Place("=b")
			rd, _ := w.client().effective("=b", writer(10))
			assert.True(t, rd.Absent(0))
			got, v := w.Cell("=a")
			assert.NotEmpty(t, v)
			assert.Equal(t, &cell.Cell{}, got, "a tombstone with writer none")
			assert.True(t, w.fenced())
		})
	}
}

func TestPendingPrimaryIsDropped(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		w.Rival(40, cell.Staged, "=a", "=c").Place("=a", "=c").Fold("=a")
		before, _ := w.Cell("=a")
		w.Rival(50, cell.Pending, "=a", "=b").Place("=a", "=b")
		rd, _ := w.client().effective("=b", writer(10))
		assert.Equal(t, cell.Dead, rd.Outcome)
		after, _ := w.Cell("=a")
		assert.Equal(t, before, after, "value and marks stay")
	})
}

// A fence that was refused, or whose outcome is unknown, proves nothing: the attempt
// may have committed.
func TestRefusedFenceProvesNothing(t *testing.T) {
	t.Run("staged: the last intent lands first", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b")
			r := w.Rival(50, cell.Staged, "=a", "=b").Place("=a")
			c := w.client()
			c.Before(faulty.Put, "=b", 0, func(context.Context) error { r.Place("=b"); return nil })
			rd, _ := c.effective("=a", writer(10))
			assert.Equal(t, cell.Committed, rd.Outcome)
		})
	})
	t.Run("pending: the commit write lands first", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b")
			w.Rival(50, cell.Pending, "=a", "=b").Place("=a", "=b")
			c := w.client()
			c.Before(faulty.Put, "=a", 0, func(context.Context) error {
				held, _ := w.Cell("=a")
				w.Put("=a", cell.Commit(held, id(50), cell.Fold{}))
				return nil
			})
			rd, _ := c.effective("=b", writer(10))
			assert.Equal(t, cell.Committed, rd.Outcome)
		})
	})
	t.Run("pending: it was asked at its primary", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b")
			w.Rival(50, cell.Pending, "=a", "=b").Place("=a", "=b")
			c := w.client()
			c.Before(faulty.Put, "=a", 0, func(context.Context) error {
				held, _ := w.Cell("=a")
				w.Put("=a", cell.Commit(held, id(50), cell.Fold{}))
				return nil
			})
			rd, _ := c.effective("=a", writer(10))
			assert.Equal(t, inline("new"), rd.Cell.Value)
			assert.Equal(t, 1, c.requests(faulty.Put))
		})
	})
	t.Run("unknown, and never applied", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b")
			r := w.Rival(50, cell.Staged, "=a", "=b").Place("=a")
			c := w.client()
			c.Before(faulty.Put, "=b", 0, func(context.Context) error {
				r.Place("=b")
				return backend.ErrOutcomeUnknown
			})
			rd, _ := c.effective("=a", writer(10))
			assert.Equal(t, cell.Committed, rd.Outcome)
		})
	})
	t.Run("unknown, but applied", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b")
			w.Rival(50, cell.Staged, "=a", "=b").Place("=a")
			c := w.client()
			c.LoseAnswer("=b", 0, nil)
			rd, _ := c.effective("=a", writer(10))
			assert.Equal(t, cell.Dead, rd.Outcome)
		})
	})
}

func TestKillFailsWithTheStore(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.Rival(50, cell.Staged, "=a", "=b").Place("=a")
		c := w.client()
		c.Before(faulty.Put, "=b", 0, func(context.Context) error { return backend.ErrDenied })
		_, err := c.rs.Effective(context.Background(), "=a", writer(10))
		assert.ErrorIs(t, err, backend.ErrDenied)
		assert.False(t, w.fenced())
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.Rival(50, cell.Pending, "=a", "=b").Place("=a", "=b")
		ctx, cancel := context.WithTimeout(context.Background(), patience/4)
		defer cancel()
		start := time.Now()
		_, err := w.client().rs.Effective(ctx, "=a", reader)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, patience/4, time.Since(start))
		assert.False(t, w.fenced())
	})
}

// Several who wait for one attempt run out of patience at once: one kills it, and all
// are done.
func TestOneKillServesAllWhoWait(t *testing.T) {
	for _, m := range []cell.Mode{cell.Staged, cell.Pending} {
		inWorld(t, func(w *world) {
			all := names(10)
			w.Value(1, all...)
			w.Rival(50, m, all...).Place(all[:9]...)
			c := w.client()
			waits := make(chan time.Duration)
			for _, name := range all[:9] {
				go func() {
					_, took := c.effective(name, writer(90))
					waits <- took.Round(time.Millisecond)
				}()
			}
			for range all[:9] {
				assert.Equal(t, patience, <-waits)
			}
		})
	}
}

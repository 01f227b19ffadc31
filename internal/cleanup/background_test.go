package cleanup_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
)

func TestResolvingFoldsEveryMember(t *testing.T) {
	inWorld(t, func(w *world) {
		all := names(3)
		w.Value(1, all...)
		r := w.Rival(50, cell.Staged, all...).Place(all...)
		c := w.client()
		c.rs.Committed(id(50), r.Intent.Members)
		c.bg.Resolve(id(50), all, false)
		c.drain()
		for _, name := range all {
			got, _ := w.Cell(name)
			assert.Nil(t, got.Intent)
			assert.Equal(t, id(50), got.Writer)
		}
		assert.Equal(t, 3, c.requests(faulty.Put))
		a, _ := w.Cell(all[0])
		assert.True(t, a.Names(id(50)), "marks stay, and cost no request")
	})
}

func TestResolvingRemovesWhatADeadAttemptLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		w.Rival(50, cell.Pending, "=a", "=b", "=c").Place("=a", "=b")
		c := w.client()
		c.rs.Dead(id(50))
		c.Before(faulty.Put, "=a", 0, func(context.Context) error { pass(time.Second); return nil })
		c.bg.Resolve(id(50), []string{"=a", "=b", "=c"}, true)
		c.Before(faulty.Put, "=b", 0, func(context.Context) error {
			primary, _ := w.Cell("=a")
			assert.Nil(t, primary.Intent, "a pending primary first")
			return nil
		})
		c.drain()
		for _, name := range []string{"=a", "=b", "=c"} {
			got, _ := w.Cell(name)
			assert.Nil(t, got.Intent)
			assert.Equal(t, id(1), got.Writer)
		}
		assert.Equal(t, 2, c.requests(faulty.Put))
	})
}

// The owner does not know what its attempt came to: the background finds out, or kills
// it.
func TestResolvingAnAttemptInDoubt(t *testing.T) {
	for _, x := range []struct {
		name   string
		mode   cell.Mode
		placed []string
		writer byte
	}{
		{"staged, all landed: committed", cell.Staged, []string{"=a", "=b"}, 50},
		{"staged, some landed: killed", cell.Staged, []string{"=b"}, 1},
		{"pending, not committed: killed", cell.Pending, []string{"=a", "=b"}, 1},
		{"pending, its primary has not landed: killed", cell.Pending, []string{"=b"}, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				w.Rival(50, x.mode, "=a", "=b").Place(x.placed...)
				c := w.client()
				c.bg.Resolve(id(50), []string{"=a", "=b"}, x.mode == cell.Pending)
				c.drain()
				for _, name := range []string{"=a", "=b"} {
					got, _ := w.Cell(name)
					assert.Nil(t, got.Intent)
					assert.Equal(t, id(x.writer), got.Writer)
				}
			})
		})
	}
}

// What others have folded meanwhile is let be.
func TestResolvingWhatOthersHaveFolded(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		r := w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
		c := w.client()
		for _, name := range []string{"=a", "=b"} {
			_, err := c.rs.Read(context.Background(), name)
			require.NoError(t, err)
		}
		c.rs.Committed(id(50), r.Intent.Members)
		c.Before(faulty.Put, "=a", 0, func(context.Context) error {
			r.Fold("=a")
			w.Rival(51, cell.Staged, "=a", "=c").Place("=a")
			return nil
		})
		c.bg.Resolve(id(50), []string{"=a", "=b"}, false)
		c.drain()
		got, _ := w.Cell("=a")
		assert.True(t, got.Holds(id(51)), "another attempt's intent is none of its business")
		_, marked := got.Mark(id(50))
		assert.True(t, marked)
	})
}

func TestClaimTakesACellFromTheBackground(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		r := w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
		c := w.client()
		c.rs.Committed(id(50), r.Intent.Members)
		c.bg.Resolve(id(50), []string{"=a", "=b"}, false)
		ctx := context.Background()
		tx, err := c.bg.Claim(ctx, "=a")
		require.NoError(t, err)
		assert.Equal(t, id(50), tx)
		tx, err = c.bg.Claim(ctx, "=a")
		require.NoError(t, err)
		assert.True(t, tx.IsZero(), "it is claimed already")
		tx, err = c.bg.Claim(ctx, "=c")
		require.NoError(t, err)
		assert.True(t, tx.IsZero(), "nothing was left there")
		c.drain()
		got, _ := w.Cell("=a")
		assert.True(t, got.Holds(id(50)), "left to whoever claimed it")
		got, _ = w.Cell("=b")
		assert.Nil(t, got.Intent)
		c.bg.Resolve(id(50), []string{"=a"}, false)
		c.drain()
		got, _ = w.Cell("=a")
		assert.Nil(t, got.Intent, "queued again")
	})
}

func TestClaimWaitsForACellThatIsBeingResolved(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		r := w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
		c := w.client()
		c.rs.Committed(id(50), r.Intent.Members)
		gate := make(chan struct{})
		c.Before(faulty.Put, "=a", 0, func(context.Context) error { <-gate; return nil })
		c.bg.Resolve(id(50), []string{"=a"}, false)
		go c.drain()
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := c.bg.Claim(ctx, "=a")
		require.ErrorIs(t, err, context.Canceled)
		done := make(chan struct{})
		go func() {
			tx, err := c.bg.Claim(context.Background(), "=a")
			assert.NoError(t, err)
			assert.True(t, tx.IsZero())
			close(done)
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("the cell is still being resolved")
		default:
		}
		close(gate)
		<-done
		got, _ := w.Cell("=a")
		assert.Nil(t, got.Intent)
	})
}

func TestBackgroundEndsWithItsLife(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		r := w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
		c := w.client()
		c.rs.Committed(id(50), r.Intent.Members)
		c.bg.Resolve(id(50), []string{"=a", "=b"}, false)
		c.stop()
		c.drain()
		assert.Zero(t, c.requests(faulty.Put))
	})
}

func TestResolvingGivesUpIfTheStoreRefuses(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		r := w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
		c := w.client()
		c.rs.Committed(id(50), r.Intent.Members)
		c.Before(faulty.Put, "=a", 0, func(context.Context) error { return backend.ErrDenied })
		c.bg.Resolve(id(50), []string{"=a", "=b"}, false)
		c.drain()
		got, _ := w.Cell("=a")
		assert.True(t, got.Holds(id(50)))
		got, _ = w.Cell("=b")
		assert.Nil(t, got.Intent)
		rd, err := w.client().rs.Effective(context.Background(), "=a", resolve.Role{})
		require.NoError(t, err)
		assert.Equal(t, cell.Committed, rd.Outcome)
	})
}

// The intents of an attempt with hot members are left to the next writer for a while.
func TestHotCellsAreResolvedLate(t *testing.T) {
	const late = 75 * time.Millisecond // 1.5 latencies of a write, as long as none was measured
	for _, folded := range []bool{false, true} {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b")
			r := w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
			c := w.client()
			c.rs.Committed(id(50), r.Intent.Members)
			c.keys.Lost("=a")
			c.bg.ResolveLate(id(50), []string{"=a", "=b"})
			c.rs.Committed(id(51), cell.Members{})
			pass(late - 1)
			synctest.Wait()
			assert.Zero(t, c.requests(faulty.Put))
			if folded {
				r.Fold("=a", "=b")
			}
			pass(time.Second)
			synctest.Wait()
			for _, name := range []string{"=a", "=b"} {
				got, _ := w.Cell(name)
				assert.Nil(t, got.Intent)
				assert.Equal(t, id(50), got.Writer)
			}
			assert.Equal(t, map[bool]int{false: 2, true: 0}[folded], c.requests(faulty.Put))
		})
	}
}

// Late work does not hold up other work, and Drain does it at once.
func TestLateAndSoon(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		hot := w.Rival(50, cell.Staged, "=a").Place("=a")
		cold := w.Rival(51, cell.Staged, "=b").Place("=b")
		c := w.client()
		c.rs.Committed(id(50), hot.Intent.Members)
		c.rs.Committed(id(51), cold.Intent.Members)
		c.bg.ResolveLate(id(50), []string{"=a"})
		c.bg.Resolve(id(51), []string{"=b"}, false)
		pass(10 * time.Millisecond)
		synctest.Wait()
		a, _ := w.Cell("=a")
		b, _ := w.Cell("=b")
		assert.NotNil(t, a.Intent)
		assert.Nil(t, b.Intent)
		start := time.Now()
		c.drain()
		a, _ = w.Cell("=a")
		assert.Nil(t, a.Intent)
		assert.Zero(t, time.Since(start))
	})
}

package resolve_test

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
)

func (c *client) drain() { require.NoError(c.w.T, c.rs.Drain(context.Background())) }

func TestResolvingFoldsEveryMember(t *testing.T) {
	inWorld(t, func(w *world) {
		all := names(3)
		w.Value(1, all...)
		r := w.Rival(50, cell.Staged, all...).Place(all...)
		c := w.client()
		c.rs.Committed(id(50), r.Intent.Members)
		c.rs.Resolve(id(50), all, false)
		c.drain()
		for _, name := range all {
			got, _ := w.Cell(name)
			assert.Nil(t, got.Intent)
			assert.Equal(t, id(50), got.Writer)
		}
		assert.Equal(t, 3, c.requests(faulty.Put))
		assert.NotEmpty(t, w.carries(50, all...), "marks stay, and cost no request")
	})
}

func TestResolvingRemovesWhatADeadAttemptLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		w.Rival(50, cell.Pending, "=a", "=b", "=c").Place("=a", "=b")
		c := w.client()
		c.rs.Dead(id(50))
		c.Before(faulty.Put, "=a", 0, func(context.Context) error { pass(time.Second); return nil })
		c.rs.Resolve(id(50), []string{"=a", "=b", "=c"}, true)
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
				c.rs.Resolve(id(50), []string{"=a", "=b"}, x.mode == cell.Pending)
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
		c.read("=a")
		c.read("=b")
		c.rs.Committed(id(50), r.Intent.Members)
		c.Before(faulty.Put, "=a", 0, func(context.Context) error {
			r.Fold("=a")
			w.Rival(51, cell.Staged, "=a", "=c").Place("=a")
			return nil
		})
		c.rs.Resolve(id(50), []string{"=a", "=b"}, false)
		c.drain()
		got, _ := w.Cell("=a")
		assert.True(t, got.Holds(id(51)), "another attempt's intent is none of its business")
		assert.NotEmpty(t, w.carries(50, "=a"))
	})
}

func TestClaimTakesACellFromTheBackground(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		r := w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
		c := w.client()
		c.rs.Committed(id(50), r.Intent.Members)
		c.rs.Resolve(id(50), []string{"=a", "=b"}, false)
		ctx := context.Background()
		tx, err := c.rs.Claim(ctx, "=a")
		require.NoError(t, err)
		assert.Equal(t, id(50), tx)
		tx, err = c.rs.Claim(ctx, "=a")
		require.NoError(t, err)
		assert.True(t, tx.IsZero(), "it is claimed already")
		tx, err = c.rs.Claim(ctx, "=c")
		require.NoError(t, err)
		assert.True(t, tx.IsZero(), "nothing was left there")
		c.drain()
		got, _ := w.Cell("=a")
		assert.True(t, got.Holds(id(50)), "left to whoever claimed it")
		got, _ = w.Cell("=b")
		assert.Nil(t, got.Intent)
		c.rs.Resolve(id(50), []string{"=a"}, false)
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
		c.rs.Resolve(id(50), []string{"=a"}, false)
		go c.drain()
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := c.rs.Claim(ctx, "=a")
		require.ErrorIs(t, err, context.Canceled)
		done := make(chan struct{})
		go func() {
			tx, err := c.rs.Claim(context.Background(), "=a")
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
		c.rs.Resolve(id(50), []string{"=a", "=b"}, false)
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
		c.rs.Resolve(id(50), []string{"=a", "=b"}, false)
		c.drain()
		got, _ := w.Cell("=a")
		assert.True(t, got.Holds(id(50)))
		got, _ = w.Cell("=b")
		assert.Nil(t, got.Intent)
		assert.Equal(t, cell.Committed, w.client().status("=a").Outcome)
	})
}

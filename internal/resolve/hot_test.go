package resolve_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
)

// A key is doubted for ten seconds after it has lost a CAS, and hot after it has lost two
// that came no more than that apart; each further one renews that.
func TestHotKeysCool(t *testing.T) {
	const hotFor = 10 * time.Second
	inWorld(t, func(w *world) {
		c := w.client()
		is := func(doubted, hot bool, name string) {
			t.Helper()
			assert.Equal(t, doubted, c.rs.Doubted(name))
			assert.Equal(t, hot, c.rs.Hot(name))
		}
		is(false, false, "=a")
		c.rs.Lost("=a")
		c.rs.Lost("=b")
		pass(hotFor - 1)
		is(true, false, "=a")
		c.rs.Lost("=a")
		is(true, true, "=a")
		pass(1)
		is(false, false, "=b")
		c.rs.Lost("=b")
		is(true, false, "=b")
		pass(hotFor - 2)
		is(true, true, "=a")
		pass(2)
		is(false, false, "=a")
	})
}

// A doubt is no loss: it does not make a key hot, nor keep it so.
func TestDoubt(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.client()
		c.rs.Doubt("=a")
		c.rs.Doubt("=a")
		assert.True(t, c.rs.Doubted("=a"))
		assert.False(t, c.rs.Hot("=a"))
		c.rs.Lost("=a")
		c.rs.Lost("=a")
		pass(6 * time.Second)
		c.rs.Doubt("=a")
		assert.True(t, c.rs.Hot("=a"))
		pass(6 * time.Second)
		assert.True(t, c.rs.Doubted("=a"))
		assert.False(t, c.rs.Hot("=a"))
	})
}

// Of many hot keys those are forgotten that were remembered first.
func TestHotKeysAreBounded(t *testing.T) {
	const hotMax = 1024
	inWorld(t, func(w *world) {
		c := w.client()
		for i := range hotMax + 10 {
			c.rs.Lost(fmt.Sprint(i))
		}
		for i := range hotMax + 10 {
			assert.Equal(t, i >= 10, c.rs.Doubted(fmt.Sprint(i)), "key %d", i)
		}
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
			c.rs.Lost("=a")
			c.rs.ResolveLate(id(50), []string{"=a", "=b"})
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
		c.rs.ResolveLate(id(50), []string{"=a"})
		c.rs.Resolve(id(51), []string{"=b"}, false)
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

// readsOf is the number of times that a cell was read.
func (c *client) readsOf(name string) int { return len(c.Sent(faulty.Get, name)) }

// Who waits for a staged attempt asks again only for what was missing; what it has seen
// land has landed.
func TestOnlyMissingMembersAreAskedAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		all := names(4)
		w.Value(9, all...)
		r := w.Rival(1, cell.Staged, all...).Place(all[:3]...)
		c := w.client()
		time.AfterFunc(100*time.Millisecond, func() { r.Place(all[3]) })
		role := resolve.Role{Writer: true, Ranked: true}
		role.Priority.Time = 2
		rd, _ := c.effective(all[0], role)
		assert.Equal(t, cell.Committed, rd.Outcome)
		assert.Equal(t, 1, c.readsOf(all[0]))
		assert.Equal(t, 1, c.readsOf(all[1]))
		assert.Greater(t, c.readsOf(all[3]), 2)
		assert.Zero(t, c.requests(faulty.Put))
	})
}

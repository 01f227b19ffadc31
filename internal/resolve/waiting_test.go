package resolve_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
)

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

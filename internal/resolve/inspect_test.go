package resolve_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
)

// TestInspectACell: without an intent it has no members; of one they are shown as they are, and
// nothing is written.
func TestInspectACell(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(9, "=a", "=b", "=c")
		w.Rival(1, cell.Staged, "=a", "=b").Place("=a")
		c := w.client()
		rd, seen, err := c.rs.Inspect(context.Background(), "=c")
		require.NoError(t, err)
		assert.Nil(t, rd.Cell.Intent)
		assert.Empty(t, seen)

		rd, seen, err = c.rs.Inspect(context.Background(), "=a")
		require.NoError(t, err)
		assert.Equal(t, cell.Undecided, rd.Outcome)
		shows := map[string]string{}
		for _, s := range seen {
			shows[s.Name] = s.Shows
		}
		assert.Equal(t, map[string]string{"=a": resolve.ShowsIntent, "=b": resolve.ShowsExpected},
			shows)
		assert.Zero(t, c.requests(faulty.Put))
	})
}

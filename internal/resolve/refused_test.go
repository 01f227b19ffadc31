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
)

// A store refuses every rewrite of cells, although they are still at the versions that it
// reports. That is not tried for ever, nor without a pause.
func TestRewritesThatAreRefusedForGood(t *testing.T) {
	fence := func(mode cell.Mode) func(ctx context.Context, w *world, c *client) error {
		return func(ctx context.Context, w *world, c *client) error {
			w.Rival(50, mode, "=b", "=a").Place("=a")
			c.Refuse("=a", "=b")
			_, err := c.rs.Effective(ctx, "=a", writer(1))
			return err
		}
	}
	for name, do := range map[string]func(ctx context.Context, w *world, c *client) error{
		"a fence of a staged attempt":  fence(cell.Staged),
		"a fence of a pending attempt": fence(cell.Pending),
		"a drop of an intent": func(ctx context.Context, w *world, c *client) error {
			w.Rival(50, cell.Pending, "=a", "=b").Place("=a")
			c.Refuse("=a")
			_, err := c.rs.Effective(ctx, "=a", writer(1))
			return err
		},
		"a sweep": func(ctx context.Context, w *world, c *client) error {
			w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
			c.Refuse("=a")
			_, err := c.rs.Tidy(ctx, "=a", false)
			return err
		},
		"compact": func(ctx context.Context, w *world, c *client) error {
			w.full("=a", 20)
			w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
			c.Refuse("=ma0")
			rd, _ := c.effective("=a", writer(99))
			return c.rs.CompactMarks(ctx, rd, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				c := w.client()
				ctx, leave := context.WithCancel(background)
				defer leave()
				c.Every(func(context.Context, faulty.Op, *faulty.Answer) {
					if c.requests(faulty.Put) > 100 {
						leave() // else it would go on without time going by
					}
				})
				began := time.Now()
				err := do(ctx, w, c)
				require.ErrorIs(t, err, backend.ErrUnavailable)
				assert.ErrorContains(t, err, "refused")
				assert.Greater(t, time.Since(began), time.Second, "it pauses")
				assert.Less(t, time.Since(began), time.Minute)
			})
		})
	}
}

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

// Readers of one handle who wait for the same attempt ask the store no more often than one of
// them would, and all learn what it has come to at once.
func TestACrowdWaitsTogether(t *testing.T) {
	const readers, answer = 100, 20 * time.Millisecond
	for _, x := range []struct {
		name    string
		members []string
		apart   time.Duration // between two readers
		most    int           // requests
	}{
		{"all at once, at the primary", []string{"=b", "=z"}, 0, 20},
		{"all at once, at another member", []string{"=a", "=b"}, 0, 50},
		{"one after another", []string{"=b", "=z"}, 5 * time.Millisecond, 60},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=z")
				r := w.Rival(50, cell.Pending, x.members...).Place(x.members...)
				c := w.client()
				c.Every(func(_ context.Context, _ faulty.Op, a *faulty.Answer) {
					if a == nil {
						pass(answer)
					}
				})
				go func() {
					pass(3 * patience / 4)
					r.Fold(x.members[0])
				}()
				type end struct {
					rd  resolve.Reading
					at  time.Time
					err error
				}
				ends := make(chan end)
				for range readers {
					go func() {
						rd, err := c.rs.Shared(background, "=b", c.st.Tick())
						ends <- end{rd, time.Now(), err}
					}()
					pass(x.apart)
				}
				var first, last time.Time
				for range readers {
					e := <-ends
					require.NoError(t, e.err)
					v, _ := e.rd.Effective()
					assert.Equal(t, "new", string(v.Data))
					if last = e.at; first.IsZero() {
						first = e.at
					}
				}
				assert.LessOrEqual(t, last.Sub(first), 3*answer)
				assert.LessOrEqual(t, c.requests(faulty.Get), x.most)
			})
		})
	}
}

var background = context.Background()

// Who waits does not suffer if the one who asks leaves, or fails.
func TestACrowdDoesNotDependOnWhoAsks(t *testing.T) {
	for name, fail := range map[string]error{"leaves": nil, "fails": backend.ErrDenied} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a")
				r := w.Rival(50, cell.Pending, "=a").Place("=a")
				c := w.client()
				ctx, leave := context.WithCancel(background)
				defer leave()
				c.Before(faulty.Get, "=a", 2, func(context.Context) error {
					pass(time.Millisecond)
					leave()
					return fail
				})
				go func() {
					_, err := c.rs.Effective(ctx, "=a", resolve.Role{})
					assert.Error(t, err)
				}()
				go func() {
					pass(patience / 2)
					r.Fold("=a")
				}()
				pass(time.Millisecond)
				rd, took := c.effective("=a", resolve.Role{})
				v, _ := rd.Effective()
				assert.Equal(t, "new", string(v.Data))
				assert.Less(t, took, patience)
			})
		})
	}
}

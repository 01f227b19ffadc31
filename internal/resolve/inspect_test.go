package resolve_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
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

// From a secondary of a long list all members are found by the primary, as long as that remembers
// them.
func TestInspectALongList(t *testing.T) {
	for _, x := range []struct {
		name string
		then func(r *rival)
		at   string
		want map[string]string
	}{
		{"asked at the primary", func(*rival) {}, "=a", map[string]string{
			"=a": resolve.ShowsIntent, "=b": resolve.ShowsIntent, "=j": resolve.ShowsExpected}},
		{"the primary holds the intent", func(*rival) {}, "=b", map[string]string{
			"=a": resolve.ShowsIntent, "=b": resolve.ShowsIntent, "=j": resolve.ShowsExpected}},
		{"it carries the mark", func(r *rival) { r.Place("=j").Fold("=a") }, "=b",
			map[string]string{
				"=a": resolve.ShowsMark, "=b": resolve.ShowsIntent, "=j": resolve.ShowsIntent}},
		{"it carries it no more", func(r *rival) {
			r.Place("=j").Fold("=a").Settled(70, "=a")
		}, "=b", map[string]string{"=a": resolve.ShowsOther}},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				all := names(10)
				w.Value(1, all...)
				x.then(w.Rival(50, cell.Staged, all...).Place(all[:9]...))
				c := w.client()
				_, seen, err := c.rs.Inspect(background, x.at)
				require.NoError(t, err)
				shows := map[string]string{}
				for _, s := range seen {
					shows[s.Name] = s.Shows
				}
				for name, want := range x.want {
					assert.Equal(t, want, shows[name], name)
				}
				assert.Len(t, shows, map[bool]int{true: 10, false: 1}[len(x.want) > 1])
				assert.Zero(t, c.requests(faulty.Put))
			})
		})
	}
}

// A tombstone that is condemned is not lifted for that, and nothing is concluded from it.
func TestInspectWritesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		w.Rival(50, cell.Staged, "=a", "=b").Place("=a")
		w.condemned("=b")
		c := w.client()
		rd, seen, err := c.rs.Inspect(background, "=a")
		require.NoError(t, err)
		assert.Equal(t, cell.Undecided, rd.Outcome)
		require.Len(t, seen, 2)
		assert.Equal(t, resolve.ShowsExpected, seen[1].Shows)
		assert.Zero(t, c.requests(faulty.Put))
	})
}

func TestInspectFailsWithTheStore(t *testing.T) {
	for nth, fails := range []bool{true, true, true, false} { // status, the list, and all of it
		inWorld(t, func(w *world) {
			all := names(10)
			w.Value(1, all...)
			w.Rival(50, cell.Staged, all...).Place(all...)
			c := w.client()
			c.Before(faulty.Get, "=a", nth, func(context.Context) error {
				return backend.ErrDenied
			})
			_, _, err := c.rs.Inspect(background, "=b")
			assert.Equal(t, fails, errors.Is(err, backend.ErrDenied), nth)
		})
	}
}

package scan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
)

// TestCellsAlone: of a listing, values that are objects of their own, and what is not the
// database's, are no cells: else a collection of which nothing but garbage is left would count.
func TestCellsAlone(t *testing.T) {
	names := []string{
		"+c/=a", keyspace.Value("+c/=a", strings.Repeat("0", 32)), "+c/foreign", "+c/=b",
	}
	var told []string
	listing := func(yield func(backend.Info, error) bool) {
		for _, name := range names {
			if !yield(backend.Info{Name: name, Size: 10}, nil) {
				return
			}
		}
	}
	for x, err := range cells(listing) {
		require.NoError(t, err)
		told = append(told, x.Name)
	}
	assert.Equal(t, []string{"+c/=a", "+c/=b"}, told)
}

// TestListedShapes: by its size a cell has a value, has none, or must be read, which also one must
// that the store knows to be damaged; and an error ends the listing.
func TestListedShapes(t *testing.T) {
	infos := []backend.Info{
		{Name: "=value", Size: 4}, {Name: "=tombstone", Size: 5}, {Name: "=look", Size: 6},
		{Name: "=condemned", Size: 7}, {Name: "=damaged", Size: 5, Damaged: true},
	}
	var shapes []cell.Shape
	var gone []string
	var failed error
	for x, err := range cells(func(yield func(backend.Info, error) bool) {
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
		yield(backend.Info{Name: "=last"}, backend.ErrDenied)
	}) {
		if err != nil {
			assert.NoError(t, failed, "told twice")
			failed = err
			continue
		}
		if shapes = append(shapes, x.Shape); x.Gone() {
			gone = append(gone, x.Name)
		}
	}
	require.ErrorIs(t, failed, backend.ErrDenied)
	assert.Equal(t, []cell.Shape{cell.ShapeValue, cell.ShapeTombstone, cell.ShapeLook,
		cell.ShapeCondemned, cell.ShapeLook}, shapes)
	assert.Equal(t, []string{"=tombstone", "=condemned"}, gone)
}

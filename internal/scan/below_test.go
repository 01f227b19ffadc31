package scan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
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

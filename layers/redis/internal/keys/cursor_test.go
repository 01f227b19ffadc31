package keys_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/layers/redis/internal/keys"
)

// TestCursorsBounded: those that were used longest ago go, by number and by the bytes of places.
func TestCursorsBounded(t *testing.T) {
	var c keys.Cursors
	kept := func(place string, n int) (numbers []uint64) {
		for range n {
			numbers = append(numbers, c.Keep(place))
		}
		return numbers
	}
	known := func(numbers []uint64) (n int) {
		for _, number := range numbers {
			if _, ok := c.Place(number); ok {
				n++
			}
		}
		return n
	}
	short := kept("a", keys.CursorsMax+10)
	assert.Equal(t, keys.CursorsMax, known(short))
	place := strings.Repeat("x", keys.NameMax)
	const fit = keys.CursorBytesMax / keys.NameMax
	long := kept(place, fit+10)
	assert.Equal(t, fit, known(long))
	assert.Zero(t, known(short))
	got, ok := c.Place(long[len(long)-1])
	assert.True(t, ok)
	assert.Equal(t, place, got)
}

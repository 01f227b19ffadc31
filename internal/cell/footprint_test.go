package cell_test

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/cell"
)

// The runtime tells what it allocates by the capacity of what it has grown. That this is
// all that a cell takes is tested in package cache, against the heap.
func TestAllocatedIsWhatTheRuntimeAllocates(t *testing.T) {
	for n := 1; n < 100<<10; n += 1 + n/200 {
		require.Equal(t, cap(slices.Grow([]byte(nil), n)), cell.Allocated(n), "%d bytes", n)
	}
	assert.Zero(t, cell.Allocated(0))
}

// Whoever keeps a decoded cell keeps what it was decoded from only for an inline value.
func TestFootprintOfWhatACellWasReadFrom(t *testing.T) {
	const small, large = 1000, 50_000
	for name, x := range map[string]struct {
		c     *cell.Cell
		keeps bool
	}{
		"inline value": {valued(), true},
		"intent with an inline value": {
			cell.Place(&cell.Cell{}, cell.Fold{}, intent(7, cell.Staged, cell.Put)), true,
		},
		"tombstone": {&cell.Cell{Writer: id(1)}, false},
		"external value": {
			&cell.Cell{Writer: id(1), Value: cell.Value{Kind: cell.External, Ref: "*a"}}, false,
		},
	} {
		more := x.c.Footprint(large) - x.c.Footprint(small)
		want := 0
		if x.keeps {
			want = cell.Allocated(large) - cell.Allocated(small)
		}
		assert.Equal(t, want, more, name)
	}
}

func TestApart(t *testing.T) {
	decoded := func(c *cell.Cell) *cell.Cell {
		d, err := cell.Decode(cell.Encode(c, nonce))
		require.NoError(t, err)
		return d
	}
	in := intent(7, cell.Staged, cell.Put)
	both := decoded(cell.Place(valued(), cell.Fold{}, in))
	apart := both.Apart()
	assert.Equal(t, cell.Encode(both, nonce), cell.Encode(apart, nonce), "it is the same cell")
	assert.Same(t, apart, apart.Apart(), "it is copied once")
	assert.False(t, shares(both.Value, apart.Value), "the value is a copy")
	assert.False(t, shares(both.Intent.Value, apart.Intent.Value), "the intent's too")

	expires := decoded(golden()["expiring-intent"])
	assert.Equal(t, cell.Encode(expires, nonce), cell.Encode(expires.Apart(), nonce))

	own := cell.Inlined(make([]byte, 8))
	in = intent(7, cell.Staged, cell.Put)
	in.Value = own
	placed := cell.Place(decoded(valued()), cell.Fold{}, in)
	apart = placed.Apart()
	assert.False(t, shares(placed.Value, apart.Value), "what was read is copied")
	assert.True(t, shares(own, apart.Intent.Value), "what is an allocation of its own is not")

	tombstone := &cell.Cell{Writer: id(1)}
	assert.Same(t, tombstone, tombstone.Apart(), "there is nothing to copy")
}

func shares(a, b cell.Value) bool {
	return unsafe.SliceData(a.Data) == unsafe.SliceData(b.Data)
}

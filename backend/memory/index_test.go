package memory

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIndexKeepsOrder inserts and removes at random, over many chunks, and
// compares with a sorted slice.
func TestIndexKeepsOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var x index
	var want []string
	for step := range 20 * chunkMax {
		name := fmt.Sprintf("%d", random.IntN(6*chunkMax))
		i, found := slices.BinarySearch(want, name)
		switch {
		case !found:
			want = slices.Insert(want, i, name)
			x.insert(name)
		case random.IntN(2) == 0 || step > 15*chunkMax:
			want = slices.Delete(want, i, i+1)
			x.remove(name)
		}
	}
	require.Greater(t, len(x.chunks), 2, "chunks that the test went over")
	require.Equal(t, want, all(&x))
	for _, name := range want {
		x.remove(name)
	}
	require.Empty(t, all(&x))
}

func TestIndexPast(t *testing.T) {
	var x index
	for _, name := range []string{"a", "a/", "a/b", "a0", "\xff", "\xff\xff", "\xff\xff/x"} {
		x.insert(name)
	}
	for prefix, want := range map[string]string{
		"a/": "a0", "a": "\xff", "a/b": "a0", "\xff": "", "\xff\xff/": "", "Z": "a",
	} {
		got, ok := x.at(x.past(prefix))
		require.Equal(t, want, got, "the name past all %q...", prefix)
		require.Equal(t, want != "", ok)
	}
}

func all(x *index) []string {
	var names []string
	for p := (position{}); ; p = x.next(p) {
		name, ok := x.at(p)
		if !ok {
			return names
		}
		names = append(names, name)
	}
}

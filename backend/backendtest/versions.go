package backendtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// testVersionsNeverRecur writes equal bytes again and again: a version that came
// back would let a writer replace a state that it has never seen. The suite asks
// for more than package backend, that none comes back after a deletion either.
func testVersionsNeverRecur(t *testing.T, h Harness) {
	seen := make(map[backend.Version]bool)
	fresh := func(v backend.Version) backend.Version {
		require.False(t, seen[v], "version %q came back", v)
		seen[v] = true
		return v
	}
	for range 5 {
		v := fresh(create(t, h.Backend, "name", "same"))
		for range 5 {
			v = fresh(replace(t, h.Backend, "name", "same", v))
		}
		expect(t, h.Backend, "name", "same", v)
		require.NoError(t, h.Backend.Delete(t.Context(), "name", v))
	}
}

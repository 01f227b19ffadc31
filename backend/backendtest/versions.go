package backendtest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// testVersionsNeverRecur writes equal bytes again and again: a version that came
// back would let a writer replace a state that it has never seen. The suite asks
// for more than package backend, that none comes back after a deletion either. Where
// versions stand for contents, other bytes must have other versions.
func testVersionsNeverRecur(t T, h Harness) {
	seen := make(map[backend.Version]bool)
	fresh := func(v backend.Version) backend.Version {
		require.False(t, seen[v], "version %q came back", v)
		seen[v] = true
		return v
	}
	for i := range 5 {
		data := "same"
		next := func(j int) string {
			if h.ContentVersions {
				data = fmt.Sprintf("%d.%d", i, j)
			}
			return data
		}
		v := fresh(create(t, h.Backend, "name", next(0)))
		for j := range 5 {
			v = fresh(replace(t, h.Backend, "name", next(1+j), v))
		}
		expect(t, h.Backend, "name", data, v)
		require.NoError(t, h.Backend.Delete(t.Context(), "name", v))
	}
}

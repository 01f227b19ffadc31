//go:build unix

package folder

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// TestModifiedIsNotBeforeTheEffect: a writer that was stopped for a day, when its file
// was complete but not yet in force, writes a young version, not one a day old.
func TestModifiedIsNotBeforeTheEffect(t *testing.T) {
	b := New(t.TempDir())
	b.fsync = func(f *os.File) error {
		if !strings.Contains(f.Name(), tempDir) {
			return nil
		}
		yesterday := time.Now().Add(-24 * time.Hour)
		return os.Chtimes(f.Name(), yesterday, yesterday)
	}
	modified := func() time.Time {
		t.Helper()
		page, err := b.List(t.Context(), backend.ListOptions{})
		require.NoError(t, err)
		require.Len(t, page.Objects, 1)
		return page.Objects[0].Modified
	}
	start := time.Now().Add(-quietMin) // The file system's clock ticks.
	v, err := b.Put(t.Context(), "name", nil, backend.IfAbsent())
	require.NoError(t, err)
	first := modified()
	require.True(t, first.After(start), "modified at %v, created after %v", first, start)

	require.Eventually(t, func() bool {
		v, err = b.Put(t.Context(), "name", nil, backend.IfVersion(v.Version))
		require.NoError(t, err)
		return modified().After(first)
	}, time.Minute, time.Millisecond, "a write moves the time of modification")
	_, err = b.Get(t.Context(), "name", "")
	require.NoError(t, err)
	require.Equal(t, modified(), modified(), "reads leave the time of modification")
}

//go:build unix

package folder

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// TestLockIsLost: who has claimed a folder excludes others also if the store's own directory
// is removed. The listing that has read it since shows what is written.
func TestLockIsLost(t *testing.T) {
	b := filled(t, 10, time.Hour)
	other := New(b.disk.dir, NoSync())
	lose := func() { require.NoError(t, os.RemoveAll(b.disk.dir+"/"+lockDir)) }

	h, err := b.lock(t.Context(), "+c")
	require.NoError(t, err)
	require.NoError(t, h.claim(t.Context(), "+c"))
	lose()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = other.Put(ctx, "c/new", nil, backend.IfAbsent())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	h.release()

	b.disk.fault = func(op, rel string) error {
		if op == "rename" {
			lose()
			require.Equal(t, []string{"c/000"}, names(t, other, first))
		}
		return nil
	}
	other.recent.min = 10
	put(t, b, "c/000 new")
	require.Equal(t, []string{"c/000 new"},
		names(t, other, backend.ListOptions{Prefix: "c/", After: "c/000", Limit: 1}))
}

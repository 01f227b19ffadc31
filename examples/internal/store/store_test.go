package store_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/internal/store"
)

func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s, err := store.Open(t.Context(), dir, "")
	require.NoError(t, err)
	db, err := strictkv.Open(t.Context(), "example", s)
	require.NoError(t, err)
	require.NoError(t, db.Close(t.Context()))
	require.NoError(t, s.Close())
	assert.DirExists(t, dir)

	_, err = store.Open(t.Context(), dir, "gs://bucket")
	assert.ErrorContains(t, err, "-tags cloud")
}

// TestTag: with the tag, an example knows every store.
func TestTag(t *testing.T) {
	for _, program := range []string{"analytics", "bank", "queue", "service", "settings", "sweep"} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-tags", "cloud", "-deps",
			"../../"+program)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "/backend/bucketurl\n", program)
	}
}

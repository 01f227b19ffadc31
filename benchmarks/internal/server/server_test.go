package server_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/benchmarks/internal/server"
)

// TestFakeGCS writes and reads an object on files.
func TestFakeGCS(t *testing.T) {
	url, err := server.Start(t, "fake-gcs-server")
	require.NoError(t, err)
	assert.NotEmpty(t, os.Getenv("STORAGE_EMULATOR_HOST"))
	b, err := bucketurl.Open(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	v, err := b.Put(t.Context(), "name", []byte("data"), backend.IfAbsent())
	require.NoError(t, err)
	_, err = b.Put(t.Context(), "name", nil, backend.IfAbsent())
	require.ErrorIs(t, err, backend.ErrPrecondition)
	_, err = b.Get(t.Context(), "name", v.Version)
	require.ErrorIs(t, err, backend.ErrNotModified)
	o, err := b.Get(t.Context(), "name", "")
	require.NoError(t, err)
	assert.Equal(t, "data", string(o.Data))
}

func TestNames(t *testing.T) {
	assert.Contains(t, server.Names(), "fake-gcs-server, azuretest, Azurite")
	_, err := server.Start(t, "none")
	assert.ErrorContains(t, err, server.Names())
}

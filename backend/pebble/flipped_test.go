package pebble_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// TestFlippedByte: a table with a byte that has changed is told of as damage, by Get or List, and
// the process goes on; what is elsewhere can be read.
func TestFlippedByte(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	value := make([]byte, 1000)
	for i := range 8000 { // more than the tables in memory hold
		for j := range value {
			value[j] = byte(i * j)
		}
		_, err := b.Put(t.Context(), fmt.Sprintf("%06d", i), value, backend.IfAbsent())
		require.NoError(t, err)
	}
	require.NoError(t, b.Close())
	tables, err := filepath.Glob(filepath.Join(dir, "*", "*.sst"))
	require.NoError(t, err)
	more, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	require.NoError(t, err)
	tables = append(tables, more...)
	require.NotEmpty(t, tables)
	for _, path := range tables {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		data[len(data)/3] ^= 1
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
	b = open(t, dir)
	damaged, right := 0, 0
	for i := range 8000 {
		_, err := b.Get(t.Context(), fmt.Sprintf("%06d", i), "")
		if err == nil {
			right++
			continue
		}
		require.ErrorIs(t, err, backend.ErrCorrupt)
		damaged++
	}
	assert.Positive(t, damaged)
	assert.Greater(t, right, 4000)
	for i := range 8000 { // so that tables are merged in the background
		_, err := b.Put(t.Context(), fmt.Sprintf("%06d+", i), value, backend.IfAbsent())
		if err != nil {
			require.ErrorIs(t, err, backend.ErrCorrupt)
		}
	}
	require.NoError(t, b.Close())
}

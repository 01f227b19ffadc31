package backup

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
)

// FuzzUnseal: whatever is in an object, it ends in bytes or an error.
func FuzzUnseal(f *testing.F) {
	s, err := seal(memory.New(), Options{Compress: true})
	require.NoError(f, err)
	_, err = s.Put(f.Context(), "x", []byte("some text"), backend.IfAbsent())
	require.NoError(f, err)
	o, err := s.Backend.Get(f.Context(), "x", "")
	require.NoError(f, err)
	f.Add(o.Data)
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = s.unseal(data) })
}

package backendtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// testData stores contents that differ in size and kind, one over the other.
func testData(t T, h Harness) {
	random := make([]byte, 1<<20)
	source := rand.NewChaCha8([32]byte{1})
	_, err := source.Read(random)
	require.NoError(t, err)
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}

	var at backend.Stamp
	cond := backend.IfAbsent()
	for i, data := range [][]byte{
		nil, []byte("x"), {}, all[:], random, random[:len(random)-1], random[:3],
		bytes.Repeat([]byte{0}, 4096), []byte("\r\n"), []byte("\xff\xfe\xfd"),
		[]byte("\x1f\x8b\x08\x00 not gzip"), []byte(`{"not": "json`), []byte("<html>"), nil,
	} {
		what := fmt.Sprintf("content %d of %d bytes", i, len(data))
		sent := bytes.Clone(data)
		at, err = h.Backend.Put(t.Context(), "object", sent, cond)
		require.NoError(t, err, what)
		assert.True(t, bytes.Equal(data, sent), "Put changed %s", what)
		o, err := h.Backend.Get(t.Context(), "object", "")
		require.NoError(t, err, what)
		assert.True(t, bytes.Equal(data, o.Data), "Get returned other bytes than %s", what)
		assert.Equal(t, at.Version, o.Version, what)
		cond = backend.IfVersion(at.Version)
	}
}

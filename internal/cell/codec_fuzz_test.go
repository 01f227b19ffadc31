package cell_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/cell"
)

// FuzzDecode takes its input as an object, and as the fields of one with a right
// frame, which random bytes would hardly ever have.
func FuzzDecode(f *testing.F) {
	for _, c := range golden() {
		data := cell.Encode(c, nonce)
		f.Add(data)
		f.Add(data[headerSize : len(data)-4])
	}
	f.Add([]byte(value + field(200, "ignored")))
	f.Add([]byte(field(5, lock+field(255, "ignored"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkStrict(t, data)
		for shape := range 4 {
			checkStrict(t, seal(data, shape))
		}
	})
}

// checkStrict checks that what can be read is what Encode writes.
func checkStrict(t *testing.T, data []byte) {
	c, err := cell.Decode(data)
	if err != nil {
		return
	}
	again := cell.Encode(c, binary.LittleEndian.Uint64(data[5:]))
	old := c.Condemned && data[4] == 1 // read, but not written any more
	if old || ignorable(data[headerSize:len(data)-4], true) {
		back, err := cell.Decode(again)
		require.NoError(t, err)
		require.Equal(t, c, back)
		return
	}
	require.Equal(t, data, again)
}

// ignorable reports whether well-formed fields have one that may be ignored.
func ignorable(b []byte, nested bool) bool {
	for len(b) > 0 && b[0] != 0 {
		tag := b[0]
		size, n := binary.Uvarint(b[1:])
		body := b[1+n:][:size]
		if tag > 127 || nested && (tag == 5 || tag == 6) && ignorable(body, false) {
			return true
		}
		b = b[1+n+int(size):]
	}
	return false
}

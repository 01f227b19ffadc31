package cell_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/cell"
)

const (
	headerSize = 13
	nonce      = 0x0102030405060708
)

// seal makes an object of fields with any padding that shape asks for, and a right
// checksum.
func seal(fields []byte, shape int) []byte {
	b := append([]byte("SKVC\x01\x08\x07\x06\x05\x04\x03\x02\x01"), fields...)
	for (len(b)+4)%4 != shape {
		b = append(b, 0)
	}
	return resum(append(b, 0, 0, 0, 0))
}

// resum puts the right checksum in the last four bytes.
func resum(b []byte) []byte {
	n := len(b) - 4
	sum := crc32.Checksum(b[:n], crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(b[n:], sum)
	return b
}

func field(tag byte, body string) string {
	return string(binary.AppendUvarint([]byte{tag}, uint64(len(body)))) + body
}

func TestRandomCellsSurvive(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := randomCell(r)
		data := cell.Encode(c, r.Uint64())
		got, err := cell.Decode(data)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, c, got, "seed %d", seed)
		require.Equal(t, c.Shape(), cell.ShapeOf(int64(len(data))), "seed %d", seed)
		require.Len(t, data, cap(data), "the size is computed exactly, seed %d", seed)
	}
}

func TestNonceMakesEqualCellsDiffer(t *testing.T) {
	assert.NotEqual(t, cell.Encode(valued(), 1), cell.Encode(valued(), 2))
	assert.Equal(t, cell.Encode(valued(), 1), cell.Encode(valued(), 1))
}

func TestDecodedValueAliasesTheObject(t *testing.T) {
	data := cell.Encode(valued(), nonce)
	c, err := cell.Decode(data)
	require.NoError(t, err)
	data[headerSize+2] = 'O'
	assert.Equal(t, "Old", string(c.Value.Data), "the value must not be a copy")
	assert.Equal(t, len(c.Value.Data), cap(c.Value.Data), "an append must not write the object")
}

func TestNilValueReadsAsEmpty(t *testing.T) {
	c := &cell.Cell{Value: cell.Value{Kind: cell.Inline}, Writer: id(1)}
	got, err := cell.Decode(cell.Encode(c, nonce))
	require.NoError(t, err)
	assert.Equal(t, cell.Inline, got.Value.Kind)
	assert.NotNil(t, got.Value.Data)
	assert.Empty(t, got.Value.Data)
}

// samples are cells of all shapes.
func samples() map[string][]byte {
	full := valued()
	full.Intent, full.Marks = intent(2, cell.Staged, cell.Put), marks(3)
	return map[string][]byte{
		"value":     cell.Encode(valued(), nonce),
		"tombstone": cell.Encode(&cell.Cell{}, nonce),
		"expiring":  cell.Encode(golden()["expiring-intent"], nonce),
		"condemned": cell.Encode(&cell.Cell{Writer: id(1), Condemned: true}, nonce),
		"full":      cell.Encode(full, nonce),
	}
}

func TestEveryBitFlipIsRefused(t *testing.T) {
	for name, data := range samples() {
		version := data[len("SKVC")]
		for i := range len(data) * 8 {
			data[i/8] ^= 1 << (i % 8)
			_, err := cell.Decode(data)
			require.Error(t, err, "%s: bit %d of byte %d", name, i%8, i/8)
			other := data[len("SKVC")]
			inVersion := other != version && other != 1 && other != 2
			assert.Equal(t, inVersion, errors.Is(err, cell.ErrFormat), "byte %d: %v", i/8, err)
			data[i/8] ^= 1 << (i % 8)
		}
		_, err := cell.Decode(data)
		require.NoError(t, err)
	}
}

func TestEveryTruncationIsRefused(t *testing.T) {
	for name, data := range samples() {
		for n := range data {
			_, err := cell.Decode(data[:n])
			require.Error(t, err, "%s: the first %d bytes", name, n)
			require.NotErrorIs(t, err, cell.ErrFormat)
		}
		_, err := cell.Decode(append(data[:len(data):len(data)], 0, 0, 0, 0))
		require.Error(t, err, "%s: four bytes more", name)
	}
}

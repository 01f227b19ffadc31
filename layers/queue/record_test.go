package queue

import (
	"encoding/hex"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
)

// TestStoredFormat pins bytes that queues in the world have: they never change their meaning.
func TestStoredFormat(t *testing.T) {
	const stored = "01" + "0000000000000001" + "0000000000000002" + "0000000000000003" +
		"000102030405060708090a0b0c0d0e0f" + "ac02" + "03" + "626164" + "7061796c6f6164"
	r := record{
		due: stamp(1).time(), enqueued: stamp(2).time(), until: stamp(3).time(), attempts: 300,
		failure: "bad", payload: []byte("payload"),
	}
	for i := range r.token {
		r.token[i] = byte(i)
	}
	assert.Equal(t, stored, hex.EncodeToString(r.encode()))
	value, err := hex.DecodeString(stored)
	require.NoError(t, err)
	got, err := decode("id", value)
	require.NoError(t, err)
	assert.Equal(t, r, got)

	for n := range len(value) - len(r.payload) {
		_, err := decode("id", value[:n])
		require.ErrorIs(t, err, strictkv.ErrCorrupt, "%d bytes", n)
	}
	value[0]++
	_, err = decode("id", value)
	require.ErrorIs(t, err, strictkv.ErrFormat)
}

func TestKeysSortByTime(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	assert.Less(t, string(keyOf(stampOf(begin), "z")), string(keyOf(stampOf(begin.Add(1)), "a")))
	assert.Equal(t, stamp(0), stampOf(time.Time{}))
	assert.Equal(t, stamp(math.MaxInt64), stampOf(begin.AddDate(1000, 0, 0)))
	s, id, err := parseKey(keyOf(7, "id"))
	require.NoError(t, err)
	assert.Equal(t, stamp(7), s)
	assert.Equal(t, "id", id)
	_, _, err = parseKey([]byte("short"))
	require.ErrorIs(t, err, strictkv.ErrCorrupt)
}

func FuzzDecode(f *testing.F) {
	f.Add(record{failure: "bad", payload: []byte("payload")}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decode("id", b)
		if err != nil {
			return
		}
		again, err := decode("id", r.encode())
		require.NoError(t, err)
		require.Equal(t, r.payload, again.payload)
		require.Equal(t, r.failure, again.failure)
	})
}

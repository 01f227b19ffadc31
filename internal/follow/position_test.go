package follow

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

var update = flag.Bool("update", false, "write the golden file anew: only before it is used")

// golden is a position that has every kind of item.
func golden() (txid.ID, Items) {
	return txid.ID{1, 2, 3}, Items{
		{"+a/=one", Entry{State: State{1}, Writer: txid.ID{9}, Present: true}},
		{"+a/=one more", Entry{State: State{2}, Writer: txid.ID{8}, Present: true,
			Expires: 1_700_000_000_000_000_000}},
		{"+a/=unsettled", Entry{Writer: txid.ID{8}, Present: true}},
		{"+b/=", Entry{State: State{3}, Writer: txid.ID{7}, Present: true}},
	}
}

func TestPositionIsStoredAsEver(t *testing.T) {
	id, items := golden()
	deleted := Item{"+a/=deleted", Entry{State: State{4}}}
	data := Encode(id, append(Items{deleted}, items...))
	const name = "testdata/position.v1"
	if *update {
		require.NoError(t, os.WriteFile(name, data, 0o600))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, want, data)
	gotID, got, err := Decode(want)
	require.NoError(t, err)
	assert.Equal(t, id, gotID)
	assert.Equal(t, items, got)
}

func TestPositionsAreReadAsWritten(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		items := Items{}
		for i := range r.IntN(50) {
			e := Entry{Writer: txid.ID{byte(i + 1)}, State: State{byte(r.Uint32())}, Present: true}
			if r.IntN(2) == 0 {
				e.Expires = r.Int64()
			}
			items = append(items, Item{fmt.Sprintf("=%d", r.IntN(1000)), e})
		}
		items = Merge(nil, items)
		_, got, err := Decode(Encode(txid.ID{1}, items))
		require.NoError(t, err)
		require.Len(t, got, len(items))
		for i := range got {
			require.Equal(t, items[i], got[i])
		}
	}
}

// Every damage is noticed.
func TestDamagedPositionsAreRefused(t *testing.T) {
	data := Encode(golden())
	for n := range data {
		_, _, err := Decode(data[:n])
		require.ErrorIs(t, err, backend.ErrCorrupt, "cut to %d bytes", n)
		flipped := slices.Clone(data)
		flipped[n] ^= 0x10
		_, _, err = Decode(flipped)
		require.Error(t, err, "byte %d", n)
	}
	newer := slices.Clone(data)
	newer[len(positionMagic)]++
	_, _, err := Decode(newer)
	require.ErrorIs(t, err, store.ErrFormat)
}

// seal gives bytes the checksum of a position.
func seal(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(slices.Clone(b), crc32.Checksum(b, castagnoli))
}

// FuzzDecode takes its input as a position, and as one with a right checksum.
func FuzzDecode(f *testing.F) {
	data := Encode(golden())
	f.Add(data)
	f.Add(data[:len(data)-sumSize])
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, b := range [][]byte{data, seal(data)} {
			id, items, err := Decode(b)
			if err != nil {
				continue
			}
			assert.True(t, slices.IsSortedFunc(items, func(x, y Item) int {
				if x.Name < y.Name {
					return -1
				}
				return 1
			}))
			gotID, got, err := Decode(Encode(id, items))
			require.NoError(t, err)
			assert.Equal(t, id, gotID)
			assert.Equal(t, items, got)
		}
	})
}

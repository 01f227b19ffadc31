package strictkv_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

// TestReadMultiMax: of values that are objects of their own no more are asked for than there is
// room for; what was left out can be read. Others are left out, too, whether they were cached or
// not, and a key that stands there twice counts twice.
func TestReadMultiMax(t *testing.T) {
	const size, count, fit = 2 << 20, 40, 3
	store := memory.New()
	for _, x := range []struct {
		name            string
		inline          int
		cache           int64
		external, twice bool
	}{
		{name: "external", inline: strictkv.DefaultInlineMax, external: true},
		{name: "inline", inline: size},
		{name: "inline.cached", inline: size, cache: 1 << 30},
		{name: "external.cached", inline: strictkv.DefaultInlineMax, cache: 1 << 30},
		{name: "twice", inline: size, twice: true},
	} {
		t.Run(x.name, func(t *testing.T) {
			db, err := strictkv.Open(t.Context(), x.name, store, strictkv.WithInlineMax(x.inline),
				strictkv.WithCacheSize(x.cache))
			require.NoError(t, err)
			defer db.Close(t.Context())
			c := db.Collection([]byte("c"))
			var keys []strictkv.Key
			for i := range count {
				key := c.Key(fmt.Append(nil, i))
				require.NoError(t, c.Write(t.Context(), key.Key, make([]byte, size)))
				if x.twice {
					key = c.Key([]byte("0"))
				}
				keys = append(keys, key)
			}
			before := db.Stats()
			require.NoError(t, db.View(t.Context(), func(tx *strictkv.Tx) error {
				found := map[bool]int{}
				for _, r := range tx.ReadMultiMax(fit*size+1, keys...) {
					left := errors.Is(r.Err, strictkv.ErrNoRoom)
					found[left]++
					if left {
						assert.Nil(t, r.Value)
						continue
					}
					assert.NoError(t, r.Err)
					assert.Len(t, r.Value, size)
				}
				assert.Equal(t, map[bool]int{false: fit, true: count - fit}, found)
				v, err := tx.Read(keys[count-1].Collection, keys[count-1].Key)
				assert.Len(t, v, size)
				return err
			}))
			if x.external {
				most := int64((fit + 1) * (size + 1000)) // and what Read has read
				assert.LessOrEqual(t, db.Stats().Sub(before).BytesRead, most+count*1000)
			}
		})
	}
}

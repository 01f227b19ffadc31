package store_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/store"
)

// near is a store that answers a read at once, mostly.
type near struct{ *memory.Backend }

func (near) Capabilities() backend.Capabilities { return backend.Capabilities{Near: true} }

// TestWave: all are made, and the first error is told, whether they follow each other or not. Of a
// store that is near they do, until one takes long.
func TestWave(t *testing.T) {
	const n, short, long = 8, 2 * time.Millisecond, 3 * time.Millisecond
	for _, x := range []struct {
		near   bool
		took   time.Duration
		atOnce int
	}{{true, short, 1}, {true, long, n - 1}, {false, short, 4}} {
		for fails := -1; fails < n; fails++ {
			synctest.Test(t, func(t *testing.T) {
				o := (&wire{mem: memory.New()}).options()
				if x.near {
					o.Backend = near{memory.New()}
				}
				st, err := store.Open(background, o)
				require.NoError(t, err)
				first := errors.New("first")
				var mu sync.Mutex // guards all below
				made, under, most := 0, 0, 0
				count := func(by int) {
					mu.Lock()
					defer mu.Unlock()
					made, under = made+max(by, 0), under+by
					most = max(most, under)
				}
				err = st.Wave(n, func(i int) error {
					count(1)
					time.Sleep(x.took)
					count(-1)
					switch {
					case i == fails:
						return first
					case i > fails && fails >= 0:
						return errors.New("another")
					}
					return nil
				})
				assert.Equal(t, n, made, x)
				assert.Equal(t, x.atOnce, most, x)
				if fails < 0 {
					require.NoError(t, err, x)
				} else {
					require.ErrorIs(t, err, first, x)
				}
			})
		}
	}
}

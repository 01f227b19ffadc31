package contention_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/internal/contention"
	"github.com/strictkv/strictkv/internal/seam"
)

// A key is doubted for ten seconds after it has lost a CAS, and hot after it has lost two
// that came no more than that apart; each further one renews that.
func TestHotKeysCool(t *testing.T) {
	const hotFor = 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		keys := contention.NewKeys(seam.Real())
		is := func(doubted, hot bool, name string) {
			t.Helper()
			assert.Equal(t, doubted, keys.Doubted(name))
			assert.Equal(t, hot, keys.Hot(name))
		}
		is(false, false, "=a")
		keys.Lost("=a")
		keys.Lost("=b")
		time.Sleep(hotFor - 1)
		is(true, false, "=a")
		keys.Lost("=a")
		is(true, true, "=a")
		time.Sleep(1)
		is(false, false, "=b")
		keys.Lost("=b")
		is(true, false, "=b")
		time.Sleep(hotFor - 2)
		is(true, true, "=a")
		time.Sleep(2)
		is(false, false, "=a")
	})
}

// A doubt is no loss: it does not make a key hot, nor keep it so.
func TestDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := contention.NewKeys(seam.Real())
		keys.Doubt("=a")
		keys.Doubt("=a")
		assert.True(t, keys.Doubted("=a"))
		assert.False(t, keys.Hot("=a"))
		keys.Lost("=a")
		keys.Lost("=a")
		time.Sleep(6 * time.Second)
		keys.Doubt("=a")
		assert.True(t, keys.Hot("=a"))
		time.Sleep(6 * time.Second)
		assert.True(t, keys.Doubted("=a"))
		assert.False(t, keys.Hot("=a"))
	})
}

// Of many hot keys those are forgotten that were remembered first.
func TestHotKeysAreBounded(t *testing.T) {
	const hotMax = 1024
	synctest.Test(t, func(t *testing.T) {
		keys := contention.NewKeys(seam.Real())
		for i := range hotMax + 10 {
			keys.Lost(fmt.Sprint(i))
		}
		for i := range hotMax + 10 {
			assert.Equal(t, i >= 10, keys.Doubted(fmt.Sprint(i)), "key %d", i)
		}
	})
}

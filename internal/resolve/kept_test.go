package resolve

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// Of waiting that has ended without news nothing is kept: a handle may wait for any number of keys
// in its life.
func TestNothingIsKeptOfWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := awaited{rt: seam.Real(), byName: map[string]*news{}}
		left, leave := context.WithTimeout(context.Background(), time.Second)
		defer leave()
		_, err := a.wait(left, store.Snapshot{Name: "=a"}, time.Minute)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		seen, err := a.wait(context.Background(), store.Snapshot{Name: "=b"}, time.Minute)
		require.NoError(t, err)
		assert.Nil(t, seen.Cell)
		assert.Empty(t, a.byName)
	})
}

package txn_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/faulty"
)

// What has been read of the members that were not sent is used without a cache, too.
func TestHotMemberRefusesWithoutCache(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		h := w.handleCaching(0)
		h.heat("=b")
		h.meanwhile("=b", 0, func() { w.Value(2, "=a", "=b", "=c") })
		runs, err := h.tx(context.Background(), update("new", "=a", "=b", "=c"))
		require.NoError(t, err)
		assert.Equal(t, 2, runs)
		assert.Equal(t, []string{"=b", "=b"}, h.order()[:2])
		assert.Len(t, h.Sent(faulty.Put, "=a"), 1)
		h.drain()
	})
}

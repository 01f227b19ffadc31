package system_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
)

// rough is a store that ignores the condition of a delete, and says so.
type rough struct{ *memory.Backend }

func (r rough) Delete(ctx context.Context, name string, _ backend.Version) error {
	o, err := r.Get(ctx, name, "")
	if err != nil {
		return backend.ErrPrecondition
	}
	return r.Backend.Delete(ctx, name, o.Version)
}

func (rough) Capabilities() backend.Capabilities { return backend.Capabilities{} }

// TestWrappedCapabilities: what a wrapper embeds is what it declares. On a store without
// conditional deletes a sweep leaves tombstones where they are, however that is wrapped.
func TestWrappedCapabilities(t *testing.T) {
	for name, b := range map[string]backend.Backend{
		"bare":          rough{memory.New()},
		"wrapped":       struct{ backend.Backend }{rough{memory.New()}},
		"wrapped twice": struct{ backend.Backend }{struct{ backend.Backend }{rough{memory.New()}}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second finds what the first has noted
				db, err := strictkv.Open(t.Context(), "db", b)
				require.NoError(t, err)
				c := db.Collection([]byte("c"))
				require.NoError(t, c.Write(t.Context(), []byte("key"), nil))
				require.NoError(t, c.Delete(t.Context(), []byte("key")))
				assert.True(t, db.Stats().KeepsTombstones)
				r, err := db.Sweep(t.Context(), strictkv.SweepOptions{Horizon: -1})
				require.NoError(t, err)
				assert.Zero(t, r.Tombstones)
				_, err = b.Get(t.Context(), "db/+c/=key", "")
				require.NoError(t, err, "the tombstone")
				require.NoError(t, db.Close(t.Context()))
			}
		})
	}
}

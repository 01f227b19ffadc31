package gcs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
)

// TestRetryAfter: what the store says about it reaches the caller.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := gcstest.New(t)
	b := gcs.New(s.Bucket(t))
	v := object(t, b, "object")
	for _, status := range []int{429, 503} {
		for _, want := range []time.Duration{0, 7 * time.Second} {
			for _, kind := range kinds {
				inject(s, kind, 1, gcstest.Fault{Status: status, RetryAfter: want})
				err := call(t.Context(), b, kind, v)
				require.Error(t, err)
				assert.Equal(t, want, backend.PauseAsked(err), "%d: %v", status, err)
			}
		}
	}
	s.Inject(nil)
	_, err := b.Put(t.Context(), "object", nil, backend.IfAbsent())
	assert.Zero(t, backend.PauseAsked(err), "an answer without it")
	_, err = b.Get(t.Context(), "", "")
	assert.Zero(t, backend.PauseAsked(err), "no answer")
}

package azure_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// TestRetryAfter: what the store says about it reaches the caller.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	b, p := disturbed(t, stores[0].start)
	v := object(t, b, "object")
	for _, want := range []time.Duration{0, 7 * time.Second} {
		for _, k := range kinds {
			f := refusal(503, "ServerBusy")
			f.RetryAfter = want
			p.Inject(k.is, f)
			err := call(t.Context(), b, k, v)
			require.Error(t, err)
			assert.Equal(t, want, backend.PauseAsked(err), "%v: %v", k, err)
		}
	}
	_, err := b.Put(t.Context(), "object", nil, backend.IfAbsent())
	assert.Zero(t, backend.PauseAsked(err), "an answer without it")
	_, err = b.Get(t.Context(), "", "")
	assert.Zero(t, backend.PauseAsked(err), "no answer")
}

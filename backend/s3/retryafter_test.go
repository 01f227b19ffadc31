package s3_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// TestRetryAfter: what the store says about it reaches the caller.
func TestRetryAfter(t *testing.T) {
	b, p := faulty(t)
	v := object(t, b)
	for _, want := range []time.Duration{0, 7 * time.Second} {
		for _, k := range []kind{get, list, put, del} {
			f := refusal(503, "SlowDown")
			f.RetryAfter = want
			p.Inject(k.matches, f)
			err := call(t.Context(), b, k, v)
			require.Error(t, err)
			assert.Equal(t, want, backend.PauseAsked(err), "%v: %v", k, err)
		}
	}
	_, err := b.Get(t.Context(), "absent", "")
	assert.Zero(t, backend.PauseAsked(err), "an answer without it")
}

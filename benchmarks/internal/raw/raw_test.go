package raw_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/benchmarks/internal/raw"
)

// apart has another latency for each kind.
var apart = simulated.Profile{
	Get:       simulated.Latency{Mean: 50 * time.Millisecond},
	Stat:      simulated.Latency{Mean: 30 * time.Millisecond},
	Put:       simulated.Latency{Mean: 70 * time.Millisecond},
	PutPerMiB: 40 * time.Millisecond,
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := memory.New()
		s := raw.Store{Backend: simulated.New(objects, nil, apart), Prefix: "raw"}
		rows, err := s.Latency(t.Context(), 1<<20, 10)
		require.NoError(t, err)
		row := func(request string, ms float64) raw.Row {
			return raw.Row{
				Request: request, Bytes: 1 << 20, Count: 10, Mean: ms, Median: ms, P90: ms,
			}
		}
		want := []raw.Row{row(raw.Put, 110), row(raw.Get, 50), row(raw.Unchanged, 30)}
		assert.Equal(t, want, rows)
		assert.Zero(t, objects.Len(), "objects left behind")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Latency(ctx, 1, 1)
		assert.ErrorIs(t, err, context.Canceled)
	})
}

func TestRate(t *testing.T) {
	for _, c := range []struct {
		mix  raw.Mix
		want float64
	}{
		{raw.Mix{Gets: 1}, 4 / 0.050},
		{raw.Mix{Unchanged: 3}, 4 / 0.030},
		{raw.Mix{Puts: 2}, 4 / 0.070},
		{raw.Mix{Gets: 1, Unchanged: 1, Puts: 2}, 4 / 0.055},
	} {
		synctest.Test(t, func(t *testing.T) {
			objects := memory.New()
			s := raw.Store{Backend: simulated.New(objects, nil, apart), Prefix: "raw"}
			rate, err := s.Rate(t.Context(), c.mix, 4, 100, 100*time.Second)
			require.NoError(t, err)
			assert.InEpsilon(t, c.want, rate, 0.01, "%+v", c.mix)
			assert.Zero(t, objects.Len(), "objects left behind")
		})
	}
}

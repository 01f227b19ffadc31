package store_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/store"
)

// TestWarnings: a logger is warned of the first failure of Open, as somebody waits for that, and
// else of what fails again and again, of each throttled request, and of damage.
func TestWarnings(t *testing.T) {
	const gone, busy, damage = "cannot be reached", "throttles requests", "is damaged"
	times := func(n int, err error) []error { return slices.Repeat([]error{err}, n) }
	for name, x := range map[string]struct {
		open, read []error // of the first requests of Open, and of a read
		retries    int
		want       string
		warnings   int
	}{
		"nothing":        {nil, nil, 0, "", 0},
		"a slow start":   {times(1, backend.ErrUnavailable), nil, 0, gone, 1},
		"a slower one":   {times(2, backend.ErrUnavailable), nil, 0, gone, 1},
		"one failure":    {nil, times(1, backend.ErrUnavailable), 0, "", 0},
		"two failures":   {nil, times(2, backend.ErrUnavailable), 0, "", 0},
		"three":          {nil, times(3, backend.ErrUnavailable), 0, gone, 1},
		"for good":       {nil, times(9, backend.ErrUnavailable), 0, gone, 7},
		"no patience":    {nil, times(1, backend.ErrUnavailable), -1, gone, 1},
		"a throttle":     {nil, times(1, backend.ErrThrottled), 0, busy, 1},
		"throttled":      {nil, times(9, backend.ErrThrottled), 0, busy, 9},
		"damage":         {nil, times(1, backend.ErrCorrupt), 0, damage, 1},
		"nobody allowed": {nil, times(1, backend.ErrDenied), 0, "", 0},
		"a slow start, and one failure": {
			times(1, backend.ErrUnavailable), times(1, backend.ErrUnavailable), 0, gone, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				w := &wire{mem: memory.New()}
				fails := func(errs []error) {
					w.sent = nil
					w.before = func(_ context.Context, _ faulty.Op, n int) error {
						return slices.Concat(errs, make([]error, n+1))[n]
					}
				}
				fails(x.open)
				o := w.options()
				o.Requests.Retries = x.retries
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				st, err := store.Open(background, o)
				require.NoError(t, err)
				fails(x.read)
				_, _ = st.Read(background, "=a")
				assert.Equal(t, x.warnings, strings.Count(log.String(), "level=WARN"))
				assert.Contains(t, log.String(), x.want)
			})
		})
	}
}

package system_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
)

// silent is a store that does not answer reads of cells.
type silent struct{ backend.Backend }

func (b silent) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	if name == "db/meta" {
		return b.Backend.Get(ctx, name, known)
	}
	<-ctx.Done()
	return backend.Object{}, fmt.Errorf("silent get %q: %w", name, ctx.Err())
}

func TestRequestsAreBounded(t *testing.T) {
	for name, x := range map[string]struct {
		r           strictkv.Requests
		least, most time.Duration
	}{
		"one try": {strictkv.Requests{Timeout: time.Second, Retries: -1},
			time.Second, time.Second},
		"two tries": {strictkv.Requests{Timeout: time.Second, Retries: 1},
			2 * time.Second, 2100 * time.Millisecond},
		"a long pause": {strictkv.Requests{
			Timeout: time.Second, Retries: 1, BackoffMin: time.Minute, BackoffMax: time.Minute,
		}, 32 * time.Second, 62 * time.Second},
		"by default": {strictkv.Requests{}, 9 * 30 * time.Second, 9*30*time.Second + time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				db, err := strictkv.Open(ctx, "db", silent{memory.New()},
					strictkv.WithProbe(strictkv.ProbeNever), strictkv.WithRequests(x.r))
				require.NoError(t, err)
				start := time.Now()
				_, err = db.Collection([]byte("c")).Read(ctx, []byte("k"))
				require.ErrorIs(t, err, strictkv.ErrUnavailable)
				assert.GreaterOrEqual(t, time.Since(start), x.least)
				assert.LessOrEqual(t, time.Since(start), x.most)
				require.NoError(t, db.Close(ctx))
			})
		})
	}
}

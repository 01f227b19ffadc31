package commit

import (
	"context"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
)

// Read reads one key outside a transaction: linearizable in one request, or, with a
// staleness bound, from the cache, if what that holds is known to have been current
// within it. The bound counts from when the request that proved it was sent.
func (e *Engine) Read(ctx context.Context, name string, staleness time.Duration) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rd, ok := resolve.Reading{}, false
	if staleness > 0 {
		rd, ok = e.rs.Cached(name)
		ok = ok && e.rt.Now().Sub(rd.Until) <= staleness
	}
	if ok {
		e.stats.Hits.Add(1)
	} else {
		var err error
		e.stats.Misses.Add(1)
		if rd, err = e.rs.Effective(ctx, name, resolve.Role{}); err != nil {
			return nil, err
		}
	}
	e.stats.ReadOnly.Add(1)
	v, _ := rd.Effective()
	if v.Kind == cell.Absent {
		return nil, backend.ErrNotFound
	}
	return append(make([]byte, 0, len(v.Data)), v.Data...), nil
}

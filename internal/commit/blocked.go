package commit

import (
	"fmt"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/store"
)

// blockedMax is how often a transaction goes on after a cell has refused a write at the very
// version that the store reports of it.
const blockedMax = 8

// blocked pauses if a cell has refused a write although it still is at the version that the
// write was to replace. Nobody was faster then: the store does not take the write, whatever its
// reasons, and to try again at once is of no use. After blockedMax times that is an error.
func (t *txn) blocked(members []*member) error {
	for _, m := range members {
		if m.result != store.Refused || m.refused.Cell == nil ||
			m.refused.Version != m.base.Version {
			continue
		}
		if t.blocks++; t.blocks > blockedMax {
			return fmt.Errorf("write %q: the store refuses writes at the version that it reports, "+
				"%d times: %w", t.e.st.FullName(m.e.name), t.blocks, backend.ErrUnavailable)
		}
		d := min(resendPauseMin<<t.blocks, resendPauseMax)
		half := uint64(d / 2)
		return t.e.rt.Sleep(t.ctx, time.Duration(half+t.e.rt.Uint64()%half))
	}
	return nil
}

package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/store"
)

// The answer to the creation of a database tells its creator the time.
func TestCreatorKnowsTheTime(t *testing.T) {
	st, _ := open(t, memory.New())
	assert.False(t, st.Moment().There.IsZero())
}

// Where answers to reads tell no time, the clock is that of the process from the beginning, and not
// 1970: an export by a new handle would be full of values that have been due for long.
func TestAnOpenHandleHasAClock(t *testing.T) {
	mem := memory.New()
	open(t, mem)
	w := &wire{mem: mem}
	w.after = func(_ faulty.Op, _ int, a *faulty.Answer) {
		a.Stamp.Time, a.Object.Time = time.Time{}, time.Time{}
	}
	before := time.Now().UnixNano()
	st, err := store.Open(background, w.options())
	require.NoError(t, err)
	assert.GreaterOrEqual(t, st.Clock(), before)
}

// TestARefusalTellsNoTime: a handle that knows no time of the store's is answered without one, by
// a refusal. That does not say that the store's answers tell none: else the handle would take the
// clock of its process for the store's, and values for due.
func TestARefusalTellsNoTime(t *testing.T) {
	for name, x := range map[string]struct {
		answer error // to the first write, though that takes effect
		write  func(st *store.Store) error
		want   error
	}{
		"an external value": {backend.ErrDenied, func(st *store.Store) error {
			_, _, err := st.Upload(background, "=a", st.NewValue(nil), nil)
			return err
		}, backend.ErrDenied},
		"a second copy, when asking for the time": {
			backend.ErrOutcomeUnknown, func(st *store.Store) error {
				_, err := st.StoreTime(background)
				return err
			}, nil,
		},
		"the answer to a second copy, when asking for the time": {
			backend.ErrPrecondition, func(st *store.Store) error {
				_, err := st.StoreTime(background)
				return err
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{mem: memory.New()}
			w.after = func(_ faulty.Op, _ int, a *faulty.Answer) {
				a.Stamp.Time, a.Object.Time = time.Time{}, time.Time{}
			}
			st, err := store.Open(background, w.options())
			require.NoError(t, err)
			w.sent = nil
			w.after = func(op faulty.Op, n int, a *faulty.Answer) {
				if n == 0 {
					*a = faulty.Answer{Err: x.answer}
				}
			}
			require.ErrorIs(t, x.write(st), x.want)
			assert.Zero(t, st.Clock(), "nothing is due")
		})
	}
}

package simulated_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
)

// TestTails: with one in one, each request takes as many times as long.
func TestTails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := simulated.Constant(10 * time.Millisecond)
		assert.Equal(t, 30*time.Millisecond, p.Times(3).Put.Mean)
		p.TailIn, p.TailTimes = 1, 10
		b := simulated.New(memory.New(), nil, p)
		began := time.Now()
		_, err := b.Put(t.Context(), "name", nil, backend.IfAbsent())
		require.NoError(t, err)
		_, err = b.Get(t.Context(), "name", "")
		require.NoError(t, err)
		assert.Equal(t, 200*time.Millisecond, time.Since(began))
	})
}

func TestBusy(t *testing.T) {
	p := simulated.Constant(0)
	p.BusyIn = 1
	b := simulated.New(memory.New(), nil, p)
	_, err := b.Put(t.Context(), "name", nil, backend.IfAbsent())
	require.ErrorIs(t, err, backend.ErrThrottled)
	assert.Equal(t, 1, b.Counts().Throttled)
}

// TestInTurn: writes that exceed one per second wait, and count even if they are refused then.
func TestInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := simulated.Constant(0)
		p.OneWritePerSecond, p.InTurn = true, true
		b := simulated.New(memory.New(), nil, p)
		began := time.Now()
		_, err := b.Put(t.Context(), "name", nil, backend.IfAbsent())
		require.NoError(t, err)
		for range 9 {
			_, err = b.Put(t.Context(), "name", nil, backend.IfAbsent())
			require.ErrorIs(t, err, backend.ErrPrecondition)
		}
		assert.Equal(t, 7*time.Second, time.Since(began), "three pass at once")
		assert.Zero(t, b.Counts().Throttled)
	})
}

package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/examples/internal/crew"
	"github.com/strictkv/strictkv/internal/plain"
)

func TestMain(m *testing.M) {
	crew.Serve[worker]()
	goleak.VerifyTestMain(m)
}

func newRun(t *testing.T) (*run, *bytes.Buffer) {
	var out bytes.Buffer
	return &run{
		place:     crew.Place{Dir: t.TempDir(), Patience: time.Second},
		producers: 2, consumers: 3, out: &out,
	}, &out
}

func TestRun(t *testing.T) {
	r, out := newRun(t)
	r.shift.Time = 500 * time.Millisecond
	require.NoError(t, r.run(t.Context()), out)
	assert.Positive(t, r.said)
	assert.Contains(t, out.String(), "each once")
	require.NoError(t, plain.Check(out.String()))
}

// TestWorkLeavesNothing: it may end before it is told to.
func TestWorkLeavesNothing(t *testing.T) {
	db, err := crew.Place{Dir: t.TempDir(), Patience: time.Second}.Open(t.Context(), "queue")
	require.NoError(t, err)
	q, err := jobs(db.DB)
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, work(ended, db.DB, q, make(chan struct{}), nil))
	require.NoError(t, db.Close(t.Context()))
	goleak.VerifyNone(t)
}

func TestKills(t *testing.T) {
	r, out := newRun(t)
	r.shift.Kills = 15
	require.NoError(t, r.run(t.Context()), out)
	assert.Equal(t, 15, r.kills)
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, out := newRun(t)
	r.shift.Time = time.Hour
	require.NoError(t, r.run(ctx), out)
	r.producers = 0
	require.Error(t, r.run(ctx))
}

// TestViolation: what was done is compared with what producers have told of.
func TestViolation(t *testing.T) {
	r, _ := newRun(t)
	r.shift.Time, r.said = time.Millisecond, 1000
	require.ErrorContains(t, r.run(t.Context()), "VIOLATION")
}

package crew_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/examples/internal/crew"
)

// worker counts up to Until, if that is not 0, and then fails or waits to be stopped.
type worker struct {
	Until int
	Fails bool
}

func (w worker) Run(_ context.Context, stop <-chan struct{}, tell crew.Report) error {
	for n := 1; n <= w.Until; n++ {
		if err := tell(n); err != nil {
			return err
		}
	}
	if w.Fails {
		return errors.New("as it was told to")
	}
	<-stop
	return tell(-1)
}

func TestMain(m *testing.M) {
	crew.Serve[worker]()
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, w worker) *crew.Process[int] {
	p, err := crew.Start[int]("a worker", w)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return p.Last() == w.Until },
		time.Minute, time.Millisecond, "the last report")
	return p
}

func TestFinish(t *testing.T) {
	p := start(t, worker{Until: 100})
	require.NoError(t, p.Finish())
	assert.Equal(t, -1, p.Last(), "what it does at last is waited for")
}

func TestKill(t *testing.T) {
	p := start(t, worker{Until: 3})
	require.NoError(t, p.Kill())
	assert.Equal(t, 3, p.Last())
}

func TestWorkerThatFails(t *testing.T) {
	p := start(t, worker{Until: 3, Fails: true})
	require.ErrorContains(t, p.Finish(), "a worker: exit status 3")
}

func TestShift(t *testing.T) {
	for _, x := range []struct {
		name  string
		shift crew.Shift
		kills int
	}{
		{"nobody is to be killed", crew.Shift{Time: time.Millisecond}, 0},
		{"so many kills, however long it takes", crew.Shift{Kills: 5}, 5},
		{"no time to kill", crew.Shift{Kill: true}, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			kills := 0
			require.NoError(t, x.shift.Pass(nil, func() error { kills++; return nil }))
			assert.Equal(t, x.kills, kills)
		})
	}
	stop := make(chan struct{})
	close(stop)
	require.NoError(t, crew.Shift{Time: time.Hour}.Pass(stop, nil))
	failed := errors.New("failed")
	require.ErrorIs(t, crew.Shift{Kills: 1}.Pass(nil, func() error { return failed }), failed)
}

// Workers are processes: they cannot share the memory of one.
func TestMemoryIsNoPlace(t *testing.T) {
	_, err := crew.Place{Bucket: "mem://name"}.Open(t.Context(), "example")
	require.ErrorContains(t, err, "share no memory")
	db, err := crew.Place{Dir: t.TempDir()}.Open(t.Context(), "example")
	require.NoError(t, err)
	require.NoError(t, db.Close(t.Context()))
}

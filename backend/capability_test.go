package backend_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/backend"
)

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 7, 28, 0, 0, time.FixedZone("here", 3600))
	for header, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"7":                             7 * time.Second,
		"-7":                            0,
		"9000000000000000000":           (1 << 30) * time.Second,
		"99999999999999999999":          0,
		"1.5":                           0,
		"soon":                          0,
		"Sat, 21 Nov 2026 06:28:42 GMT": 42 * time.Second,
		"Sat, 21 Nov 2026 06:27:42 GMT": 0,
		"Sat, 21 Nov 2026 06:28:42 MST": 0,
	} {
		assert.Equal(t, want, backend.ParseRetryAfter(header, now), header)
	}
}

// busy is an error that carries a pause.
type busy struct {
	error
	pause time.Duration
}

func (b busy) RetryAfter() time.Duration { return b.pause }

func TestPauseAsked(t *testing.T) {
	other := errors.New("other")
	for _, x := range []struct {
		err  error
		want time.Duration
	}{
		{nil, 0}, {other, 0}, {busy{other, time.Minute}, time.Minute}, {busy{other, -1}, 0},
		{fmt.Errorf("get: %w: %w", other, busy{other, time.Minute}), time.Minute},
	} {
		assert.Equal(t, x.want, backend.PauseAsked(x.err), "%v", x.err)
	}
}

// declaring is a backend, of which only this counts.
type declaring struct {
	backend.Backend
	conditional bool
}

func (d declaring) ConditionalDelete() bool { return d.conditional }

func TestConditionalDelete(t *testing.T) {
	var silent struct{ backend.Backend }
	assert.True(t, backend.ConditionalDelete(silent), "it does not say")
	assert.True(t, backend.ConditionalDelete(declaring{conditional: true}))
	assert.False(t, backend.ConditionalDelete(declaring{}))
}

// remote is a backend that declares nothing, near one that declares to send once.
type (
	remote struct{ backend.Backend }
	near   struct{ remote }
)

func (near) SendsOnce() bool { return true }

func TestSendsOnce(t *testing.T) {
	assert.False(t, backend.SendsOnce(remote{}), "who declares nothing may send twice")
	assert.True(t, backend.SendsOnce(near{}))
}

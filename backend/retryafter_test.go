package backend_test

import (
	"context"
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

func TestAWrapperPassesOnWhatIsDeclared(t *testing.T) {
	want := backend.Capabilities{ConditionalDelete: true}
	assert.Equal(t, want, struct{ backend.Backend }{declaring{want}}.Capabilities())
	assert.Zero(t, declaring{}.Capabilities(), "what is not declared is missing")
}

// declaring is a backend, of which only this counts.
type declaring struct{ declares backend.Capabilities }

func (d declaring) Capabilities() backend.Capabilities { return d.declares }

func (declaring) Get(context.Context, string, backend.Version) (backend.Object, error) {
	return backend.Object{}, backend.ErrNotFound
}

func (declaring) Put(
	context.Context, string, []byte, backend.Condition,
) (backend.Stamp, error) {
	return backend.Stamp{}, backend.ErrPrecondition
}

func (declaring) Delete(context.Context, string, backend.Version) error {
	return backend.ErrPrecondition
}

func (declaring) List(context.Context, backend.ListOptions) (backend.Page, error) {
	return backend.Page{}, nil
}

package probe_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/probe"
)

// forgetful is a store that ignores the condition of writes to some names, whatever is there.
type forgetful struct {
	backend.Backend
	part string // of those names
}

// Put replaces the object at the version that it has.
func (f forgetful) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	if o, err := f.Get(ctx, name, ""); err == nil && strings.Contains(name, f.part) {
		c = backend.IfVersion(o.Version)
	}
	return f.Backend.Put(ctx, name, data, c)
}

// run returns the findings of a full probe, by question.
func run(t *testing.T, b backend.Backend) map[string]probe.Finding {
	found := map[string]probe.Finding{}
	bucket := &bucketurl.Bucket{Backend: b}
	p := probe.Probe{
		Bucket: bucket, Second: bucket, Lasting: time.Second,
		Told: func(f probe.Finding) { found[f.Question] = f },
	}
	require.NoError(t, p.Run(t.Context(), true))
	page, err := b.List(t.Context(), backend.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, page.Objects, "nothing is left")
	return found
}

const (
	honours = "honours the conditions of writes, lists names in order"
	race    = "16 writers lose no increment of one key"
)

func TestGoodStore(t *testing.T) {
	found := run(t, memory.New())
	assert.Len(t, found, 3+18+2)
	for question, f := range found {
		assert.True(t, f.Passed, "%s: %s", question, f.Detail)
	}
}

// TestBadStore: a store that breaks the contract is told of, and no more is asked of one that can
// have no database.
func TestBadStore(t *testing.T) {
	found := run(t, forgetful{memory.New(), ""})
	assert.Len(t, found, 1)
	assert.False(t, found[honours].Passed)
	assert.Contains(t, found[honours].Detail, "If-None-Match")

	found = run(t, forgetful{memory.New(), "replaced/put"})
	assert.Len(t, found, 3+18+2)
	for question, f := range found {
		assert.Equal(t, question != "Conditions", f.Passed, "%s: %s", question, f.Detail)
	}
	assert.Contains(t, found["Conditions"].Detail, "replaced: ")
	assert.NotContains(t, found["Conditions"].Detail, ".go:")
}

// TestInterrupted: what an interruption has made fail is not the store's fault.
func TestInterrupted(t *testing.T) {
	b := memory.New()
	ctx, interrupt := context.WithCancel(t.Context())
	bucket := &bucketurl.Bucket{Backend: watched{b, "/many/", interrupt}}
	p := probe.Probe{
		Bucket: bucket, Second: bucket, Lasting: time.Second,
		Told: func(f probe.Finding) { assert.True(t, f.Passed, "%s: %s", f.Question, f.Detail) },
	}
	require.ErrorIs(t, p.Run(ctx, true), context.Canceled)
	page, err := b.List(t.Context(), backend.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, page.Objects, "nothing is left")
}

// watched is a store that tells when names are written that have a part.
type watched struct {
	backend.Backend
	part string
	tell func()
}

// Put tells, and does nothing more for whom it has interrupted.
func (w watched) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	if strings.Contains(name, w.part) {
		w.tell()
	}
	if err := ctx.Err(); err != nil {
		return backend.Stamp{}, err
	}
	return w.Backend.Put(ctx, name, data, c)
}

// losing is a store that acknowledges one write of a name, and does not keep it.
type losing struct {
	backend.Backend
	part string       // of the name
	lost *atomic.Bool // it has done so
}

// Put writes, but for once.
func (l losing) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	if strings.Contains(name, l.part) {
		o, err := l.Get(ctx, name, "")
		if err == nil && l.lost.CompareAndSwap(false, true) {
			return backend.Stamp{Version: o.Version + "x"}, nil
		}
	}
	return l.Backend.Put(ctx, name, data, c)
}

// TestLostUpdate: one increment of 160 is missed.
func TestLostUpdate(t *testing.T) {
	found := run(t, losing{memory.New(), "/+counter/=counter", &atomic.Bool{}})
	assert.False(t, found[race].Passed)
	assert.Contains(t, found[race].Detail, "159, 160 acknowledged")
	assert.True(t, found["RaceToIncrement"].Passed)
}

package memory_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/backendtest"
	"github.com/strictkv/strictkv/backend/memory"
)

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(*testing.T) backendtest.Harness {
		return backendtest.Harness{
			Backend:      memory.New(),
			Clock:        time.Now,
			HostileNames: []string{".", "..", "a\nb", "\r", "\x00", "\xff", "\xff/x"},
		}
	})
}

func TestDataAreNotCopied(t *testing.T) {
	b := memory.New()
	data := make([]byte, 3, 8)
	_, err := b.Put(t.Context(), "name", data, backend.IfAbsent())
	require.NoError(t, err)
	o, err := b.Get(t.Context(), "name", "")
	require.NoError(t, err)
	assert.Same(t, &data[0], &o.Data[0])
	assert.Equal(t, 3, cap(o.Data), "room for an append to write over another's data")
}

// TestClock: Modified is when a version was put, by the store's clock.
func TestClock(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, tc := range map[string]struct {
		options []memory.Option
		advance func()
	}{
		"real, in virtual time": {nil, func() { time.Sleep(time.Hour) }},
		"own": {
			[]memory.Option{memory.WithClock(func() time.Time { return now })},
			func() { now = now.Add(time.Hour) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memory.New(tc.options...)
				old := put(t, b, "a")
				put(t, b, "b")
				tc.advance()
				_, err := b.Put(t.Context(), "a", nil, backend.IfVersion(old))
				require.NoError(t, err)
				_, err = b.Put(t.Context(), "b", nil, backend.IfVersion(old))
				require.ErrorIs(t, err, backend.ErrPrecondition, "a refused Put")
				page, err := b.List(t.Context(), backend.ListOptions{})
				require.NoError(t, err)
				require.Len(t, page.Objects, 2)
				first, second := page.Objects[0].Modified, page.Objects[1].Modified
				assert.Equal(t, time.Hour, first.Sub(second), "%v after %v", first, second)
			})
		})
	}
}

func TestLen(t *testing.T) {
	b := memory.New()
	for i := range 3 {
		put(t, b, fmt.Sprint(i))
	}
	assert.Equal(t, 3, b.Len())
}

func TestListLimits(t *testing.T) {
	b := memory.New()
	for i := range 1001 {
		put(t, b, fmt.Sprintf("%04d", i))
	}
	page, err := b.List(t.Context(), backend.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, page.Objects, 1000)
	assert.True(t, page.More)
	page, err = b.List(t.Context(), backend.ListOptions{Limit: 1001})
	require.NoError(t, err)
	assert.Len(t, page.Objects, 1001)
	assert.False(t, page.More, "a page that holds all promises more")
	_, err = b.List(t.Context(), backend.ListOptions{Limit: -1})
	assert.ErrorIs(t, err, backend.ErrInvalid)
}

func TestErrorNamesCallAndObject(t *testing.T) {
	_, err := memory.New().Get(t.Context(), "a\nb", "")
	assert.EqualError(t, err, `memory get "a\nb": not found`)
}

func put(t testing.TB, b *memory.Backend, name string) backend.Version {
	t.Helper()
	v, err := b.Put(context.Background(), name, []byte("data"), backend.IfAbsent())
	require.NoError(t, err)
	return v.Version
}

func TestAllocations(t *testing.T) {
	b, ctx := memory.New(), context.Background()
	v := put(t, b, "name")
	gets := testing.AllocsPerRun(100, func() { _, _ = b.Get(ctx, "name", "") })
	assert.Zero(t, gets, "allocations of a Get")
	data := []byte("data")
	puts := testing.AllocsPerRun(100, func() {
		at, _ := b.Put(ctx, "name", data, backend.IfVersion(v))
		v = at.Version
	})
	assert.LessOrEqual(t, puts, 1.0, "allocations of a Put")
}

func BenchmarkGet(b *testing.B) {
	m := memory.New()
	for i := range 100_000 {
		put(b, m, fmt.Sprint(i))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	v := put(b, m, "name")
	for known, version := range map[string]backend.Version{"data": "", "not modified": v} {
		b.Run(known, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = m.Get(ctx, "name", version)
			}
		})
	}
}

func BenchmarkPut(b *testing.B) {
	m, data := memory.New(), []byte("data")
	v := put(b, m, "name")
	b.ReportAllocs()
	for b.Loop() {
		at, _ := m.Put(context.Background(), "name", data, backend.IfVersion(v))
		v = at.Version
	}
}

func BenchmarkList100000(b *testing.B) {
	m := memory.New()
	for i := range 100_000 {
		put(b, m, fmt.Sprintf("c/%06d/k", i))
	}
	for _, o := range []backend.ListOptions{
		{}, {Limit: 10}, {Delimiter: "/", Prefix: "c/"}, {Delimiter: "/"},
	} {
		name := fmt.Sprintf("delimiter %q prefix %q limit %d", o.Delimiter, o.Prefix, o.Limit)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				listAll(b, m, o)
			}
		})
	}
}

func listAll(b *testing.B, m *memory.Backend, o backend.ListOptions) {
	for {
		page, err := m.List(context.Background(), o)
		require.NoError(b, err)
		if !page.More {
			return
		}
		if n := len(page.Objects); n > 0 {
			o.After = page.Objects[n-1].Name
		} else {
			o.After = page.Prefixes[len(page.Prefixes)-1]
		}
	}
}

// TestTimesAreOfTheWallClock: a monotonic one stands still while the machine sleeps.
func TestTimesAreOfTheWallClock(t *testing.T) {
	b := memory.New()
	at, err := b.Put(t.Context(), "name", nil, backend.IfAbsent())
	require.NoError(t, err)
	o, err := b.Get(t.Context(), "name", "")
	require.NoError(t, err)
	for _, told := range []time.Time{at.Time, o.Time} {
		assert.NotZero(t, told)
		assert.Equal(t, told.Round(0).String(), told.String())
	}
}

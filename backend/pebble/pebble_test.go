package pebble_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend/backendtest"
	"github.com/strictkv/strictkv/backend/pebble"
)

func open(t testing.TB, dir string, options ...pebble.Option) *pebble.Backend {
	t.Helper()
	b, err := pebble.Open(dir, options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func TestConformance(t *testing.T) {
	t.Run("sync", func(t *testing.T) { testConformance(t) })
	t.Run("no sync", func(t *testing.T) { testConformance(t, pebble.NoSync()) })
}

func testConformance(t *testing.T, options ...pebble.Option) {
	backendtest.Run(t, func(t *testing.T) backendtest.Harness {
		return backendtest.Harness{
			Backend: open(t, t.TempDir(), options...), Clock: time.Now,
			HostileNames: []string{
				".", "..", "\x00", "\xff", "\xc3", "a\x00b", "\n", strings.Repeat("\xff", 1024),
				strings.Repeat("/", 1024), "f", "o",
			},
		}
	})
}

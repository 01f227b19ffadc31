package model

import (
	"flag"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/model/explore"
	"github.com/strictkv/strictkv/internal/raced"
)

var (
	whole = flag.Bool("model.whole", false, "visit every state, up to each configuration's limit")
	most  = flag.Int("model.limit", 0, "states per configuration")
	more  = flag.Int("model.more", 0,
		"so many more lost answers, crashes and kills; everybody may crash")
	walks = flag.Int("model.walks", 0, "random runs of each configuration, instead of all states")
	cover = flag.Bool("model.cover", false, "print what each configuration has met")
	trace = flag.Bool("model.trace", false, "print how each mutation is found")
)

// States and runs without flags.
const (
	shortMax    = 25_000
	shortMutMax = 400_000
	shortWalks  = 50
)

func find(t *testing.T, name string) config {
	i := slices.IndexFunc(configs, func(c config) bool { return c.Name == name })
	require.GreaterOrEqual(t, i, 0, "no configuration %s", name)
	return configs[i]
}

// told is a trace, one step per line.
func told(r *explore.Result) string {
	return strings.Join(append(r.Trace, "=> "+r.Wrong), "\n    ")
}

func (m *model) printCover(t *testing.T) {
	for k, n := range m.cover {
		if *cover && n > 0 {
			t.Logf("%10d  %s", n, covNames[k])
		}
	}
}

// TestConfigurations visits the states of each configuration, and checks what must hold in each.
func TestConfigurations(t *testing.T) {
	var states atomic.Int64
	t.Cleanup(func() { t.Logf("%d states", states.Load()) })
	for _, c := range configs {
		if *walks > 0 || c.Big {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			m := newModel(c.with(*more), mut{})
			r := explore.All(m, c.limit(*whole, shortMax))
			assert.Empty(t, r.Wrong, "%s:\n    %s", c.About, told(&r))
			left := ""
			if !r.Whole {
				left = ", cut off"
			}
			t.Logf("%9d states, depth %2d, %5.1f s%s", r.States, r.Depth, r.Took.Seconds(), left)
			m.printCover(t)
			states.Add(int64(r.States))
		})
	}
}

// with is the configuration with more faults.
func (c config) with(more int) *config {
	if more > 0 {
		n := uint8(more)
		c.Lost, c.Crash, c.Kills = c.Lost+n, c.Crash+n, c.Kills+n
		c.Clients = slices.Clone(c.Clients)
		for i := range c.Clients {
			c.Clients[i].Crashes = true
		}
	}
	return &c
}

// TestMutations switches off one rule after another. Each must be missed somewhere, unless it is
// known to be stricter than need be.
func TestMutations(t *testing.T) {
	if raced.Enabled() {
		t.Skip("one goroutine each, and many states: run it without -race")
	}
	for _, mu := range mutations {
		if mu.Survives && !*whole {
			continue
		}
		t.Run(mu.Name, func(t *testing.T) {
			t.Parallel()
			caught := slices.ContainsFunc(mu.On, func(name string) bool {
				return caughtBy(t, &mu, name)
			})
			assert.Equal(t, !mu.Survives, caught, mu.About)
		})
	}
}

// caughtBy reports whether a configuration misses the rule.
func caughtBy(t *testing.T, mu *mutation, name string) bool {
	var x mut
	mu.Set(&x)
	c := find(t, name)
	r := explore.All(newModel(&c, x), c.limit(*whole, shortMutMax))
	if r.Wrong == "" {
		t.Logf("%s: survives %d states, all of them: %v", name, r.States, r.Whole)
		return false
	}
	t.Logf("%s: caught after %d states: %s", name, r.States, r.Wrong)
	if *trace {
		t.Logf("    %s", told(&r))
	}
	return true
}

// TestWalks takes random runs, of the configurations too that are too large for anything else.
func TestWalks(t *testing.T) {
	for _, c := range configs {
		runs := *walks
		if runs == 0 && c.Big {
			runs = shortWalks
		}
		if runs == 0 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Kills = 250 // nobody has to wait for ever
			c.Clients = slices.Clone(c.Clients)
			for i := range c.Clients {
				c.Clients[i].NoKill = false
			}
			r := explore.Random(newModel(&c, mut{}), runs, 1)
			assert.Empty(t, r.Wrong, "%s:\n    %s", c.About, told(&r))
			assert.Zero(t, r.Endless, "runs without an end")
		})
	}
}

// A state is hashed and compared as bytes: it must not have padding.
func TestNoPadding(t *testing.T) {
	var s state
	assert.EqualValues(t, 1, unsafe.Alignof(s), "a field is wider than a byte")
}

package model

import (
	"flag"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/model/explore"
)

var (
	whole = flag.Bool("model.whole", false, "visit every state, up to each configuration's limit")
	only  = flag.String("model.run", "", "only this configuration, or mutation")
	most  = flag.Int("model.limit", 0, "states per configuration")
	more  = flag.Int("model.more", 0,
		"so many more lost answers, crashes and kills; everybody may crash")
	walks = flag.Int("model.walks", 0, "random runs of each configuration, instead of all states")
	cover = flag.Bool("model.cover", false, "print what each configuration has met")
)

// States visited without flags.
const (
	shortMax     = 25_000
	shortMutMax  = 400_000
	shortOpenMax = 1_000_000
	shortWalks   = 50
)

func find(t *testing.T, name string) config {
	for _, c := range configs {
		if c.Name == name {
			return c
		}
	}
	require.Fail(t, "no configuration "+name)
	return config{}
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
	states, took := 0, time.Duration(0)
	for _, c := range configs {
		if *only != "" && c.Name != *only || *walks > 0 || c.Big {
			continue
		}
		m := newModel(c.with(*more), mut{fenceAbsent: c.Open})
		r := explore.All(m, c.limit(*whole, shortMax))
		assert.Empty(t, r.Wrong, "%s:\n    %s", c.Name, told(&r))
		left := ""
		if !r.Whole {
			left = ", cut off"
		}
		t.Logf("%-20s %9d states, depth %2d, %5.1f s%s", c.Name, r.States, r.Depth,
			r.Took.Seconds(), left)
		m.printCover(t)
		states, took = states+r.States, took+r.Took
	}
	t.Logf("%d states in %.0f s", states, took.Seconds())
}

// with is the configuration with more faults.
func (c config) with(more int) *config {
	if more > 0 {
		n := uint8(more)
		c.Lost, c.Crash, c.Kills = c.Lost+n, c.Crash+n, c.Kills+n
		c.Clients = append([]client(nil), c.Clients...)
		for i := range c.Clients {
			c.Clients[i].Crashes = true
		}
	}
	return &c
}

// TestMutations switches off one rule after another. Each must be missed somewhere, unless it is
// known to be stricter than need be.
func TestMutations(t *testing.T) {
	for _, mu := range mutations {
		if *only != "" && mu.Name != *only || mu.Survives && !*whole {
			continue
		}
		var x mut
		mu.Set(&x)
		caught := false
		for _, on := range mu.On {
			c := find(t, on)
			m := newModel(&c, x)
			r := explore.All(m, c.limit(*whole, shortMutMax))
			if r.Wrong == "" {
				t.Logf("%-30s %-18s survives %d states, all of them: %v",
					mu.Name, on, r.States, r.Whole)
				continue
			}
			caught = true
			t.Logf("%-30s %-18s caught after %d states: %s", mu.Name, on, r.States, r.Wrong)
			if *only != "" {
				t.Logf("    %s", told(&r))
			}
			break
		}
		assert.Equal(t, !mu.Survives, caught, mu.Name)
	}
}

// TestWalks takes random runs, of the configurations too that are too large for anything else.
func TestWalks(t *testing.T) {
	for _, c := range configs {
		runs := *walks
		if runs == 0 && c.Big {
			runs = shortWalks
		}
		if *only != "" && c.Name != *only || runs == 0 {
			continue
		}
		c.Kills = 250 // nobody has to wait for ever
		c.Clients = append([]client(nil), c.Clients...)
		for i := range c.Clients {
			c.Clients[i].NoKill = false
		}
		r := explore.Random(newModel(&c, mut{}), runs, 1)
		assert.Empty(t, r.Wrong, "%s:\n    %s", c.Name, told(&r))
		assert.Zero(t, r.Endless, "%s: runs without an end", c.Name)
	}
}

// A state is hashed and compared as bytes: it must not have padding.
func TestNoPadding(t *testing.T) {
	var s state
	assert.EqualValues(t, 1, unsafe.Alignof(s), "a field is wider than a byte")
}

// TestOpen shows where the protocol as written breaks. Whoever mends it takes the mark Open from
// these configurations.
func TestOpen(t *testing.T) {
	for _, c := range configs {
		if !c.Open || *only != "" && c.Name != *only {
			continue
		}
		r := explore.All(newModel(&c, mut{}), c.limit(*whole, shortOpenMax))
		assert.NotEmpty(t, r.Wrong, "%s is open no more", c.Name)
		t.Logf("%s:\n    %s", c.Name, told(&r))
	}
}

package contention_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/internal/contention"
)

// TestToll: a transaction of several keys takes locks after so many failures of one kind.
func TestToll(t *testing.T) {
	const latency = 70 * time.Millisecond
	for name, tc := range map[string]struct {
		f    contention.Failure
		want int // failures, the first one included; 0 is never
	}{
		"at the hot member":        {contention.Failure{Partial: true, Refused: 1}, 0},
		"all refused":              {contention.Failure{Refused: 5, Direct: 5}, 0},
		"read set changed at once": {contention.Failure{Stale: true}, 0},
		"torn by a direct writer":  {contention.Failure{Landed: 9, Refused: 1, Direct: 1}, 3},
		"torn by several of those": {contention.Failure{Landed: 7, Refused: 3, Direct: 3}, 2},
		"torn by rivals":           {contention.Failure{Landed: 2, Refused: 1}, 6},
		"torn behind the hot one":  {contention.Failure{Partial: true, Landed: 1, Refused: 9}, 2},
		"killed":                   {contention.Failure{Landed: 4}, 6},
		"found stale":              {contention.Failure{Landed: 2, Stale: true}, 3},
		"slow function":            {contention.Failure{Ran: time.Second}, 1},
		"not so slow":              {contention.Failure{Ran: 4 * latency}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			const most = 100
			tries, toll := 0, 0
			for tries < most && !contention.Locks(toll, 2, false) {
				f := tc.f
				f.First, f.Latency = tries == 0, latency
				toll += f.Toll()
				tries++
			}
			if tc.want == 0 {
				tc.want = most
			}
			assert.Equal(t, tc.want, tries)
		})
	}
}

// TestSlow: where the store is quicker than a function can be, locks cost more than trying again.
func TestSlow(t *testing.T) {
	const us = time.Microsecond
	assert.False(t, contention.Failure{Ran: 9 * time.Millisecond, Latency: 3 * us}.Slow())
	assert.True(t, contention.Failure{Ran: 11 * time.Millisecond, Latency: 3 * us}.Slow())
	assert.False(t, contention.Failure{Ran: 11 * time.Millisecond, Latency: 3000 * us}.Slow())
}

// TestLocks: one key alone is locked only for a slow function.
func TestLocks(t *testing.T) {
	const much = 100
	assert.True(t, contention.Locks(much, 2, false))
	assert.False(t, contention.Locks(much, 1, false))
	assert.True(t, contention.Locks(much, 1, true))
	assert.False(t, contention.Locks(much, 0, true))
	assert.False(t, contention.Locks(0, 2, true))
}

// TestLocksReads: what is read is locked after many runs, and later where others have locks.
func TestLocksReads(t *testing.T) {
	for _, x := range []struct {
		runs, keys int
		met, want  bool
	}{
		{10, 2, false, false},
		{11, 2, false, true},
		{11, 1, false, false},
		{20, 2, true, false},
		{21, 2, true, true},
	} {
		assert.Equal(t, x.want, contention.LocksReads(x.runs, x.keys, x.met), "%+v", x)
	}
}

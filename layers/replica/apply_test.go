package replica

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
)

// A large value goes with its record, also if the copy was opened anew since it came.
func TestALargeValueLeavesNothingBehind(t *testing.T) {
	large := strictkv.Change{Key: []byte("k"), Value: bytes.Repeat([]byte{1}, largeMin)}
	for name, next := range map[string]strictkv.Change{
		"a small value": {Key: []byte("k"), Value: []byte("small")},
		"a deletion":    {Key: []byte("k"), Deleted: true},
	} {
		for _, reopened := range []bool{false, true} {
			d := newDisk()
			a := applierOn(t, d)
			apply(t, a, large)
			require.Equal(t, 1, largeOn(d))
			if reopened {
				a = applierOn(t, d)
			}
			apply(t, a, next)
			assert.Zero(t, largeOn(d), "%s, reopened: %t", name, reopened)
		}
	}
}

func applierOn(t *testing.T, d *disk) *applier {
	t.Helper()
	a, err := newApplier(d)
	require.NoError(t, err)
	a.number = func(*strictkv.Collection) (int, error) { return 0, nil }
	a.logMax = math.MaxUint32
	return a
}

func apply(t *testing.T, a *applier, c strictkv.Change) {
	t.Helper()
	_, err := a.change(c)
	require.NoError(t, err)
	require.NoError(t, a.flush())
}

// largeOn is how many large values a disk has.
func largeOn(d *disk) (n int) {
	for _, p := range d.now() {
		if p.key[0] == keyLarge {
			n++
		}
	}
	return n
}

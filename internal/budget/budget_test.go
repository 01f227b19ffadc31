package budget

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// box is a cache that keeps nothing.
type box struct{ *Part }

func in(b *Budget) *box {
	x := &box{}
	x.Part = For(b, x)
	return x
}

func TestExceeds(t *testing.T) {
	for _, x := range []struct {
		name  string
		sizes []int64 // of boxes of 100
		want  []bool
	}{
		{"alone, within", []int64{100}, []bool{false}},
		{"alone, beyond", []int64{101}, []bool{true}},
		{"all of it, shared unequally", []int64{90, 10}, []bool{false, false}},
		{"more than all", []int64{90, 11}, []bool{true, false}},
		{"more than all, from equal parts on", []int64{90, 50}, []bool{true, false}},
		{"all have more than equal parts", []int64{40, 40, 40}, []bool{true, true, true}},
	} {
		var b Budget
		var boxes []*box
		for _, n := range x.sizes {
			boxes = append(boxes, in(&b))
			boxes[len(boxes)-1].Add(n)
		}
		for i, box := range boxes {
			assert.Equal(t, x.want[i], box.Exceeds(100), "%s: %d", x.name, i)
		}
	}
}

func TestPartOfNoBudget(t *testing.T) {
	var p Part
	p.Add(100)
	assert.False(t, p.Exceeds(100))
	p.Add(1)
	assert.True(t, p.Exceeds(100))
	assert.Equal(t, int64(101), p.Size())
}

func TestBudgetGetsBackWhatWasTaken(t *testing.T) {
	var b Budget
	kept := in(&b)
	kept.Add(1)
	func() { in(&b).Add(10) }()
	for b.parts.Load() > 1 {
		runtime.GC()
	}
	require.Equal(t, int64(1), b.used.Load())
	runtime.KeepAlive(kept)
}

package explore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/internal/model/explore"
)

// jugs is the puzzle of two jugs, of 3 and 5 litres, of which one is to hold 4.
type jugs struct {
	narrate bool
	step    string
	endless bool
}

type litres [2]uint8

func (j *jugs) Start() litres          { return litres{} }
func (j *jugs) Bytes(s *litres) []byte { return s[:] }
func (j *jugs) Ended(*litres) bool     { return !j.endless }
func (j *jugs) Narrate(on bool)        { j.narrate = on }
func (j *jugs) Step() string           { return j.step }

func (j *jugs) Next(s *litres, out func(to *litres, wrong string)) {
	tell := func(step string, to litres) {
		if j.narrate {
			j.step = fmt.Sprint(step, " ", to)
		}
		wrong := ""
		if to[1] == 4 && !j.endless {
			wrong = "4 litres"
		}
		out(&to, wrong)
	}
	most := litres{3, 5}
	for i := range s {
		full, empty, poured := *s, *s, *s
		full[i], empty[i] = most[i], 0
		tell("fill", full)
		tell("empty", empty)
		n := min(poured[i], most[1-i]-poured[1-i])
		poured[i] -= n
		poured[1-i] += n
		tell("pour", poured)
	}
}

func TestAllFindsTheNearest(t *testing.T) {
	r := explore.All(&jugs{}, 1000)
	assert.Equal(t, "4 litres", r.Wrong)
	assert.Equal(t, []string{
		"fill [0 5]", "pour [3 2]", "empty [0 2]", "pour [2 0]", "fill [2 5]", "pour [3 4]",
	}, r.Trace)
	assert.False(t, r.Whole)
}

func TestAllVisitsEveryState(t *testing.T) {
	r := explore.All(&jugs{endless: true}, 1000)
	assert.Empty(t, r.Wrong)
	assert.True(t, r.Whole)
	assert.Equal(t, 16, r.States, "all but those with both jugs partly filled")

	r = explore.All(&jugs{endless: true}, 5)
	assert.False(t, r.Whole, "cut off")
}

func TestRandom(t *testing.T) {
	r := explore.Random(&jugs{endless: true}, 2, 1)
	assert.Equal(t, 2, r.Endless)

	found := false
	for seed := range int64(50) {
		r := explore.Random(&jugs{}, 100, seed)
		found = found || r.Wrong != ""
	}
	assert.False(t, found, "a run ends where it may, so that none gets so far")
}

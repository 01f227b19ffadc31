package sim

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestShrink shrinks runs that fail if transaction 3 runs, and the tape holds a 7 with a
// 9 behind it.
func TestShrink(t *testing.T) {
	runs := 0
	run := func(cfg Config) *Result {
		runs++
		r := &Result{Config: cfg, Tape: cfg.Tape}
		seven := bytes.IndexByte(cfg.Tape, 7)
		if seven >= 0 && bytes.IndexByte(cfg.Tape[seven:], 9) > 0 && !cfg.Skip[3] {
			r.Err = errors.New("fails")
		}
		return r
	}
	tape := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, 40)
	first := run(Config{Workload: "mix", Txs: 20, Tape: tape})
	h := &shrinker{best: first, runs: shrinkRuns, run: run}
	best := h.shrink()
	assert.Error(t, best.Err)
	assert.Equal(t, []byte{7, 9}, best.Tape)
	assert.Len(t, best.Config.Skip, 19)
	assert.True(t, best.Config.Quiet)
	assert.Less(t, runs, 500)
}

package sim

import (
	"bytes"
	"maps"
	"slices"

	"github.com/strictkv/strictkv/internal/sim/workload"
)

// shrinkRuns bounds the runs that shrinking takes.
const shrinkRuns = 4000

// Shrink looks for a smaller run that fails as well: fewer transactions, and fewer
// decisions that are not benign.
func Shrink(failed *Result) *Result {
	h := &shrinker{best: failed, runs: shrinkRuns, run: Run}
	return h.shrink()
}

func (h *shrinker) shrink() *Result {
	cfg := h.best.Config
	cfg.Tape = h.best.Tape
	if !h.try(cfg) {
		return h.best
	}
	cfg.Quiet = true
	h.try(cfg)
	for before := -1; before != h.size() && h.runs > 0; {
		before = h.size()
		h.skip()
		h.cut()
		h.chunks(zeroed)
		h.chunks(deleted)
	}
	return h.best
}

type shrinker struct {
	best *Result
	runs int // that are left
	run  func(Config) *Result
}

// size is what shrinks.
func (h *shrinker) size() int {
	n := len(h.best.Tape) - 100*len(h.best.Config.Skip)
	for _, b := range h.best.Tape {
		if b != 0 {
			n += 10
		}
	}
	return n
}

// try keeps cfg if it still fails.
func (h *shrinker) try(cfg Config) bool {
	if h.runs == 0 {
		return false
	}
	h.runs--
	cfg.Trace = false
	r := h.run(cfg)
	if r.Err == nil {
		return false
	}
	r.Config.Tape = r.Tape
	h.best = r
	return true
}

// skip leaves out transactions, many at once if possible.
func (h *shrinker) skip() {
	n := workload.Workloads[h.best.Config.Workload].Txs(h.best.Config.Txs)
	for size := n / 2; size > 0; size /= 2 {
		for at := 0; at < n; at += size {
			cfg := h.best.Config
			cfg.Skip = maps.Clone(cfg.Skip)
			if cfg.Skip == nil {
				cfg.Skip = map[int]bool{}
			}
			for i := at; i < min(at+size, n); i++ {
				cfg.Skip[i] = true
			}
			if len(cfg.Skip) > len(h.best.Config.Skip) {
				h.try(cfg)
			}
		}
	}
}

// cut drops the end of the tape.
func (h *shrinker) cut() {
	for size := len(h.best.Tape) / 2; size > 0; {
		cfg := h.best.Config
		if len(cfg.Tape) < size {
			size /= 2
			continue
		}
		cfg.Tape = slices.Clone(cfg.Tape[:len(cfg.Tape)-size])
		if !h.try(cfg) || len(h.best.Tape) > len(cfg.Tape) {
			size /= 2
		}
	}
	for n := len(h.best.Config.Tape); n > 0 && h.best.Config.Tape[n-1] == 0; n-- {
		h.best.Config.Tape = h.best.Config.Tape[:n-1]
	}
	h.best.Tape = h.best.Config.Tape
}

// chunks changes parts of the tape, from large to small.
func (h *shrinker) chunks(change func(t []byte, from, to int) []byte) {
	for size := max(1, len(h.best.Tape)/2); size > 0; size /= 2 {
		for at := 0; at < len(h.best.Tape) && h.runs > 0; {
			cfg := h.best.Config
			old := len(h.best.Tape)
			cfg.Tape = change(cfg.Tape, at, min(at+size, old))
			if bytes.Equal(cfg.Tape, h.best.Tape) || !h.try(cfg) || len(h.best.Tape) == old {
				at += size
			}
		}
	}
}

func zeroed(t []byte, from, to int) []byte {
	t = slices.Clone(t)
	clear(t[from:to])
	return t
}

func deleted(t []byte, from, to int) []byte {
	return slices.Delete(slices.Clone(t), from, to)
}

package scan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/internal/scan"
)

// What was written after the instant, and before a span of that instant is to be kept.
func TestMemoryKeepsNothingWritten(t *testing.T) {
	many := make([]string, 1100)
	for i := range many {
		many[i] = fmt.Sprint("other", i)
	}
	third := func(w *world) []string { return []string{w.name("k00003")} }
	for name, x := range map[string]struct {
		wrote func(w *world) []string
		after time.Duration
		kept  bool
	}{
		"nothing":         {func(*world) []string { return nil }, 0, true},
		"since":           {third, 1, false},
		"then":            {third, 0, false},
		"before":          {third, -1, true},
		"others":          {func(w *world) []string { return []string{"=other"} }, 1, true},
		"too many others": {func(*world) []string { return many }, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.fill(5)
				span, at := w.consume(w.all(), scan.WalkOptions{}, 0), time.Now()
				var m scan.Memory
				m.Forget(at.Add(x.after), x.wrote(w)...)
				m.Keep([]*scan.Span{span}, at)
				assert.Equal(t, x.kept, len(m.Recall(w.all(), at)) == 1)
			})
		})
	}
}

// An older listing takes the place of no newer one.
func TestMemoryKeepsTheNewest(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(5)
		span, at := w.consume(w.all(), scan.WalkOptions{}, 0), time.Now()
		var m scan.Memory
		m.Keep([]*scan.Span{span}, at)
		m.Keep([]*scan.Span{span}, at.Add(-time.Minute))
		assert.Len(t, m.Recall(w.all(), at), 1)
	})
}

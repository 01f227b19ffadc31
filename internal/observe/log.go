package observe

import (
	"context"
	"log/slog"
	"time"

	"github.com/strictkv/strictkv/internal/seam"
)

// repeatMin is the shortest time between two warnings of the same text.
const repeatMin = time.Minute

// Limited is a logger that passes on a warning, or an error, of the same text once a minute, by
// the runtime's clock. The next one tells how many were left out. Texts are constants of the
// code: there are few.
func Limited(l *slog.Logger, rt seam.Runtime) *slog.Logger {
	return slog.New(limited{l.Handler(), &repeats{rt: rt, byText: map[string]*repeat{}}})
}

type limited struct {
	slog.Handler
	*repeats
}

// repeats are those of all that was derived from one logger.
type repeats struct {
	rt seam.Runtime

	mu     seam.Mutex // guards all below
	byText map[string]*repeat
}

type repeat struct {
	last    time.Time
	leftOut int
}

// admit reports whether a text is to be passed on, and how many were left out before.
func (r *repeats) admit(text string) (leftOut int, yes bool) {
	now := r.rt.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.byText[text]
	if x == nil {
		r.byText[text] = &repeat{last: now}
		return 0, true
	}
	if now.Sub(x.last) < repeatMin {
		x.leftOut++
		return 0, false
	}
	leftOut, x.leftOut, x.last = x.leftOut, 0, now
	return leftOut, true
}

// Handle passes the record on, unless it is a repeat.
func (l limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		leftOut, yes := l.admit(r.Message)
		if !yes {
			return nil
		}
		if leftOut > 0 {
			r = r.Clone()
			r.AddAttrs(slog.Int("left_out", leftOut))
		}
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs keeps the limit.
func (l limited) WithAttrs(as []slog.Attr) slog.Handler {
	return limited{l.Handler.WithAttrs(as), l.repeats}
}

// WithGroup keeps the limit.
func (l limited) WithGroup(name string) slog.Handler {
	return limited{l.Handler.WithGroup(name), l.repeats}
}

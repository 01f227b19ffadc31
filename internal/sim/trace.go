package sim

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
)

// line is one decision, or one event at a client.
type line struct {
	step    int
	now     time.Duration
	act     action
	kind    kind
	process int // 0: none; else its id + 1
	call    int
	name    string
	data    []byte
	at      string
	version backend.Version
	err     error
	text    string
}

// say adds what a client does to the trace.
func (s *Sim) say(text string) {
	s.trace = append(s.trace, line{step: s.step, now: s.world.Now(), act: actClient, text: text})
}

// note adds a decision to the trace, if one is kept.
func (s *Sim) note(a action, c *call) {
	if !s.cfg.Trace {
		return
	}
	l := line{step: s.step, now: s.world.Now(), act: a}
	if c != nil {
		l.kind, l.process, l.call, l.name = c.kind, c.p.ID()+1, c.id, c.name
		l.data, l.at, l.version, l.err = c.data, string(c.known), c.stamp.Version, c.err
		switch {
		case c.kind == get && c.err == nil:
			l.data, l.version = c.object.Data, c.object.Version
		case c.kind == put && !c.cond.Absent():
			l.at = string(c.cond.Version())
		}
	}
	s.trace = append(s.trace, l)
}

// String is the line: a part of fixed width, and what the call carried.
func (l *line) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%6d %12.6f %-7s ", l.step, l.now.Seconds(), actionNames[l.act])
	if l.process == 0 {
		b.WriteString(l.text)
		return b.String()
	}
	fmt.Fprintf(&b, "p%-2d %-4s#%-5d %-10s @%-5s >%-5s %-12s", l.process-1,
		kinds[l.kind], l.call, short(l.name), l.at, l.version,
		l.result())
	if len(l.data) > 0 {
		b.WriteString(" " + describe(l.data))
	}
	return strings.TrimRight(b.String(), " ")
}

func (l *line) result() string {
	for _, x := range []struct {
		err  error
		name string
	}{
		{backend.ErrNotFound, "none"}, {backend.ErrNotModified, "same"},
		{backend.ErrPrecondition, "refused"}, {backend.ErrOutcomeUnknown, "unknown"},
		{backend.ErrUnavailable, "unavailable"}, {backend.ErrThrottled, "throttled"},
	} {
		if errors.Is(l.err, x.err) {
			return x.name
		}
	}
	if l.err != nil {
		return "error"
	}
	return "ok"
}

// short is an object's name without what all have in common.
func short(name string) string {
	return strings.TrimPrefix(relative(name), "+c/=")
}

// describe tells what is in a cell.
func describe(data []byte) string {
	c, err := cell.Decode(data)
	if err != nil {
		return fmt.Sprintf("%d bytes", len(data))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "{%s by %.4s", value(c.Value), c.Writer)
	if in := c.Intent; in != nil {
		fmt.Fprintf(&b, " %s %.4s %s %s [", [...]string{"", "STAGED", "PENDING"}[in.Mode], in.Tx,
			[...]string{"", "put", "delete", "lock"}[in.Action], value(in.Value))
		for _, m := range in.List {
			fmt.Fprintf(&b, " %s@%s", short(m.Name), m.Expected)
		}
		b.WriteString(" ]")
	}
	for _, m := range c.Marks {
		fmt.Fprintf(&b, " mark %.4s", m.Tx)
	}
	if c.Condemned {
		b.WriteString(" condemned")
	}
	return b.String() + "}"
}

func value(v cell.Value) string {
	if v.Kind == cell.Absent {
		return "-"
	}
	return string(v.Data)
}

// Trace is the whole trace, one line for each decision.
func (r *Result) Trace() []string {
	all := make([]string, len(r.trace))
	for i := range r.trace {
		all[i] = r.trace[i].String()
	}
	return all
}

// Hash is a digest of the trace.
func (r *Result) Hash() uint64 {
	h := fnv.New64a()
	for i := range r.trace {
		_, _ = h.Write([]byte(r.trace[i].String()))
	}
	return h.Sum64()
}

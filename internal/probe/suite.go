package probe

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/backendtest"
)

// judge is a part of the conformance suite that runs outside of go test.
type judge struct {
	ctx  context.Context
	told func(Finding) // of each question

	mu   sync.Mutex // guards all below
	said []string
	more int // what else was said
	skip bool
}

// saidMax bounds the failures of a question that are listed.
const saidMax = 5

// trace is what assertions say besides: where they stand, on the machine that has compiled this.
var trace = regexp.MustCompile(`^Error Trace: .*? Error: `)

// Errorf notes a failure, and goes on.
func (j *judge) Errorf(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.said) == saidMax {
		j.more++
		return
	}
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	j.said = append(j.said, trace.ReplaceAllString(text, ""))
}

// FailNow ends the part.
func (j *judge) FailNow() { runtime.Goexit() }

// Skip ends the part: it does not apply.
func (j *judge) Skip(...any) {
	j.skip = true
	runtime.Goexit()
}

// Helper is of no use here.
func (j *judge) Helper() {}

// Logf is of no use here.
func (j *judge) Logf(string, ...any) {}

// Context is that of the probe.
func (j *judge) Context() context.Context { return j.ctx }

// Run runs a question, or a part of one, on a goroutine that FailNow can end.
func (j *judge) Run(name string, part func(backendtest.T)) bool {
	if j.ctx.Err() != nil {
		return false
	}
	inner := &judge{ctx: j.ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if broken := recover(); broken != nil {
				inner.Errorf("panic: %v", broken)
			}
		}()
		part(inner)
	}()
	<-done
	if j.ctx.Err() != nil {
		return false // whatever failed did so for that
	}
	if inner.more > 0 {
		inner.said = append(inner.said, fmt.Sprintf("and %d more", inner.more))
	}
	if j.told != nil {
		f := Finding{Question: name, Passed: len(inner.said) == 0, Skipped: inner.skip}
		f.Detail = strings.Join(inner.said, "; ")
		j.told(f)
		return f.Passed
	}
	for _, said := range inner.said {
		j.Errorf("%s: %s", name, said)
	}
	return len(inner.said) == 0
}

// suite asks the questions of the conformance suite, each in a part of the bucket of its own.
func (p *Probe) suite(ctx context.Context) {
	questions := 0
	backendtest.Judge(&judge{ctx: ctx, told: p.Told}, func(backendtest.T) backendtest.Harness {
		questions++
		part := fmt.Sprintf("%s/%d", p.name, questions)
		return backendtest.Harness{
			Backend:             p.Bucket.Within(part),
			SecondClient:        func() backend.Backend { return p.Second.Within(part) },
			NameMax:             nameMax - len(p.Prefix) - len(part) - 2,
			ContentVersions:     true, // of some stores they are; databases need no others
			NoConditionalDelete: !p.Bucket.Capabilities().ConditionalDelete,
		}
	})
}

// clean removes all objects below the probe's prefix.
func (p *Probe) clean(ctx context.Context) error {
	mine := p.Bucket.Within(p.name)
	for {
		page, err := mine.List(ctx, backend.ListOptions{})
		if err != nil || len(page.Objects) == 0 {
			return err
		}
		for _, o := range page.Objects {
			err := mine.Delete(ctx, o.Name, o.Version)
			if err != nil && !errors.Is(err, backend.ErrNotFound) {
				return err
			}
		}
	}
}

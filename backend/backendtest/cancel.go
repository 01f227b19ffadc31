package backendtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// testEndedContext: a call whose context has ended before it has no effect, says
// why it failed, and takes nothing for an answer of the store.
func testEndedContext(t T, h Harness) {
	v := create(t, h.Backend, "present", "data")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancel()

	for _, end := range []struct {
		ctx  context.Context
		want error
	}{{cancelled, context.Canceled}, {late, context.DeadlineExceeded}} {
		for call, err := range calls(end.ctx, h.Backend, v) {
			assert.ErrorIs(t, err, end.want, call)
			assertNoAnswer(t, err, call)
		}
		expect(t, h.Backend, "present", "data", v)
		objects, _ := pages(t, h.Backend, backend.ListOptions{})
		assert.Len(t, objects, 1, "objects after calls with an ended context")
	}
}

// calls makes one call of each kind, and returns their errors.
func calls(ctx context.Context, b backend.Backend, v backend.Version) map[string]error {
	errs := make(map[string]error)
	_, errs["get"] = b.Get(ctx, "present", "")
	_, errs["get known"] = b.Get(ctx, "present", v)
	_, errs["get absent"] = b.Get(ctx, "absent", "")
	_, errs["create"] = b.Put(ctx, "absent", []byte("new"), backend.IfAbsent())
	_, errs["replace"] = b.Put(ctx, "present", []byte("new"), backend.IfVersion(v))
	errs["delete"] = b.Delete(ctx, "present", v)
	_, errs["list"] = b.List(ctx, backend.ListOptions{})
	return errs
}

// assertNoAnswer fails the test if err claims to know what the store would have
// answered.
func assertNoAnswer(t T, err error, call string) {
	t.Helper()
	for _, s := range matched(err) {
		if !errors.Is(s, backend.ErrUnavailable) && !errors.Is(s, backend.ErrOutcomeUnknown) {
			assert.Fail(t, "an ended context taken for an answer", "%s: %v", call, err)
		}
	}
	assert.LessOrEqual(t, len(matched(err)), 1, "sentinels matched by %v", err)
}

// testCancelDuringCall cancels calls under way, at various moments. Each ends; one
// that succeeds nevertheless is in force, and one that fails is no answer.
func testCancelDuringCall(t T, h Harness) {
	state := func(n int) string { return fmt.Sprintf("%d:", n) + strings.Repeat("x", 256<<10) }
	create(t, h.Backend, "object", state(0))
	for n := 1; n <= 40; n++ {
		before, err := h.Backend.Get(t.Context(), "object", "")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for range n * n { // From at once to long after.
				runtime.Gosched()
			}
			cancel()
		}()
		if n%4 == 0 {
			_, err = h.Backend.List(ctx, backend.ListOptions{})
			assertCancelled(t, err, "list")
			_, err = h.Backend.Get(ctx, "object", "")
			assertCancelled(t, err, "get")
		}
		data := []byte(state(n))
		v, err := h.Backend.Put(ctx, "object", data, backend.IfVersion(before.Version))
		if err == nil {
			expect(t, h.Backend, "object", state(n), v.Version)
		} else if !errors.Is(err, backend.ErrPrecondition) { // An earlier write landed late.
			assertCancelled(t, err, "put")
		}
		after, err := h.Backend.Get(t.Context(), "object", "")
		require.NoError(t, err)
		require.Equal(t, len(state(n))-len(state(n))%1024, len(after.Data)-len(after.Data)%1024,
			"a cancelled write has left a part of its data")
		cancel()
	}
}

// assertCancelled fails the test unless err is nil or says that the call was
// cancelled.
func assertCancelled(t T, err error, call string) {
	t.Helper()
	if err == nil {
		return
	}
	assert.ErrorIs(t, err, context.Canceled, call)
	assertNoAnswer(t, err, call)
}

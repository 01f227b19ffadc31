package seam_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type key struct{}

// TestTimeout: a context that is given a time ends as one of package context does, whether somebody
// has waited for that before or not.
func TestTimeout(t *testing.T) {
	for name, use := range map[string]func(context.Context){
		"nobody waits": func(context.Context) {},
		"waited for":   func(ctx context.Context) { _ = ctx.Done() },
		"has a child":  func(ctx context.Context) { context.AfterFunc(ctx, func() {}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, stop := context.WithTimeout(
					context.WithValue(background, key{}, "value"), time.Minute)
				defer stop()
				open := func(d time.Duration) (context.Context, context.CancelFunc) {
					ctx, cancel := rt.WithTimeout(parent, d)
					use(ctx)
					require.NoError(t, ctx.Err())
					assert.Equal(t, "value", ctx.Value(key{}))
					return ctx, cancel
				}
				late, cancel := open(time.Second)
				defer cancel()
				left, cancel := open(time.Second)
				cancel()
				cancel()
				under, cancel := open(time.Hour)
				defer cancel()
				inner, cancelInner := rt.WithTimeout(under, time.Hour)
				defer cancelInner()
				use(inner)
				at, _ := inner.Deadline()
				assert.Equal(t, time.Minute, time.Until(at))

				ended(t, left, context.Canceled)
				time.Sleep(time.Second)
				synctest.Wait() // a timer of the same instant may run after this sleep
				ended(t, late, context.DeadlineExceeded)
				ended(t, left, context.Canceled)
				require.NoError(t, inner.Err())
				stop()
				ended(t, under, context.Canceled)
				ended(t, inner, context.Canceled)
				cancel()
				ended(t, under, context.Canceled)
			})
		})
	}
}

// TestTimeoutAfterParent: who has not ended before its parent ends after it, also where both have
// the same time.
func TestTimeoutAfterParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, stop := context.WithTimeout(background, time.Second)
		defer stop()
		ctx, cancel := rt.WithTimeout(parent, time.Minute)
		defer cancel()
		<-ctx.Done()
		assert.Equal(t, context.DeadlineExceeded, parent.Err())
		assert.Equal(t, context.DeadlineExceeded, ctx.Err())
	})
}

// ended asserts how a context has, and that its children have, too.
func ended(t *testing.T, ctx context.Context, want error) {
	t.Helper()
	assert.Equal(t, want, ctx.Err())
	assert.Equal(t, want, context.Cause(ctx))
	<-ctx.Done()
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	synctest.Wait() // a goroutine may tell it
	assert.Equal(t, want, child.Err())
}

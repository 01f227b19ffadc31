package cleanup_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cleanup"
	"github.com/strictkv/strictkv/internal/contention"
	"github.com/strictkv/strictkv/internal/protocoltest"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Tests say these often.
var (
	pass  = protocoltest.Pass
	id    = protocoltest.ID
	names = protocoltest.Names
)

// world is one in which the test opens clients.
type world struct{ *protocoltest.World }

// inWorld runs f in virtual time.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	protocoltest.Run(t, func(w *protocoltest.World) { f(&world{w}) })
}

// client is a handle without an engine, and its connection.
type client struct {
	*protocoltest.Net
	h    *protocoltest.Handle
	w    *world
	rs   *resolve.Resolver
	bg   *cleanup.Background
	keys *contention.Keys
	stop context.CancelFunc
}

// client opens a handle. Its requests are counted from then on.
func (w *world) client() *client {
	c := &client{Net: w.Net(), w: w}
	c.h = w.Open(store.Options{Backend: c.Net}, 2*time.Second)
	c.rs, c.bg, c.keys, c.stop = c.h.Resolver, c.h.Background, c.h.Keys, c.h.Stop
	c.Forget()
	return c
}

// requests counts the requests of a kind so far.
func (c *client) requests(k faulty.Kind) int { return len(c.Sent(k, "")) }

func (c *client) drain() { c.w.Drain(c.h) }

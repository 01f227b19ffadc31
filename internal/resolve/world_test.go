package resolve_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/protocoltest"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	prefix   = protocoltest.Prefix
	patience = 2 * time.Second
	// grant is what an older writer grants a staged attempt: the latency of a write,
	// of which a fresh client knows nothing yet.
	grant = 50 * time.Millisecond
)

// Tests say these often.
var (
	pass   = protocoltest.Pass
	id     = protocoltest.ID
	inline = protocoltest.Inline
	names  = protocoltest.Names
)

type (
	snapshot = store.Snapshot
	rival    = protocoltest.Rival
)

// world is one in which the test opens clients.
type world struct{ *protocoltest.World }

// inWorld runs f in virtual time.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	protocoltest.Run(t, func(w *protocoltest.World) { f(&world{w}) })
}

// client is a handle's resolver, and its connection.
type client struct {
	*protocoltest.Net
	w    *world
	h    *protocoltest.Handle
	st   *store.Store
	rs   *resolve.Resolver
	stop context.CancelFunc
}

// client opens a handle. Its requests are counted from then on.
func (w *world) client() *client { return w.clientOf(patience) }

func (w *world) clientOf(patience time.Duration) *client {
	c := &client{Net: w.Net(), w: w}
	c.h = w.Open(store.Options{Backend: c.Net}, patience)
	c.st, c.rs, c.stop = c.h.Store, c.h.Resolver, c.h.Stop
	c.Forget()
	return c
}

// requests counts the requests of a kind so far.
func (c *client) requests(k faulty.Kind) int { return len(c.Sent(k, "")) }

// read reads a cell, without asking for the status of an intent in it.
func (c *client) read(name string) store.Snapshot {
	s, err := c.rs.Read(context.Background(), name)
	require.NoError(c.w.T, err)
	return s
}

// status asks what has become of the attempt in a cell.
func (c *client) status(name string) resolve.Reading {
	rd, err := c.rs.Status(context.Background(), c.read(name))
	require.NoError(c.w.T, err)
	return rd
}

// effective is the effective value of a cell, and how long it took to find out.
func (c *client) effective(name string, role resolve.Role) (resolve.Reading, time.Duration) {
	start := time.Now()
	rd, err := c.rs.Effective(context.Background(), name, role)
	require.NoError(c.w.T, err)
	return rd, time.Since(start)
}

// write replaces a settled cell, as a direct commit of attempt n does.
func (c *client) write(rd resolve.Reading, n byte) store.Result {
	next := cell.Write(rd.Cell, c.rs.FoldOf(rd), id(n), cell.Put, inline("direct"))
	res, _, _ := c.rs.Send(context.Background(), c.st.Prepare(rd.Snapshot, next))
	return res
}

func ids(ns ...byte) (s []txid.ID) {
	for _, n := range ns {
		s = append(s, id(n))
	}
	return s
}

// writer is the role of a transaction begun at n.
func writer(n byte) resolve.Role {
	return resolve.Role{Writer: true, Ranked: true, Priority: txid.Priority{Time: int64(n)}}
}

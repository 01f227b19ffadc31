package feed

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/protocoltest"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// world is one in which handles write and read hints.
type world struct{ *protocoltest.World }

func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	protocoltest.Run(t, func(w *protocoltest.World) { f(&world{w}) })
}

// client is a handle that writes, and its requests.
type client struct {
	*Writer
	*protocoltest.Net
	stop func()
}

func (w *world) client() *client {
	net := w.Net()
	h := w.Open(store.Options{Backend: net}, time.Second)
	net.Forget()
	life, stop := seam.Real().WithCancel(background)
	w.T.Cleanup(stop)
	return &client{NewWriter(life, h.Store, 0), net, stop}
}

// reader reads, and its requests.
type reader struct {
	*Reader
	*protocoltest.Net
	w *world
}

// reader opens one that has begun.
func (w *world) reader() *reader {
	r := w.newReader()
	assert.Equal(w.T, Hints{Missed: true}, r.next())
	r.Forget()
	return r
}

func (w *world) newReader() *reader {
	net := w.Net()
	h := w.Open(store.Options{Backend: net}, time.Second)
	net.Forget()
	return &reader{NewReader(h.Store, ""), net, w}
}

func (r *reader) next() Hints {
	h, err := r.Next(background)
	require.NoError(r.w.T, err)
	return h
}

// lists and gets are how many requests have been sent.
func (r *reader) lists() int { return len(r.Sent(faulty.List, "")) }
func (r *reader) gets() int  { return len(r.Sent(faulty.Get, "")) }

// objects are the names of the objects of hints.
func (w *world) objects() []string {
	var all []string
	o := backend.ListOptions{Prefix: protocoltest.Prefix + keyspace.Hints}
	page, err := w.Mem.List(background, o)
	require.NoError(w.T, err)
	require.False(w.T, page.More)
	for _, info := range page.Objects {
		all = append(all, strings.TrimPrefix(info.Name, protocoltest.Prefix))
	}
	return all
}

// put writes an object of hints, as a writer does whose clock is off by so much.
func (w *world) put(off time.Duration, handle byte, number uint32, names ...string) string {
	h := keyspace.Hint{
		Time:   time.Now().Add(off).UnixNano(),
		Handle: protocoltest.ID(handle).String(), Number: number,
	}
	w.PutData(h.Name(), encode(content{Hints: Hints{Names: slices.Clone(names)}}))
	return h.Name()
}

// skewed is a runtime whose clock is off.
type skewed struct {
	seam.Runtime
	by time.Duration
}

// Now is what that clock says.
func (s skewed) Now() time.Time { return s.Runtime.Now().Add(s.by) }

// mute makes a store tell no time.
func mute(net *protocoltest.Net) {
	net.Every(func(_ context.Context, _ faulty.Op, a *faulty.Answer) {
		if a != nil {
			a.Object.Time, a.Stamp.Time = time.Time{}, time.Time{}
		}
	})
}

// skewedClient is one whose clock is off, on a store that tells no time.
func (w *world) skewedClient(by time.Duration) *client {
	net := w.Net()
	mute(net)
	rt := skewed{seam.Real(), by}
	st, err := store.Open(background, store.Options{
		Backend: net, Runtime: rt, Prefix: protocoltest.Prefix, Concurrency: 8, Cache: cache.New(0),
	})
	require.NoError(w.T, err)
	net.Forget()
	life, stop := rt.WithCancel(background)
	w.T.Cleanup(stop)
	return &client{NewWriter(life, st, 0), net, stop}
}

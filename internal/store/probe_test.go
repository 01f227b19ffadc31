package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// flawed is a store that does not do all that it should.
type flawed struct {
	*memory.Backend
	flaws
	mu sync.Mutex // makes a Put of two calls one
}

type flaws struct {
	// What it ignores: If-None-Match of a Put, its If-Match where there is an object, and
	// where there is none, the condition of a Delete.
	ifAbsent, ifVersion, ifThere, ofDelete bool
	// strict says that it refuses a Delete where there is no object.
	strict bool
	// deleting is the answer to each Delete, and listing changes what a List does.
	deleting error
	listing  func(b backend.Backend, o backend.ListOptions) (backend.Page, error)
	// denies says that it does not conceal what it lacks: it does not declare ConditionalDelete.
	denies bool
}

// in makes a store with these flaws.
func (f flaws) in(mem *memory.Backend) *flawed { return &flawed{Backend: mem, flaws: f} }

func (f *flawed) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o, err := f.Get(ctx, name, "")
	switch {
	case err == nil && (c.Absent() && f.ifAbsent || !c.Absent() && f.ifVersion):
		c = backend.IfVersion(o.Version)
	case err != nil && f.ifThere:
		c = backend.IfAbsent()
	}
	return f.Backend.Put(ctx, name, data, c)
}

func (f *flawed) Delete(ctx context.Context, name string, v backend.Version) error {
	if f.deleting != nil {
		return f.deleting
	}
	if o, err := f.Get(ctx, name, ""); f.ofDelete && err == nil {
		v = o.Version
	} else if f.ofDelete && !f.strict {
		return nil // as S3 answers
	}
	return f.Backend.Delete(ctx, name, v)
}

func (f *flawed) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	if f.listing == nil {
		return f.Backend.List(ctx, o)
	}
	return f.listing(f.Backend, o)
}

func (f *flawed) Capabilities() backend.Capabilities {
	return backend.Capabilities{ConditionalDelete: !f.denies, SendsOnce: true}
}

// rearranged lists what the store should, rearranged.
func rearranged(
	by func(all []backend.Info) []backend.Info,
) func(backend.Backend, backend.ListOptions) (backend.Page, error) {
	return func(b backend.Backend, o backend.ListOptions) (backend.Page, error) {
		page, err := b.List(background, o)
		page.Objects = by(page.Objects)
		return page, err
	}
}

func folded(all []backend.Info) []backend.Info {
	slices.SortFunc(all, func(a, b backend.Info) int {
		return strings.Compare(strings.ToUpper(a.Name), strings.ToUpper(b.Name))
	})
	return all
}

func folding(all []backend.Info) []backend.Info {
	slices.SortFunc(all, func(a, b backend.Info) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return all
}

const (
	noIfAbsent  = "If-None-Match of a PUT"
	noIfVersion = "If-Match of a PUT"
	noIfThere   = "If-Match of a PUT where there is no object"
	noOrder     = "listing all names in byte order"
)

// unfit are the stores that no database can be kept in, by what they lack.
var unfit = []struct {
	name  string
	flaw  flaws
	lacks []string
}{
	{"overwrites", flaws{ifAbsent: true}, []string{noIfAbsent}},
	{"forgets versions", flaws{ifVersion: true}, []string{noIfVersion}},
	{"creates at a version", flaws{ifThere: true}, []string{noIfThere}},
	{"has no conditions", flaws{ifAbsent: true, ifVersion: true, ifThere: true, ofDelete: true},
		[]string{noIfAbsent, noIfVersion, noIfThere}},
	{"lists backwards", flaws{listing: rearranged(func(all []backend.Info) []backend.Info {
		slices.Reverse(all)
		return all
	})}, []string{noOrder}},
	{"lists in upper case", flaws{listing: rearranged(folded)}, []string{noOrder}},
	{"lists in lower case", flaws{listing: rearranged(folding)}, []string{noOrder}},
	{"forgets the last", flaws{listing: rearranged(func(all []backend.Info) []backend.Info {
		return all[:max(len(all)-1, 0)]
	})}, []string{noOrder}},
	{"lists everything", flaws{
		listing: func(b backend.Backend, o backend.ListOptions) (backend.Page, error) {
			o.Prefix = ""
			return b.List(background, o)
		}}, []string{noOrder}},
	{"begins anew", flaws{
		listing: func(b backend.Backend, o backend.ListOptions) (backend.Page, error) {
			o.After = ""
			return b.List(background, o)
		}}, []string{noOrder}},
	{"has no conditions nor order", flaws{ifVersion: true, listing: rearranged(folded)},
		[]string{noIfVersion, noOrder}},
}

func probed(b backend.Backend, p store.Probe) store.Options {
	return store.Options{
		Backend: b, Runtime: seam.Real(), Cache: cache.New(1 << 20), Prefix: prefix,
		Concurrency: 1, Probe: p,
	}
}

// others are the names of all objects but meta.
func others(t *testing.T, b backend.Backend) (names []string) {
	page, err := b.List(background, backend.ListOptions{Prefix: prefix})
	require.NoError(t, err)
	for _, info := range page.Objects {
		if info.Name != meta {
			names = append(names, strings.TrimPrefix(info.Name, prefix))
		}
	}
	return names
}

func TestProbeOfAnUnfitStore(t *testing.T) {
	for _, x := range unfit {
		t.Run(x.name, func(t *testing.T) {
			f := x.flaw.in(memory.New())
			_, err := f.Backend.Put(background, "another", nil, backend.IfAbsent())
			require.NoError(t, err)
			_, err = store.Open(background, probed(f, store.ProbeOnce))
			require.ErrorIs(t, err, store.ErrUnsupported)
			assert.ErrorContains(t, err, "lacks "+strings.Join(x.lacks, ", "))
			assert.True(t, strings.HasSuffix(err.Error(), x.lacks[len(x.lacks)-1]), "no more")
			assert.Equal(t, 1, f.Len(), "nothing is left but what was there")

			_, err = store.Open(background, probed(f, store.ProbeNever))
			assert.NoError(t, err, "if it is not asked for")
		})
	}
}

// short is a store that keeps objects as files of their names.
type short struct{ *memory.Backend }

func (s short) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	if len(name) > 300 {
		return backend.Object{}, fmt.Errorf("name too long: %w", backend.ErrInvalid)
	}
	return s.Backend.Get(ctx, name, known)
}

// A store that takes no long names is fit, but its owner should know.
func TestProbeOfAStoreOfShortNames(t *testing.T) {
	for _, x := range []struct {
		b     backend.Backend
		warns bool
	}{{short{memory.New()}, true}, {memory.New(), false}} {
		var log bytes.Buffer
		o := probed(x.b, store.ProbeOnce)
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		_, err := store.Open(background, o)
		require.NoError(t, err)
		assert.Equal(t, x.warns, strings.Contains(log.String(), "keys of more than 123 bytes"))
	}
}

// An old database in an unfit store is refused, and left as it is.
func TestProbeOfAnOldDatabaseInAnUnfitStore(t *testing.T) {
	f := flaws{ifVersion: true}.in(memory.New())
	open(t, f.Backend)
	before := stored(t, f.Backend)
	_, err := store.Open(background, probed(f, store.ProbeOnce))
	require.ErrorIs(t, err, store.ErrUnsupported)
	assert.Equal(t, before, stored(t, f.Backend))
	assert.Equal(t, 1, f.Len())
}

// Without conditional delete all is well, but it is known.
func TestProbeOfConditionalDelete(t *testing.T) {
	for _, x := range []struct {
		name string
		flaw flaws
		want bool
		left int
	}{
		{"honoured", flaws{}, true, 0},
		{"ignored", flaws{ofDelete: true}, false, 0},
		{"refused", flaws{deleting: backend.ErrInvalid}, false, 3},
		{"denied", flaws{deleting: backend.ErrDenied}, false, 3},
		{"declared", flaws{denies: true}, false, 0},
		{"ignored and declared", flaws{denies: true, ofDelete: true}, false, 0},
		{"pages of one", flaws{
			listing: func(b backend.Backend, o backend.ListOptions) (backend.Page, error) {
				o.Limit = 1
				return b.List(background, o)
			}}, true, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			mem := memory.New()
			st, err := store.Open(background, probed(x.flaw.in(mem), store.ProbeOnce))
			require.NoError(t, err)
			assert.Equal(t, x.want, st.ConditionalDelete())
			assert.Len(t, others(t, mem), x.left)
			for _, name := range others(t, mem) {
				assert.True(t, keyspace.IsClock(name), "%q is not known to a sweep", name)
			}

			w := &wire{mem: mem}
			o := w.options()
			for _, p := range []store.Probe{store.ProbeOnce, store.ProbeNever} {
				w.sent, o.Probe = nil, p
				again, err := store.Open(background, o)
				require.NoError(t, err)
				assert.Equal(t, x.want, again.ConditionalDelete(), "it is remembered")
				assert.Len(t, w.sent, 1, "opening is one GET")
			}

			denying := flaws{denies: true}.in(mem)
			st, err = store.Open(background, probed(denying, store.ProbeOnce))
			require.NoError(t, err)
			assert.False(t, st.ConditionalDelete(), "by a backend that can't")

			able := memory.New()
			data := stored(t, mem)
			_, err = able.Put(background, meta, data, backend.IfAbsent())
			require.NoError(t, err)
			st, err = store.Open(background, probed(able, store.ProbeAgain))
			require.NoError(t, err)
			assert.True(t, st.ConditionalDelete(), "a copy in a store that can")
			assert.Equal(t, x.want, slices.Equal(data, stored(t, able)), "rewritten if it is news")
		})
	}
}

// To be probed again may be bad news too.
func TestProbeAgain(t *testing.T) {
	f := flaws{}.in(memory.New())
	_, err := store.Open(background, probed(f, store.ProbeOnce))
	require.NoError(t, err)
	before, err := f.Get(background, meta, "")
	require.NoError(t, err)
	_, err = store.Open(background, probed(f, store.ProbeAgain))
	require.NoError(t, err)
	_, err = f.Get(background, meta, before.Version)
	require.ErrorIs(t, err, backend.ErrNotModified, "no news is not written")

	f.ofDelete = true
	for p, want := range map[store.Probe]bool{store.ProbeOnce: true, store.ProbeNever: true} {
		st, err := store.Open(background, probed(f, p))
		require.NoError(t, err)
		assert.Equal(t, want, st.ConditionalDelete())
	}
	st, err := store.Open(background, probed(f, store.ProbeAgain))
	require.NoError(t, err)
	assert.False(t, st.ConditionalDelete())
	st, err = store.Open(background, probed(f, store.ProbeOnce))
	require.NoError(t, err)
	assert.False(t, st.ConditionalDelete(), "it is remembered")
	f.ifAbsent = true
	_, err = store.Open(background, probed(f, store.ProbeAgain))
	require.ErrorIs(t, err, store.ErrUnsupported)
}

// misfortunes are what may happen to one request, within the contract of a backend.
var misfortunes = map[string]func(b backend.Backend, op faulty.Op) error{
	"not sent":  func(backend.Backend, faulty.Op) error { return backend.ErrUnavailable },
	"throttled": func(backend.Backend, faulty.Op) error { return backend.ErrThrottled },
	"lost":      func(_ backend.Backend, op faulty.Op) error { return unanswered(op) },
	"answer lost": func(b backend.Backend, op faulty.Op) error {
		send(b, op)
		return unanswered(op)
	},
	"late": func(b backend.Backend, op faulty.Op) error {
		go func() {
			time.Sleep(backoff / 2)
			send(b, op)
		}()
		return unanswered(op)
	},
	"very late": func(b backend.Backend, op faulty.Op) error {
		go func() {
			time.Sleep(time.Minute)
			send(b, op)
		}()
		return unanswered(op)
	},
	// The second copy is what the caller's own request becomes.
	"sent twice": func(b backend.Backend, op faulty.Op) error {
		send(b, op)
		return nil
	},
}

// backoff is less than the first pause before a request is sent again.
const backoff = 25 * time.Millisecond

func unanswered(op faulty.Op) error {
	if op.Write() {
		return backend.ErrOutcomeUnknown
	}
	return backend.ErrUnavailable
}

func send(b backend.Backend, op faulty.Op) {
	switch op.Kind {
	case faulty.Put:
		_, _ = b.Put(background, op.Name, op.Data, op.Condition)
	case faulty.Delete:
		_ = b.Delete(background, op.Name, op.Condition.Version())
	}
}

// unlucky opens a database through a network in which the n-th request meets misfortune.
// It tells how many requests there were.
func unlucky(
	b backend.Backend, n int, happens func(b backend.Backend, op faulty.Op) error,
) (st *store.Store, requests int, err error) {
	var mu sync.Mutex
	net := faulty.New(b, faulty.Options{Before: func(_ context.Context, op faulty.Op) error {
		mu.Lock()
		requests++
		hit := requests == n
		mu.Unlock()
		if hit {
			return happens(b, op)
		}
		return nil
	}})
	st, err = store.Open(background, probed(net, store.ProbeOnce))
	time.Sleep(time.Hour)
	return st, requests, err
}

// Whatever happens to one request, a fit store is found so.
func TestProbeByMisfortune(t *testing.T) {
	for name, happens := range misfortunes {
		synctest.Test(t, func(t *testing.T) {
			for n, requests := 1, 1; n <= requests; n++ {
				mem := memory.New()
				var st *store.Store
				var err error
				st, requests, err = unlucky(mem, n, happens)
				require.NoError(t, err, "%s: request %d", name, n)
				assert.True(t, st.ConditionalDelete(), "%s: request %d", name, n)
				for _, left := range others(t, mem) {
					assert.Equal(t, "very late", name, "request %d has left %q", n, left)
					assert.True(t, keyspace.IsClock(left))
				}
				again, err := store.Open(background, probed(mem, store.ProbeNever))
				require.NoError(t, err)
				assert.True(t, again.ConditionalDelete(), "%s: request %d: remembered", name, n)
			}
		})
	}
}

// Whatever happens to one request, an unfit store is not found fit.
func TestProbeOfAnUnfitStoreByMisfortune(t *testing.T) {
	for name, happens := range misfortunes {
		synctest.Test(t, func(t *testing.T) {
			for n, requests := 1, 1; n <= requests; n++ {
				for _, x := range unfit {
					f := x.flaw.in(memory.New())
					_, err := f.Backend.Put(background, "another", nil, backend.IfAbsent())
					require.NoError(t, err)
					_, sent, err := unlucky(f, n, happens)
					requests = max(requests, sent)
					if !errors.Is(err, store.ErrUnsupported) {
						require.ErrorIs(t, err, backend.ErrUnavailable, "%s, %s: request %d",
							x.name, name, n)
						assert.Contains(t, name, "late", "%s: request %d", x.name, n)
					}
				}
				for _, strict := range []bool{false, true} {
					f := flaws{ofDelete: true, strict: strict}.in(memory.New())
					st, _, err := unlucky(f, n, happens)
					if err == nil {
						assert.False(t, st.ConditionalDelete(), "%s: request %d", name, n)
					} else {
						require.ErrorIs(t, err, backend.ErrUnavailable, "%s: request %d", name, n)
					}
				}
			}
		})
	}
}

func put(o faulty.Op, suffix string) bool {
	return o.Kind == faulty.Put && strings.HasSuffix(o.Name, suffix)
}

// oddities are what no store should do, but which proves nothing: what becomes of an answer.
var oddities = map[string]func(mem *memory.Backend, op faulty.Op, a *faulty.Answer){
	"says that it has overwritten": func(_ *memory.Backend, op faulty.Op, a *faulty.Answer) {
		if put(op, ".A") && errors.Is(a.Err, backend.ErrPrecondition) {
			*a = faulty.Answer{Stamp: backend.Stamp{Version: "new"}}
		}
	},
	"says that it has written at an old version": func(
		_ *memory.Backend, op faulty.Op, a *faulty.Answer,
	) {
		if put(op, "._") && errors.Is(a.Err, backend.ErrPrecondition) {
			*a = faulty.Answer{Stamp: backend.Stamp{Version: "new"}}
		}
	},
	"says that it has created at a version": func(
		_ *memory.Backend, op faulty.Op, a *faulty.Answer,
	) {
		if put(op, ".z") {
			*a = faulty.Answer{Stamp: backend.Stamp{Version: "new"}}
		}
	},
	"loses an object": func(mem *memory.Backend, op faulty.Op, a *faulty.Answer) {
		if put(op, ".A") && a.Err == nil {
			_ = mem.Delete(background, op.Name, a.Stamp.Version)
		}
	},
	"loses an object later": func(mem *memory.Backend, op faulty.Op, _ *faulty.Answer) {
		if op.Kind == faulty.Delete && strings.HasSuffix(op.Name, ".a") {
			lost := strings.TrimSuffix(op.Name, "a") + "_"
			if o, err := mem.Get(background, lost, ""); err == nil {
				_ = mem.Delete(background, lost, o.Version)
			}
		}
	},
	"changes an object": func(mem *memory.Backend, op faulty.Op, _ *faulty.Answer) {
		if op.Kind == faulty.Delete && strings.HasSuffix(op.Name, ".a") {
			o, err := mem.Get(background, op.Name, "")
			if err == nil {
				_, _ = mem.Put(background, op.Name, nil, backend.IfVersion(o.Version))
			}
		}
	},
	"refuses all": func(*memory.Backend, faulty.Op, *faulty.Answer) {}, // before
	"lists empty pages": func(_ *memory.Backend, op faulty.Op, a *faulty.Answer) {
		if op.Kind == faulty.List {
			a.Page = backend.Page{More: true}
		}
	},
}

// What does not fit together passes, perhaps: it is no proof that the store is unfit.
func TestProbeOfAnOddStore(t *testing.T) {
	for name, after := range oddities {
		synctest.Test(t, func(t *testing.T) {
			mem := memory.New()
			net := faulty.New(mem, faulty.Options{
				Before: func(_ context.Context, op faulty.Op) error {
					if name == "refuses all" && put(op, "") && !op.Condition.Absent() {
						return backend.ErrPrecondition
					}
					return nil
				},
				After: func(_ context.Context, op faulty.Op, a *faulty.Answer) {
					after(mem, op, a)
				},
			})
			_, err := store.Open(background, probed(net, store.ProbeOnce))
			require.ErrorIs(t, err, backend.ErrUnavailable, name)
			assert.NotErrorIs(t, err, store.ErrUnsupported, name)
			_, err = mem.Get(background, meta, "")
			assert.ErrorIs(t, err, backend.ErrNotFound, name)
		})
	}
}

// An unfit store that is odd as well is unfit.
func TestProbeOfAnOddAndUnfitStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flaws{ifAbsent: true}.in(memory.New())
		_, _, err := unlucky(f, 12, func(_ backend.Backend, op faulty.Op) error {
			lost := op.Name[:len(op.Name)-1] + "_"
			o, err := f.Get(background, lost, "")
			require.NoError(t, err)
			return f.Delete(background, lost, o.Version)
		})
		require.ErrorIs(t, err, store.ErrUnsupported)
	})
}

// A refusal without a reason is not held against the store, if it is the only one.
func TestProbeIsRefusedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n, requests := 1, 1; n <= requests; n++ {
			var st *store.Store
			var err error
			refused := func(_ backend.Backend, op faulty.Op) error {
				if op.Kind == faulty.Put {
					return backend.ErrPrecondition
				}
				return nil
			}
			st, requests, err = unlucky(memory.New(), n, refused)
			require.NoError(t, err, "request %d", n)
			assert.True(t, st.ConditionalDelete())
		}
	})
}

// A Delete of which nothing is learned decides nothing.
func TestProbeWithoutDeletes(t *testing.T) {
	for _, err := range []error{backend.ErrUnavailable, backend.ErrOutcomeUnknown} {
		synctest.Test(t, func(t *testing.T) {
			f := flaws{deleting: err}.in(memory.New())
			_, err := store.Open(background, probed(f, store.ProbeOnce))
			require.ErrorIs(t, err, backend.ErrUnavailable)
			_, err = f.Get(background, meta, "")
			require.ErrorIs(t, err, backend.ErrNotFound)
		})
	}
}

// The probe ends with its caller's context, and then leaves its objects to a sweep.
func TestProbeIsCancelled(t *testing.T) {
	mem := memory.New()
	for n := 2; ; n++ {
		ctx, cancel := context.WithCancel(background)
		w := &wire{mem: mem, before: func(_ context.Context, _ faulty.Op, sent int) error {
			if sent == n {
				cancel()
				return backend.ErrUnavailable
			}
			return nil
		}}
		o := w.options()
		o.Probe, o.Concurrency = store.ProbeOnce, 1
		_, err := store.Open(ctx, o)
		cancel()
		if len(w.sent) <= n || err == nil { // meta has been written
			assert.Greater(t, n, 15)
			break
		}
		require.ErrorIs(t, err, context.Canceled)
	}
	for _, name := range others(t, mem) {
		assert.True(t, keyspace.IsClock(name))
	}
}

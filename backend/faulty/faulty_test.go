package faulty_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/backendtest"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
)

func TestConformance(t *testing.T) {
	for name, o := range map[string]faulty.Options{
		"without faults": {},
		"with delays":    {Delay: 0.1, DelayMax: 20 * time.Microsecond},
	} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, func(*testing.T) backendtest.Harness {
				store := memory.New()
				client := func() backend.Backend { return faulty.New(store, o) }
				return backendtest.Harness{Backend: client(), SecondClient: client}
			})
		})
	}
}

// TestFaults injects each fault into a write and a read for certain, and compares
// error, effect and count with what Options say.
func TestFaults(t *testing.T) {
	type counts = faulty.Counts
	refused := []error{backend.ErrUnavailable, backend.ErrThrottled}
	unknown := []error{backend.ErrOutcomeUnknown}
	unavailable := []error{backend.ErrUnavailable}
	for name, tc := range map[string]struct {
		o           faulty.Options
		write, read []error // one of these; nil: success
		effects     int     // versions that the write has made
		counts      counts
	}{
		"none": {faulty.Options{}, nil, nil, 1, counts{Calls: 2}},
		"fail before": {
			faulty.Options{FailBefore: 1}, refused, refused, 0,
			counts{Calls: 2, FailuresBefore: 2},
		},
		"lose request": {
			faulty.Options{LoseRequest: 1}, unknown, unavailable, 0,
			counts{Calls: 2, LostRequests: 2},
		},
		"lose answer": {
			faulty.Options{LoseAnswer: 1}, unknown, unavailable, 1,
			counts{Calls: 2, LostAnswers: 2},
		},
		"duplicate": {
			faulty.Options{Duplicate: 1}, unknown, nil, 1, counts{Calls: 2, Duplicates: 1},
		},
		"late": {faulty.Options{Late: 1}, unknown, nil, 1, counts{Calls: 2, LateWrites: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New()
			v := put(t, store, "name", "old", backend.IfAbsent())
			sent := 0
			client := faulty.New(counter{store, &sent}, tc.o)

			_, err := client.Put(t.Context(), "name", []byte("new"), backend.IfVersion(v))
			requireOneOf(t, tc.write, err)
			require.NoError(t, client.Wait(t.Context()))
			_, err = store.Get(t.Context(), "name", v)
			if tc.effects == 0 {
				assert.ErrorIs(t, err, backend.ErrNotModified, "a write that must not land")
			} else {
				assert.NoError(t, err, "a write that must land")
			}
			_, err = client.Get(t.Context(), "name", "")
			requireOneOf(t, tc.read, err)
			assert.Equal(t, tc.counts, client.Counts())
			copies := tc.effects
			if name == "duplicate" {
				copies = 2
			}
			assert.Equal(t, copies, sent, "copies of the write that reached the store")
		})
	}
}

// counter counts the Puts that reach a store.
type counter struct {
	backend.Backend
	puts *int
}

func (c counter) Put(
	ctx context.Context, name string, data []byte, cond backend.Condition,
) (backend.Stamp, error) {
	*c.puts++
	return c.Backend.Put(ctx, name, data, cond)
}

// TestDeleteAndListSufferToo: a Delete suffers what a Put does, and a List what a Get
// does.
func TestDeleteAndListSufferToo(t *testing.T) {
	type counts = faulty.Counts
	refused := []error{backend.ErrUnavailable, backend.ErrThrottled}
	unknown := []error{backend.ErrOutcomeUnknown}
	unavailable := []error{backend.ErrUnavailable}
	for name, tc := range map[string]struct {
		o            faulty.Options
		delete, list []error // one of these; nil: success
		sent         int     // copies of the Delete that reached the store
		counts       counts
	}{
		"none": {faulty.Options{}, nil, nil, 1, counts{Calls: 2}},
		"fail before": {
			faulty.Options{FailBefore: 1}, refused, refused, 0,
			counts{Calls: 2, FailuresBefore: 2},
		},
		"lose request": {
			faulty.Options{LoseRequest: 1}, unknown, unavailable, 0,
			counts{Calls: 2, LostRequests: 2},
		},
		"lose answer": {
			faulty.Options{LoseAnswer: 1}, unknown, unavailable, 1,
			counts{Calls: 2, LostAnswers: 2},
		},
		"duplicate": {
			faulty.Options{Duplicate: 1}, unknown, nil, 2, counts{Calls: 2, Duplicates: 1},
		},
		"late": {faulty.Options{Late: 1}, unknown, nil, 1, counts{Calls: 2, LateWrites: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New()
			v := put(t, store, "name", "old", backend.IfAbsent())
			sent := make(chan error, 2)
			client := faulty.New(deleter{store, sent}, tc.o)
			requireOneOf(t, tc.delete, client.Delete(t.Context(), "name", v))
			require.NoError(t, client.Wait(t.Context()))
			assert.Len(t, sent, tc.sent, "copies of the Delete that reached the store")
			assert.Equal(t, tc.sent == 0, store.Len() == 1, "whether the object is left")
			_, err := client.List(t.Context(), backend.ListOptions{})
			requireOneOf(t, tc.list, err)
			assert.Equal(t, tc.counts, client.Counts())
		})
	}
}

// deleter sends on the outcome of each Delete that reaches a store.
type deleter struct {
	backend.Backend
	sent chan<- error
}

func (d deleter) Delete(ctx context.Context, name string, v backend.Version) error {
	err := d.Backend.Delete(ctx, name, v)
	d.sent <- err
	return err
}

// TestLateDelete lands after its delay, whatever has become of its caller, and then only
// if the object is still at the version.
func TestLateDelete(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New()
			v := put(t, store, "name", "old", backend.IfAbsent())
			sent := make(chan error, 1)
			client := faulty.New(deleter{store, sent}, faulty.Options{
				Late: 1, DelayMax: time.Hour,
			})
			ctx, cancel := context.WithCancel(t.Context())
			require.ErrorIs(t, client.Delete(ctx, "name", v), backend.ErrOutcomeUnknown)
			cancel()
			client.Crash()
			synctest.Wait()
			require.Empty(t, sent, "the Delete landed before its delay")
			if replaced {
				put(t, store, "name", "new", backend.IfVersion(v))
			}
			require.NoError(t, client.Wait(t.Context()))
			require.Len(t, sent, 1, "copies of the Delete that reached the store")
			if err := <-sent; replaced {
				assert.ErrorIs(t, err, backend.ErrPrecondition)
			} else {
				assert.NoError(t, err)
				assert.Zero(t, store.Len())
			}
		})
	}
}

func TestSameSeedSameFaults(t *testing.T) {
	run := func(seed uint64) string {
		client := faulty.New(memory.New(), faulty.Options{
			Seed: seed, FailBefore: 0.2, LoseRequest: 0.2, LoseAnswer: 0.2, Duplicate: 0.2,
		})
		var trace strings.Builder
		for i := range 50 {
			_, err := client.Put(t.Context(), fmt.Sprint(i), nil, backend.IfAbsent())
			fmt.Fprintln(&trace, err)
		}
		return trace.String()
	}
	assert.Equal(t, run(1), run(1))
	assert.NotEqual(t, run(1), run(2))
}

// TestProbabilities counts what many calls suffered.
func TestProbabilities(t *testing.T) {
	const calls = 10_000
	synctest.Test(t, func(t *testing.T) {
		client := faulty.New(memory.New(), faulty.Options{
			Delay: 0.3, FailBefore: 0.05, LoseRequest: 0.1, LoseAnswer: 0.15, Duplicate: 0.2,
			Late: 0.25,
		})
		throttled, slowest := 0, time.Duration(0)
		for range calls {
			start := time.Now()
			_, err := client.Put(t.Context(), "name", nil, backend.IfAbsent())
			slowest = max(slowest, time.Since(start))
			if errors.Is(err, backend.ErrThrottled) {
				throttled++
			}
		}
		require.NoError(t, client.Wait(t.Context()))
		c := client.Counts()
		for got, want := range map[int]float64{
			c.Delays: 0.3, c.FailuresBefore: 0.05, c.LostRequests: 0.1, c.LostAnswers: 0.15,
			c.Duplicates: 0.2, c.LateWrites: 0.25, throttled: 0.025,
		} {
			assert.InEpsilon(t, want*calls, got, 0.15, "calls that should be %v of all", want)
		}
		assert.InDelta(t, 10*time.Millisecond, slowest, float64(time.Millisecond),
			"the longest delay when none is set")
	})
}

func TestLateWriteOutlivesItsCallerAndTheCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		client := faulty.New(store, faulty.Options{Late: 1, DelayMax: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		_, err := client.Put(ctx, "name", []byte("late"), backend.IfAbsent())
		require.ErrorIs(t, err, backend.ErrOutcomeUnknown)
		cancel()
		client.Crash()
		synctest.Wait()
		require.Zero(t, store.Len(), "the write landed before its delay")
		assert.ErrorIs(t, client.Wait(ctx), context.Canceled, "Wait of one who left")
		require.NoError(t, client.Wait(t.Context()))
		assert.Equal(t, 1, store.Len(), "the write did not land")
	})
}

// TestCallerLeavesDuringDelay: a write held up before its effect never lands, one
// held up after it has landed.
func TestCallerLeavesDuringDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		landed, refused := 0, 0
		for seed := range uint64(20) {
			store := memory.New()
			sent := 0
			client := faulty.New(counter{store, &sent}, faulty.Options{
				Seed: seed, Delay: 1, DelayMax: time.Hour,
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
			_, err := client.Put(ctx, "name", nil, backend.IfAbsent())
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			if errors.Is(err, backend.ErrOutcomeUnknown) {
				landed++
				assert.Equal(t, 1, store.Len(), "a write held up after its effect")
			} else {
				refused++
				assert.Zero(t, sent, "a write held up before its effect")
			}
			assert.Equal(t, 1, client.Counts().Delays)
		}
		assert.NotZero(t, landed, "writes held up after their effect")
		assert.NotZero(t, refused, "writes held up before their effect")
	})
}

func TestOutage(t *testing.T) {
	store := memory.New()
	sent := 0
	client := faulty.New(store, faulty.Options{
		Before: func(context.Context, faulty.Op) error { sent++; return nil },
	})
	client.SetOutage(true)
	_, err := client.Put(t.Context(), "name", nil, backend.IfAbsent())
	assert.ErrorIs(t, err, backend.ErrUnavailable)
	assert.Zero(t, store.Len())
	client.SetOutage(false)
	put(t, client, "name", "data", backend.IfAbsent())
	assert.Equal(t, faulty.Counts{Calls: 2, Refusals: 1}, client.Counts())
	assert.Equal(t, 1, sent, "operations that Before was told of")
}

// TestOutageDuringDelay: a call under way to the store does not get through.
func TestOutageDuringDelay(t *testing.T) {
	store := memory.New()
	var client *faulty.Backend
	client = faulty.New(store, faulty.Options{
		Before: func(context.Context, faulty.Op) error {
			client.SetOutage(true)
			return nil
		},
	})
	_, err := client.Put(t.Context(), "name", nil, backend.IfAbsent())
	assert.ErrorIs(t, err, backend.ErrUnavailable)
	assert.Zero(t, store.Len())
}

func TestCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		arrive := make(chan struct{})
		// The way from the client to the store is long.
		far := faulty.New(store, faulty.Options{
			Before: func(context.Context, faulty.Op) error { <-arrive; return nil },
		})
		client := faulty.New(far, faulty.Options{})
		sent := make(chan error)
		go func() {
			_, err := client.Put(t.Context(), "sent before", nil, backend.IfAbsent())
			sent <- err
		}()
		synctest.Wait()
		client.Crash()
		_, err := client.Put(t.Context(), "sent after", nil, backend.IfAbsent())
		assert.ErrorIs(t, err, backend.ErrUnavailable)
		_, err = client.Get(t.Context(), "sent before", "")
		assert.ErrorIs(t, err, backend.ErrUnavailable)
		close(arrive)
		assert.ErrorIs(t, <-sent, backend.ErrOutcomeUnknown, "a write that waits for its answer")
		page, err := store.List(t.Context(), backend.ListOptions{})
		require.NoError(t, err)
		require.Len(t, page.Objects, 1)
		assert.Equal(t, "sent before", page.Objects[0].Name)
	})
}

func TestHooks(t *testing.T) {
	var ops []faulty.Op
	refusal := fmt.Errorf("test: %w", backend.ErrThrottled)
	client := faulty.New(memory.New(), faulty.Options{
		Before: func(_ context.Context, op faulty.Op) error {
			ops = append(ops, op)
			if op.Name == "refused" {
				return refusal
			}
			return nil
		},
		After: func(_ context.Context, op faulty.Op, a *faulty.Answer) {
			if op.Kind == faulty.Get && a.Err == nil {
				a.Object.Data = []byte("forged")
			}
		},
	})
	_, err := client.Put(t.Context(), "refused", nil, backend.IfAbsent())
	assert.Equal(t, refusal, err)
	v := put(t, client, "name", "data", backend.IfAbsent())
	o, err := client.Get(t.Context(), "name", "v")
	require.NoError(t, err)
	assert.Equal(t, "forged", string(o.Data))
	list := backend.ListOptions{Prefix: "n", Limit: 1}
	_, err = client.List(t.Context(), list)
	require.NoError(t, err)
	require.NoError(t, client.Delete(t.Context(), "name", v))
	assert.Equal(t, []faulty.Op{
		{Kind: faulty.Put, Name: "refused", Condition: backend.IfAbsent()},
		{Kind: faulty.Put, Name: "name", Data: []byte("data"), Condition: backend.IfAbsent()},
		{Kind: faulty.Get, Name: "name", Known: "v"},
		{Kind: faulty.List, Name: "n", List: list},
		{Kind: faulty.Delete, Name: "name", Condition: backend.IfVersion(v)},
	}, ops)
}

func TestAfterIsNotToldOfLostAnswers(t *testing.T) {
	client := faulty.New(memory.New(), faulty.Options{
		LoseAnswer: 1,
		After: func(context.Context, faulty.Op, *faulty.Answer) {
			assert.Fail(t, "After saw an answer that got lost")
		},
	})
	_, err := client.Put(t.Context(), "name", nil, backend.IfAbsent())
	assert.ErrorIs(t, err, backend.ErrOutcomeUnknown)
}

func TestBadProbabilitiesPanic(t *testing.T) {
	for _, o := range []faulty.Options{
		{Late: -0.1}, {FailBefore: 0.6, Duplicate: 0.6},
	} {
		assert.Panics(t, func() { faulty.New(memory.New(), o) }, "%+v", o)
	}
}

// TestContractHolds runs a program that believes only what the contract promises:
// every word it adds to an object is there once, whatever happens.
func TestContractHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, each = 8, 20
		store := memory.New()
		put(t, store, "words", "", backend.IfAbsent())
		var done sync.WaitGroup
		for i := range clients {
			client := faulty.New(store, faulty.Options{
				Seed: uint64(i), Delay: 0.5, FailBefore: 0.1, LoseRequest: 0.1,
				LoseAnswer: 0.1, Duplicate: 0.1, Late: 0.1,
			})
			done.Go(func() {
				for n := range each {
					add(t, client, fmt.Sprintf("%d-%d", i, n))
				}
				assert.NoError(t, client.Wait(t.Context()))
			})
		}
		done.Wait()
		o, err := store.Get(t.Context(), "words", "")
		require.NoError(t, err)
		words := strings.Fields(string(o.Data))
		assert.Len(t, words, clients*each, "words that are there")
		slices.Sort(words)
		assert.Len(t, slices.Compact(words), clients*each, "distinct words")
	})
}

// add appends a word to the object, if it is not there.
func add(t *testing.T, b backend.Backend, word string) {
	for {
		o, err := b.Get(t.Context(), "words", "")
		if err != nil {
			continue
		}
		if slices.Contains(strings.Fields(string(o.Data)), word) {
			return
		}
		data := slices.Concat(o.Data, []byte(word+" "))
		if _, err = b.Put(t.Context(), "words", data, backend.IfVersion(o.Version)); err == nil {
			return
		}
	}
}

func put(
	t *testing.T, b backend.Backend, name, data string, c backend.Condition,
) backend.Version {
	t.Helper()
	v, err := b.Put(t.Context(), name, []byte(data), c)
	require.NoError(t, err)
	return v.Version
}

func requireOneOf(t *testing.T, want []error, err error) {
	t.Helper()
	if want == nil {
		require.NoError(t, err)
		return
	}
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	require.Fail(t, "another error", "%v is none of %v", err, want)
}

// declaring is a backend, of which only this counts.
type declaring struct {
	backend.Backend
	declares backend.Capabilities
}

func (d declaring) Capabilities() backend.Capabilities { return d.declares }

func TestWhatTheBackendDeclares(t *testing.T) {
	for _, conditional := range []bool{true, false} {
		b := declaring{memory.New(), backend.Capabilities{
			ConditionalDelete: conditional, SendsOnce: true,
		}}
		want := backend.Capabilities{ConditionalDelete: conditional}
		assert.Equal(t, want, faulty.New(b, faulty.Options{}).Capabilities())
	}
}

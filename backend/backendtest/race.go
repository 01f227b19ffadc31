package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// racers is the number of goroutines that write at once.
const racers = 16

// race lets each client run f at once, and waits for all.
func race(clients []backend.Backend, f func(i int, b backend.Backend)) {
	var (
		start = make(chan struct{})
		done  sync.WaitGroup
	)
	for i, b := range clients {
		done.Go(func() {
			<-start
			f(i, b)
		})
	}
	close(start)
	done.Wait()
}

// testRaceToIncrement counts in one object: no increment may get lost, and no two
// states may have one version.
func testRaceToIncrement(t T, h Harness) {
	const each = 10
	create(t, h.Backend, "counter", "0")
	versions := make([][]backend.Version, racers)
	race(h.clients(racers), func(i int, b backend.Backend) {
		for range each {
			v, err := increment(t.Context(), b, "counter")
			if !assert.NoError(t, err) {
				return
			}
			versions[i] = append(versions[i], v)
		}
	})
	o, err := h.Backend.Get(t.Context(), "counter", "")
	require.NoError(t, err)
	assert.Equal(t, strconv.Itoa(racers*each), string(o.Data), "increments that are left")
	distinct := make(map[backend.Version]bool)
	for _, own := range versions {
		for _, v := range own {
			distinct[v] = true
		}
	}
	assert.Len(t, distinct, racers*each, "distinct versions")
}

// increment adds 1 to the number in an object.
func increment(ctx context.Context, b backend.Backend, name string) (backend.Version, error) {
	for {
		o, err := b.Get(ctx, name, "")
		if notNow(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		n, err := strconv.Atoi(string(o.Data))
		if err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		next := []byte(strconv.Itoa(n + 1))
		v, err := b.Put(ctx, name, next, backend.IfVersion(o.Version))
		if errors.Is(err, backend.ErrPrecondition) || notNow(err) {
			continue
		}
		return v.Version, err
	}
}

// testRaceToCreate creates one object many times at once: one succeeds.
func testRaceToCreate(t T, h Harness) {
	clients := h.clients(racers)
	for round := range 10 {
		name := fmt.Sprintf("object %d", round)
		var won atomic.Int32
		versions := make([]backend.Version, racers)
		race(clients, func(i int, b backend.Backend) {
			v, err := b.Put(t.Context(), name, []byte(strconv.Itoa(i)), backend.IfAbsent())
			if err == nil {
				won.Add(1)
				versions[i] = v.Version
				return
			}
			assertOnly(t, backend.ErrPrecondition, err, "put of a racer that lost")
		})
		require.EqualValues(t, 1, won.Load(), "racers that created %s", name)
		o, err := h.Backend.Get(t.Context(), name, "")
		require.NoError(t, err)
		winner, err := strconv.Atoi(string(o.Data))
		require.NoError(t, err)
		assert.Equal(t, versions[winner], o.Version, "version that the winner was told")
	}
}

// testRaceToReplaceOrDelete lets half of the racers replace, and half delete, the
// same state: one of all succeeds.
func testRaceToReplaceOrDelete(t T, h Harness) {
	clients := h.clients(racers)
	for round := range 10 {
		name := fmt.Sprintf("object %d", round)
		v := create(t, h.Backend, name, "old")
		var replaced, deleted atomic.Int32
		race(clients, func(i int, b backend.Backend) {
			var err error
			won := &deleted
			if i%2 == 0 {
				err = b.Delete(t.Context(), name, v)
			} else {
				won = &replaced
				_, err = b.Put(t.Context(), name, []byte("new"), backend.IfVersion(v))
			}
			if err == nil {
				won.Add(1)
				return
			}
			assertOnly(t, backend.ErrPrecondition, err, "call of a racer that lost")
		})
		h.judge(t, name, replaced.Load(), deleted.Load())
	}
}

// judge looks at what racers have left that replaced and deleted one state. Several
// deletions may succeed that are not conditional, also together with a replacement,
// before or after it; but no two replacements.
func (h Harness) judge(t T, name string, replaced, deleted int32) {
	t.Helper()
	require.LessOrEqual(t, replaced, int32(1), "racers that replaced")
	require.NotZero(t, replaced+deleted, "racers that succeeded")
	if !h.NoConditionalDelete {
		require.EqualValues(t, 1, replaced+deleted, "racers that succeeded")
	}
	o, err := h.Backend.Get(t.Context(), name, "")
	switch {
	case replaced == 0:
		assertOnly(t, backend.ErrNotFound, err, "get after a deletion won")
	case deleted == 0 || err == nil:
		require.NoError(t, err, "get after the replacement won")
		assert.Equal(t, "new", string(o.Data))
	default:
		assertOnly(t, backend.ErrNotFound, err, "get after both have won")
	}
}

// testReadsDuringWrites: a reader sees whole states only, each with its own
// version, and never an absent object while it is being replaced.
func testReadsDuringWrites(t T, h Harness) {
	const name, writes, size = "object", 40, 64 << 10
	content := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, size-i*101) }
	v, err := h.Backend.Put(t.Context(), name, content(0), backend.IfAbsent())
	require.NoError(t, err)
	written := map[backend.Version]int{v.Version: 0}

	var over atomic.Bool
	clients := h.clients(5)
	read := make([]map[backend.Version]int, len(clients))
	race(clients, func(i int, b backend.Backend) {
		if i == 0 {
			defer over.Store(true)
			for n := 1; n <= writes; n++ {
				v, err = b.Put(t.Context(), name, content(n), backend.IfVersion(v.Version))
				if !assert.NoError(t, err) {
					return
				}
				written[v.Version] = n
			}
			return
		}
		read[i] = make(map[backend.Version]int)
		for !over.Load() {
			o, err := b.Get(t.Context(), name, "")
			if h.UnavailableReads && errors.Is(err, backend.ErrUnavailable) {
				continue
			}
			if !assert.NoError(t, err) || !assert.NotEmpty(t, o.Data) {
				return
			}
			n := int(o.Data[0])
			if !assert.True(t, bytes.Equal(content(n), o.Data), "a torn read: state %d", n) {
				return
			}
			read[i][o.Version] = n
		}
	})
	for _, states := range read {
		for v, n := range states {
			if h.LaggingVersions && written[v] < n {
				continue // A write at that version fails, as it should.
			}
			assert.Equal(t, written[v], n, "state read at version %q", v)
		}
	}
}

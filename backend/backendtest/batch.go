package backendtest

import (
	"fmt"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// testBatches asks of a store that can write several objects at one instant that it writes all of
// them, or none.
func testBatches(t T, h Harness) {
	b, ok := h.Backend.(backend.Batcher)
	if !ok || b.BatchMax() == 0 {
		t.Skip("the store does not write several objects at one instant")
	}
	old := create(t, b, "old", "1")
	gone := create(t, b, "gone", "1")
	require.NoError(t, b.Delete(t.Context(), "gone", gone))
	write := func(name, data string, c backend.Condition) backend.Write {
		return backend.Write{Name: name, Data: []byte(data), If: c}
	}
	stale := replace(t, b, "other", "2", create(t, b, "other", "1"))
	other := replace(t, b, "other", "3", stale)

	for i, bad := range []backend.Write{
		write("old", "x", backend.IfAbsent()),
		write("gone", "x", backend.IfVersion(gone)),
		write("other", "x", backend.IfVersion(stale)),
	} {
		good := write("new", "x", backend.IfAbsent())
		_, refused, err := b.PutAll(t.Context(), []backend.Write{good, bad})
		assertOnly(t, backend.ErrPrecondition, err, "batch %d", i)
		assert.Equal(t, 1, refused)
		_, err = b.Get(t.Context(), "new", "")
		assertOnly(t, backend.ErrNotFound, err, "a part of a batch that was refused")
	}
	at, _, err := b.PutAll(t.Context(), []backend.Write{
		write("old", "2", backend.IfVersion(old)), write("gone", "2", backend.IfAbsent()),
		write("other", "4", backend.IfVersion(other)),
	})
	require.NoError(t, err)
	require.Len(t, at, 3)
	expect(t, b, "old", "2", at[0].Version)
	expect(t, b, "gone", "2", at[1].Version)
	expect(t, b, "other", "4", at[2].Version)

	for _, wrong := range [][]backend.Write{
		nil, {write("", "x", backend.IfAbsent())}, {write("a", "x", backend.Condition{})},
		{write("a", string(make([]byte, b.BatchMax()+1)), backend.IfAbsent())},
	} {
		_, _, err := b.PutAll(t.Context(), wrong)
		assertOnly(t, backend.ErrInvalid, err, "a batch of %d", len(wrong))
	}
	raceBatches(t, b)
}

// raceBatches has several write the same two objects at once, in either order: in the end both
// are by the same writer.
func raceBatches(t T, b backend.Batcher) {
	const writers, rounds = 4, 50
	names := []string{"race/a", "race/b"}
	for _, name := range names {
		create(t, b, name, "")
	}
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i := range rounds {
				all := make([]backend.Write, len(names))
				for j := range names {
					name := names[(w+j)%len(names)]
					o, err := b.Get(t.Context(), name, "")
					if !assert.NoError(t, err) {
						return
					}
					all[j] = backend.Write{
						Name: name, Data: fmt.Appendf(nil, "%d by %d", i, w),
						If: backend.IfVersion(o.Version),
					}
				}
				if _, _, err := b.PutAll(t.Context(), all); err != nil {
					assertOnly(t, backend.ErrPrecondition, err, "a batch in a race")
				}
			}
		})
	}
	wait.Wait()
	first, err := b.Get(t.Context(), names[0], "")
	require.NoError(t, err)
	second, err := b.Get(t.Context(), names[1], "")
	require.NoError(t, err)
	assert.NotEmpty(t, first.Data)
	assert.Equal(t, string(first.Data), string(second.Data))
}

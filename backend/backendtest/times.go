package backendtest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// tick is by how much the times of a store may be apart from its clock, which most of them
// tell in whole seconds.
const tick = 2 * time.Second

// testTimes: the time that an answer tells is the store's as it answered, not that of the
// object, nor the client's idea of it.
func testTimes(t T, h Harness) {
	if h.Clock == nil {
		return
	}
	within := func(told, began time.Time, call string) {
		t.Helper()
		if told.IsZero() {
			t.Logf("a %s does not tell the time", call)
			return
		}
		assert.False(t, told.Before(began.Add(-tick)), "%s: %v, before %v", call, told, began)
		ended := h.Clock()
		assert.False(t, told.After(ended.Add(tick)), "%s: %v, after %v", call, told, ended)
	}
	const name = "object"
	condition := backend.IfAbsent()
	for round := range 3 {
		began := h.Clock()
		at, err := h.Backend.Put(t.Context(), name, fmt.Append(nil, round), condition)
		require.NoError(t, err)
		within(at.Time, began, "put")
		condition = backend.IfVersion(at.Version)

		objects, _ := pages(t, h.Backend, backend.ListOptions{Prefix: name})
		require.Len(t, objects, 1)
		modified := objects[0].Modified
		began = h.Clock()
		o, err := h.Backend.Get(t.Context(), name, "")
		require.NoError(t, err)
		within(o.Time, began, "get")
		for call, told := range map[string]time.Time{"put": at.Time, "get": o.Time} {
			assert.False(t, !told.IsZero() && told.Before(modified.Add(-tick)),
				"%s: %v, before the object was modified at %v", call, told, modified)
		}
	}
}

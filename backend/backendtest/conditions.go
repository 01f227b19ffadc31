package backendtest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// history is what has happened to an object before a call. It leaves the version
// that the object is at, empty if it is absent, and one that is not current.
type history struct {
	name  string
	write func(t T, b backend.Backend, name string) (current, stale backend.Version)
}

var histories = []history{
	{"never written", func(t T, b backend.Backend, name string) (_, _ backend.Version) {
		return "", create(t, b, name+" of another object", "other")
	}},
	{"deleted", func(t T, b backend.Backend, name string) (_, _ backend.Version) {
		v := create(t, b, name, "first")
		require.NoError(t, b.Delete(t.Context(), name, v))
		return "", v
	}},
	{"replaced", func(t T, b backend.Backend, name string) (_, _ backend.Version) {
		v := create(t, b, name, "first")
		return replace(t, b, name, "present", v), v
	}},
	{"recreated", func(t T, b backend.Backend, name string) (_, _ backend.Version) {
		v := create(t, b, name, "first")
		require.NoError(t, b.Delete(t.Context(), name, v))
		return create(t, b, name, "present"), v
	}},
}

// testConditions asks every call with every condition of an object of every
// history, and looks at what is left.
func testConditions(t T, h Harness) {
	for _, past := range histories {
		t.Run(past.name, func(t T) {
			testGet(t, h.Backend, past)
			testPut(t, h.Backend, past)
			testDelete(t, h.Backend, past)
		})
	}
}

func testGet(t T, b backend.Backend, past history) {
	name := past.name + "/get"
	current, stale := past.write(t, b, name)
	if current == "" {
		for _, known := range []backend.Version{"", stale} {
			_, err := b.Get(t.Context(), name, known)
			assertOnly(t, backend.ErrNotFound, err, "get of an absent object, known %q", known)
		}
		return
	}
	expect(t, b, name, "present", current)
	_, err := b.Get(t.Context(), name, current)
	assertOnly(t, backend.ErrNotModified, err, "get with the current version known")
	o, err := b.Get(t.Context(), name, stale)
	require.NoError(t, err, "get with a stale version known")
	assert.Equal(t, "present", string(o.Data))
	assert.Equal(t, current, o.Version)
}

func testPut(t T, b backend.Backend, past history) {
	for _, try := range []struct {
		name  string
		cond  func(current, stale backend.Version) backend.Condition
		holds func(present bool) bool
	}{
		{"if absent", func(_, _ backend.Version) backend.Condition {
			return backend.IfAbsent()
		}, func(present bool) bool { return !present }},
		{"if current", func(current, _ backend.Version) backend.Condition {
			return backend.IfVersion(current)
		}, func(present bool) bool { return present }},
		{"if stale", func(_, stale backend.Version) backend.Condition {
			return backend.IfVersion(stale)
		}, func(bool) bool { return false }},
	} {
		name := past.name + "/put " + try.name
		current, stale := past.write(t, b, name)
		cond := try.cond(current, stale)
		if !cond.Valid() { // An absent object has no current version.
			continue
		}
		v, err := b.Put(t.Context(), name, []byte("new"), cond)
		if !try.holds(current != "") {
			assertOnly(t, backend.ErrPrecondition, err, "put %s: %s", name, past.name)
			expectUntouched(t, b, name, current)
			continue
		}
		require.NoError(t, err, name)
		assert.NotEqual(t, current, v, "version before and after a write")
		assert.NotEqual(t, stale, v, "version of an earlier state")
		expect(t, b, name, "new", v.Version)
	}
}

func testDelete(t T, b backend.Backend, past history) {
	name := past.name + "/delete"
	current, stale := past.write(t, b, name)
	err := b.Delete(t.Context(), name, stale)
	assertOnly(t, backend.ErrPrecondition, err, "delete at a stale version: %s", past.name)
	expectUntouched(t, b, name, current)
	if current == "" {
		return
	}
	require.NoError(t, b.Delete(t.Context(), name, current), "delete at the current version")
	expectUntouched(t, b, name, "")
	err = b.Delete(t.Context(), name, current)
	assertOnly(t, backend.ErrPrecondition, err, "delete of a deleted object")
}

// expectUntouched requires that the object is as its history left it.
func expectUntouched(t T, b backend.Backend, name string, current backend.Version) {
	t.Helper()
	if current != "" {
		expect(t, b, name, "present", current)
		return
	}
	_, err := b.Get(t.Context(), name, "")
	assertOnly(t, backend.ErrNotFound, err, "get of the absent object %q", name)
	page, err := b.List(t.Context(), backend.ListOptions{Prefix: name})
	require.NoError(t, err)
	for _, o := range page.Objects {
		assert.NotEqual(t, name, o.Name, "an absent object in a listing")
	}
}

func testInvalidCalls(t T, h Harness) {
	ctx, b, data := t.Context(), h.Backend, []byte("never stored")
	v := create(t, b, "present", "data")

	_, err := b.Get(ctx, "", "")
	assertOnly(t, backend.ErrInvalid, err, "get of the empty name")
	_, err = b.Put(ctx, "", data, backend.IfAbsent())
	assertOnly(t, backend.ErrInvalid, err, "put of the empty name")
	assertOnly(t, backend.ErrInvalid, b.Delete(ctx, "", v), "delete of the empty name")
	assertOnly(t, backend.ErrInvalid, b.Delete(ctx, "present", ""), "delete at no version")
	for _, name := range []string{"present", "absent"} {
		_, err = b.Put(ctx, name, data, backend.Condition{})
		assertOnly(t, backend.ErrInvalid, err, "put %s without a condition", name)
		_, err = b.Put(ctx, name, data, backend.IfVersion(""))
		assertOnly(t, backend.ErrInvalid, err, "put %s at no version", name)
	}

	expect(t, b, "present", "data", v)
	page, err := b.List(ctx, backend.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, page.Objects, 1, "objects after invalid calls only")
}

// testNoBucket: a mistyped bucket must not read as an empty one.
func testNoBucket(t T, h Harness) {
	if h.NoBucket == nil {
		t.Skip("no client of a missing bucket: set Harness.NoBucket to run it")
	}
	ctx, b := t.Context(), h.NoBucket
	_, err := b.Get(ctx, "name", "")
	assertOnly(t, backend.ErrBucketNotFound, err, "get in a missing bucket")
	_, err = b.Put(ctx, "name", []byte("data"), backend.IfAbsent())
	assertOnly(t, backend.ErrBucketNotFound, err, "put in a missing bucket")
	v := create(t, h.Backend, "name", "data")
	assertOnly(t, backend.ErrBucketNotFound, b.Delete(ctx, "name", v), "delete in a missing bucket")
	_, err = b.List(ctx, backend.ListOptions{})
	assertOnly(t, backend.ErrBucketNotFound, err, "list of a missing bucket")
}

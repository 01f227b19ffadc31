package backendtest

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
)

// listed are names whose byte order differs from the order of a folder's entries,
// of words, of UTF-16 units; some are whole prefixes of others.
var listed = []string{
	"B", "a", "a-b", "a.b", "a/", "a/b", "a/b/c", "a/b-c", "a/c/d/e", "a0", "ab", "b/c",
	"b/d", "b0", "c", "d/e/f", "\u00e9/x", "e\u0301", "\uffee", "\U0001f600",
}

// testListingOrder compares listings, put together from all their pages, with a
// listing made by sorting.
func testListingOrder(t T, h Harness) {
	page, err := h.Backend.List(t.Context(), backend.ListOptions{})
	require.NoError(t, err, "list an empty namespace")
	require.Equal(t, backend.Page{}, page, "the listing of an empty namespace")

	names := h.names(listed)
	for _, name := range names {
		create(t, h.Backend, name, name)
	}
	for _, delimiter := range []string{"", "/", "b/"} {
		for _, prefix := range []string{"", "a", "a/", "a/b", "b", "\u00e9", "nothing"} {
			for _, after := range []string{"", "A", "a", "a/", "a/b", "a/b/", "a/zzz", "z"} {
				for _, limit := range []int{0, 1, 3} {
					compare(t, h.Backend, names, backend.ListOptions{
						Prefix: prefix, After: after, Delimiter: delimiter, Limit: limit,
					})
				}
			}
		}
	}
}

// compare lists all pages and compares them with what should be there.
func compare(t T, b backend.Backend, all []string, o backend.ListOptions) {
	t.Helper()
	objects, prefixes := pages(t, b, o)
	wantObjects, wantPrefixes := sorted(all, o)
	names := []string{}
	for _, o := range objects {
		names = append(names, o.Name)
	}
	require.Equal(t, wantObjects, names, "objects listed by %+v", o)
	require.Equal(t, wantPrefixes, prefixes, "prefixes listed by %+v", o)
}

// sorted is the listing that a store with these names should answer.
func sorted(names []string, o backend.ListOptions) (objects, prefixes []string) {
	objects, prefixes = []string{}, []string{}
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, o.Prefix)
		if !ok {
			continue
		}
		entry, list := name, &objects
		if i := strings.Index(rest, o.Delimiter); o.Delimiter != "" && i >= 0 {
			entry, list = o.Prefix+rest[:i+len(o.Delimiter)], &prefixes
		}
		if entry > o.After {
			*list = append(*list, entry)
		}
	}
	slices.Sort(objects)
	slices.Sort(prefixes)
	return objects, slices.Compact(prefixes)
}

// pages lists page after page, and checks each for what a single page promises.
func pages(
	t T, b backend.Backend, o backend.ListOptions,
) (objects []backend.Info, prefixes []string) {
	t.Helper()
	objects, prefixes = []backend.Info{}, []string{}
	for {
		page, err := b.List(t.Context(), o)
		require.NoError(t, err, "list %+v", o)
		n := len(page.Objects) + len(page.Prefixes)
		if o.Limit > 0 {
			require.LessOrEqual(t, n, o.Limit, "entries in the page of %+v", o)
		}
		objects = append(objects, page.Objects...)
		prefixes = append(prefixes, page.Prefixes...)
		if !page.More {
			return objects, prefixes
		}
		require.NotZero(t, n, "an empty page that promises more: %+v", o)
		last := ""
		if len(page.Objects) > 0 {
			last = page.Objects[len(page.Objects)-1].Name
		}
		if len(page.Prefixes) > 0 {
			last = max(last, page.Prefixes[len(page.Prefixes)-1])
		}
		require.Greater(t, last, o.After, "the last entry of the page of %+v", o)
		o.After = last
	}
}

// testListingEntries: a listing tells of each object what a Get tells, at once
// after each write.
func testListingEntries(t T, h Harness) {
	const name = "folder/object"
	only := func() backend.Info {
		t.Helper()
		objects, _ := pages(t, h.Backend, backend.ListOptions{Prefix: name})
		require.Len(t, objects, 1)
		o, err := h.Backend.Get(t.Context(), name, "")
		require.NoError(t, err)
		assert.Equal(t, name, objects[0].Name)
		assert.Equal(t, o.Version, objects[0].Version, "version listed")
		assert.EqualValues(t, len(o.Data), objects[0].Size, "size listed")
		assert.WithinDuration(t, time.Now(), objects[0].Modified, 24*time.Hour,
			"time of modification, by a store whose clock is not far off")
		return objects[0]
	}
	v := create(t, h.Backend, name, "")
	first := only()
	assert.Equal(t, v, first.Version)
	v = replace(t, h.Backend, name, strings.Repeat("x", 1000), v)
	second := only()
	assert.Equal(t, v, second.Version)
	assert.EqualValues(t, 1000, second.Size)
	// A sweep goes by the age of the last write. The clock may tick in seconds.
	for began := time.Now(); !second.Modified.After(first.Modified); second = only() {
		require.Less(t, time.Since(began), 10*time.Second, "a write left the time of modification")
		v = replace(t, h.Backend, name, "again", v)
	}

	require.NoError(t, h.Backend.Delete(t.Context(), name, v))
	for _, delimiter := range []string{"", "/"} {
		objects, prefixes := pages(t, h.Backend, backend.ListOptions{Delimiter: delimiter})
		assert.Empty(t, objects, "objects after the only one was deleted")
		assert.Empty(t, prefixes, "prefixes after the only object was deleted")
	}
}

// testListingDefaultPages lists more objects than the clouds' stores put into one
// page, with no limit set.
func testListingDefaultPages(t T, h Harness) {
	const count = 1100
	race(h.clients(racers), func(i int, b backend.Backend) {
		for n := i; n < count; n += racers {
			name := fmt.Sprintf("many/%04d", n)
			_, err := b.Put(t.Context(), name, nil, backend.IfAbsent())
			assert.NoError(t, err)
		}
	})
	objects, prefixes := pages(t, h.Backend, backend.ListOptions{Prefix: "many/"})
	assert.Empty(t, prefixes)
	require.Len(t, objects, count)
	for n, o := range objects {
		require.Equal(t, fmt.Sprintf("many/%04d", n), o.Name)
	}
}

// testListingDuringWrites: whatever else is written, created and deleted around
// it, an object that is always there is in every listing, once.
func testListingDuringWrites(t T, h Harness) {
	const lasting = 20
	want := []string{}
	for n := range lasting {
		name := fmt.Sprintf("lasting/%02d", n)
		create(t, h.Backend, name, "0")
		want = append(want, name)
	}
	var over atomic.Bool
	race(h.clients(4), func(i int, b backend.Backend) {
		if i == 0 {
			defer over.Store(true)
			for n := range 10 {
				o := backend.ListOptions{Prefix: "lasting/", Limit: 1 + n}
				objects, _ := pages(t, b, o)
				got := []string{}
				for _, o := range objects {
					if !strings.HasSuffix(o.Name, " passing") {
						got = append(got, o.Name)
					}
				}
				assert.Equal(t, want, got, "lasting objects in a listing")
			}
			return
		}
		for n := i; !over.Load(); n++ {
			name := want[n%lasting]
			_, err := increment(t.Context(), b, name)
			assert.NoError(t, err)
			pass(t, b, name+fmt.Sprintf(" %d passing", i))
		}
	})
}

// pass creates and deletes an object.
func pass(t T, b backend.Backend, name string) {
	v, err := b.Put(t.Context(), name, nil, backend.IfAbsent())
	if assert.NoError(t, err) {
		assert.NoError(t, b.Delete(t.Context(), name, v.Version))
	}
}

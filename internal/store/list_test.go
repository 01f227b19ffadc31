package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/store"
)

// paged is a store whose pages are small.
type paged struct {
	*memory.Backend
	most  int
	asked []int // the limits of all listings
}

func (p *paged) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	p.asked = append(p.asked, o.Limit)
	if o.Limit == 0 || o.Limit > p.most {
		o.Limit = p.most
	}
	return p.Backend.List(ctx, o)
}

// openPaged opens a store of these objects.
func openPaged(t *testing.T, most int, names ...string) (*store.Store, *paged) {
	t.Helper()
	b := &paged{Backend: memory.New(), most: most}
	for _, name := range names {
		_, err := b.Put(background, prefix+name, nil, backend.IfAbsent())
		require.NoError(t, err)
	}
	o := (&wire{}).options()
	o.Backend = b
	st, err := store.Open(background, o)
	require.NoError(t, err)
	b.asked = nil
	return st, b
}

// TestListingsPageByPage: each name is listed once, whatever the pages are, until who lists has
// had enough.
func TestListingsPageByPage(t *testing.T) {
	names := []string{"x/1", "x/2", "x/3/a", "x/3/b", "x/4", "x/5/a", "x/6", "x/7", "x/8/a", "x/9/"}
	folders := []string{"x/3/", "x/5/", "x/8/", "x/9/"}
	for most := 1; most <= len(names)+1; most++ {
		st, _ := openPaged(t, most, names...)
		for enough := 1; enough <= len(names); enough++ {
			var listed, peeked, found []string
			for info, err := range st.List(background, "x/") {
				require.NoError(t, err)
				if listed = append(listed, info.Name); len(listed) == enough {
					break
				}
			}
			for info, err := range st.Peek(background, "x/") {
				require.NoError(t, err)
				if peeked = append(peeked, info.Name); len(peeked) == enough {
					break
				}
			}
			for folder, err := range st.Folders(background, "x/") {
				require.NoError(t, err)
				if found = append(found, folder); len(found) == enough {
					break
				}
			}
			assert.Equal(t, names[:enough], listed, "pages of %d", most)
			assert.Equal(t, names[:enough], peeked, "pages of %d", most)
			assert.Equal(t, folders[:min(enough, len(folders))], found, "pages of %d", most)
		}
	}
}

// TestPeekBeginsSmall: who looks at a few names does not wait for a thousand, and who goes on does
// not ask for ever for a few.
func TestPeekBeginsSmall(t *testing.T) {
	var names []string
	for i := range 400 {
		names = append(names, fmt.Sprintf("x/%03d", i))
	}
	st, b := openPaged(t, 1000, names...)
	var seen []string
	for info, err := range st.Peek(background, "x/") {
		require.NoError(t, err)
		seen = append(seen, info.Name)
	}
	assert.Equal(t, names, seen)
	assert.Equal(t, []int{16, 64, 256, 0}, b.asked)
}

func TestListPage(t *testing.T) {
	names := []string{"x/1", "x/2", "x/3", "y/1"}
	st, b := openPaged(t, 1000, names...)
	for i := range 3 {
		before, after := st.Tick(), ""
		if i > 0 {
			after = names[i-1]
		}
		began := time.Now()
		page, err := st.ListPage(background, "x/", after, 2)
		require.NoError(t, err)
		var seen []string
		for _, o := range page.Objects {
			seen = append(seen, o.Name)
		}
		assert.Equal(t, names[i:min(i+2, 3)], seen)
		assert.Equal(t, i == 0, page.More)
		assert.Greater(t, page.Asked.Proved, before)
		assert.False(t, page.Asked.Until.Before(began))
	}
	assert.Equal(t, []int{2, 2, 2}, b.asked)

	st, w := open(t, b.Backend)
	w.fail(backend.ErrDenied)
	_, err := st.ListPage(background, "x/", "", 2)
	require.ErrorIs(t, err, backend.ErrDenied)
}

// TestListed: a listing proves the version that the cache has, and nothing else.
func TestListed(t *testing.T) {
	mem := memory.New()
	st, _ := open(t, mem)
	early := store.Asked{Proved: st.Tick(), Until: time.Now()}
	_, ok := st.Listed("=a", "v", early)
	assert.False(t, ok, "nothing is known")
	put := putCell(t, st, store.NoObject("=a"), "text")

	for _, asked := range []store.Asked{
		early, {Proved: st.Tick(), Until: put.Until.Add(time.Hour)},
	} {
		seen, ok := st.Listed("=a", put.Version, asked)
		require.True(t, ok)
		assert.Equal(t, "text", string(seen.Cell.Value.Data))
		assert.Equal(t, put.Version, seen.Version)
		assert.Equal(t, max(asked.Proved, put.Proved), seen.Proved)
		until := slices.MaxFunc([]time.Time{asked.Until, put.Until}, time.Time.Compare)
		assert.Zero(t, seen.Until.Sub(until))
		cached, ok := st.Cached("=a")
		require.True(t, ok)
		assert.Equal(t, seen.Proved, cached.Proved, "it is remembered")
		assert.Zero(t, cached.Until.Sub(until))
	}

	seen, ok := st.Listed("=a", "old", early)
	assert.True(t, ok, "what is known is newer than the listing")
	assert.Equal(t, put.Version, seen.Version)
	_, ok = st.Listed("=a", "new", store.Asked{Proved: st.Tick(), Until: time.Now()})
	assert.False(t, ok, "it has changed")
	_, ok = st.Kept("=b", "new", early)
	assert.False(t, ok, "there is no disk")
}

// TestRaw: what is damaged is shown as it is, if its state can be told; every other error is one.
func TestRaw(t *testing.T) {
	some := backend.Object{Data: []byte("half"), Version: "v"}
	for name, x := range map[string]struct {
		object backend.Object
		err    error
		want   error
	}{
		"whole":                     {some, nil, nil},
		"damaged":                   {some, backend.ErrCorrupt, nil},
		"damaged, of unknown state": {backend.Object{}, backend.ErrCorrupt, backend.ErrCorrupt},
		"none":                      {backend.Object{}, backend.ErrNotFound, store.ErrMissing},
		"denied":                    {backend.Object{}, backend.ErrDenied, backend.ErrDenied},
		"denied, of a state":        {some, backend.ErrDenied, backend.ErrDenied},
	} {
		st, w := open(t, memory.New())
		w.after = func(_ faulty.Op, _ int, a *faulty.Answer) { a.Object, a.Err = x.object, x.err }
		o, err := st.Raw(background, "=a")
		require.ErrorIs(t, err, x.want, name)
		if x.want == nil {
			assert.Equal(t, some, o, name)
		} else {
			require.ErrorContains(t, err, prefix+"=a", name)
		}
	}
}

package system_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
)

// aching is a store that knows some objects to be damaged. Of those that are lost it can't
// even tell the state.
type aching struct {
	*memory.Backend
	mu   *sync.Mutex // guards lost
	lost map[string]bool
}

func (b aching) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	page, err := b.Backend.List(ctx, o)
	for i := range page.Objects {
		if lost, ok := b.of(page.Objects[i].Name); ok {
			if page.Objects[i].Damaged = true; lost {
				page.Objects[i].Version = ""
			}
		}
	}
	return page, err
}

// of reports whether an object is lost, and whether it is damaged at all.
func (b aching) of(name string) (lost, damaged bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lost, damaged = b.lost[name]
	return lost, damaged
}

func (b aching) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	lost, ok := b.of(name)
	if !ok {
		return b.Backend.Get(ctx, name, known)
	}
	o, err := b.Backend.Get(ctx, name, "")
	if err != nil || lost {
		o = backend.Object{}
	}
	if err == nil {
		err = &backend.CorruptError{Object: name, Err: fmt.Errorf("damaged header")}
	}
	return o, err
}

func (b aching) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	if _, err := b.Get(ctx, name, ""); err != nil && b.Backend != nil {
		if _, ok := b.of(name); ok && !c.Absent() {
			return backend.Stamp{}, err
		}
	}
	return b.Backend.Put(ctx, name, data, c)
}

func (b aching) Delete(ctx context.Context, name string, v backend.Version) error {
	err := b.Backend.Delete(ctx, name, v)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.lost, name)
	}
	return err
}

// TestWhatTheStoreKnowsToBeDamaged stops nobody who does not want it, and is moved if the
// store can tell its state.
func TestWhatTheStoreKnowsToBeDamaged(t *testing.T) {
	mem, first := withDamage(t)
	require.NoError(t, first.Close(t.Context()))
	create(t, mem, "db/+c/=b (1)", "a stray")
	b := aching{mem, new(sync.Mutex), map[string]bool{
		"db/+c/=b": false, "db/+c/=d": true, "db/+c/=b (1)": false,
	}}
	db, err := strictkv.Open(t.Context(), "db", b)
	require.NoError(t, err)
	for name, walk := range walkers {
		assert.Equal(t, "a ", walk(t, db, strictkv.Range{To: []byte("b")}), name)
		assert.Equal(t, "e ", walk(t, db, strictkv.Range{From: []byte("e")}), name)
	}
	for _, r := range []strictkv.Range{{}, {KeysOnly: true}, {Reverse: true}} {
		var failed error
		for _, failed = range db.Collection([]byte("c")).Items(t.Context(), r) {
			continue
		}
		require.ErrorIs(t, failed, strictkv.ErrCorrupt)
	}
	swept, err := db.Sweep(t.Context(), strictkv.SweepOptions{Horizon: -1})
	require.NoError(t, err)
	assert.EqualValues(t, 3, swept.Damaged)
	r, err := db.Check(t.Context(), strictkv.CheckOptions{Repair: true, Alone: true})
	require.NoError(t, err)
	assert.Len(t, r.Problems, 5)
	assert.EqualValues(t, 4, r.Moved)
	for _, p := range r.Problems {
		if assert.Equal(t, p.Object == "db/+c/=d", p.MovedTo == "", p.Object); p.MovedTo == "" {
			assert.Contains(t, p.Left, "only a person")
		}
	}
	n, err := db.Collection([]byte("c")).Drop(t.Context())
	require.ErrorIs(t, err, strictkv.ErrCorrupt)
	assert.EqualValues(t, 2, n, "a and e")
	_, err = db.Drop(t.Context())
	require.ErrorIs(t, err, strictkv.ErrCorrupt)
	assert.Equal(t, 2, mem.Len(), "what can't be removed, and meta")
}

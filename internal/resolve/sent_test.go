package resolve_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/cache"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/protocoltest"
	"github.com/strictkv/strictkv/internal/store"
)

// atOnce is a connection to a store that writes several objects at one instant. Nobody else
// writes there meanwhile.
type atOnce struct {
	*protocoltest.Net
	mem *memory.Backend
	err error // of the next batch
}

func (b *atOnce) PutAll(
	ctx context.Context, writes []backend.Write,
) (at []backend.Stamp, refused int, err error) {
	if b.err != nil {
		return nil, 0, b.err
	}
	for _, x := range writes {
		made, err := b.mem.Put(ctx, x.Name, x.Data, x.If)
		if err != nil {
			return nil, 0, err
		}
		at = append(at, made)
	}
	return at, 0, nil
}

func (*atOnce) BatchMax() int { return 1 << 20 }

// forgetful is a client without a cache, on a store that writes several objects at once.
func (w *world) forgetful() (*client, *atOnce) {
	net := &atOnce{Net: w.Net(), mem: w.Mem}
	h := w.Open(store.Options{Backend: net, Cache: cache.New(1)}, patience)
	return &client{Net: net.Net, w: w, h: h, st: h.Store, rs: h.Resolver}, net
}

// ways are how a write is sent.
var ways = map[string]func(c *client, w *store.Write) store.Result{
	"alone": func(c *client, w *store.Write) store.Result {
		res, _, _ := c.rs.Send(background, w)
		return res
	},
	"with others": func(c *client, w *store.Write) store.Result {
		res, _, _, _ := c.rs.SendAll(background, []*store.Write{w})
		return res
	},
}

const (
	oldRef = "00112233445566778899aabbccddeeff1"
	newRef = "00112233445566778899aabbccddeeff2"
)

func external(ref string) cell.Value {
	return cell.Value{Kind: cell.External, Ref: ref, Size: 9}
}

// Of an external value that nothing links to after a write it is told, once that was applied: of
// the one that it has replaced, and of that of an intent, if it had committed.
func TestUnlinkedValuesAreTold(t *testing.T) {
	inline := inline("x")
	for _, x := range []struct {
		name    string
		value   cell.Value
		intent  *cell.Value
		dead    bool
		resolve bool // the intent alone is resolved
		told    []string
	}{
		{"inline", inline, nil, false, false, nil},
		{"external", external(oldRef), nil, false, false, []string{oldRef}},
		{"a committed intent", external(oldRef), &inline, false, false, []string{oldRef}},
		{"a committed value", inline, new(external(newRef)), false, false, []string{newRef}},
		{"both", external(oldRef), new(external(newRef)), false, false,
			[]string{oldRef, newRef}},
		{"it is resolved: its value stays", external(oldRef), new(external(newRef)), false, true,
			[]string{oldRef}},
		{"the value of a dead one is its owner's", external(oldRef), new(external(newRef)),
			true, false, []string{oldRef}},
		{"a dead one is resolved", external(oldRef), new(external(newRef)), true, true, nil},
	} {
		for how, send := range ways {
			t.Run(x.name+", "+how, func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.Write(1, cell.Put, x.value, "=a")
					w.Value(1, "=b")
					if x.intent != nil {
						r := w.Rival(50, cell.Staged, "=a", "=b")
						r.Intent.Value = *x.intent
						r.Place("=a", "=b")
					}
					if x.dead {
						w.Value(2, "=b")
					}
					c, net := w.forgetful()
					var told []string
					c.rs.OnUnlink(func(name, ref string) {
						assert.Equal(t, "=a", name)
						told = append(told, ref)
					})
					rd := c.status("=a")
					next := cell.Write(rd.Cell, c.rs.FoldOf(rd), id(60), cell.Put, inline)
					if x.resolve {
						next = cell.Resolve(rd.Cell, c.rs.FoldOf(rd))
					}
					net.err = backend.ErrPrecondition
					c.Refuse("=a")
					require.Equal(t, store.Refused,
						send(c, c.st.Prepare(rd.Snapshot, next)))
					assert.Empty(t, told)
					net.err = nil
					c.Refuse()
					require.Equal(t, store.Applied,
						send(c, c.st.Prepare(rd.Snapshot, next)))
					assert.Equal(t, x.told, told)
				})
			})
		}
	}
}

// A handle that has folded all other members knows it, whatever its cache has kept of them. A write
// that leaves the intent where it is has folded nothing.
func TestWhatWasFoldedIsKnown(t *testing.T) {
	for _, x := range []struct {
		name string
		next func(c *cell.Cell, f cell.Fold) *cell.Cell
		keep bool
	}{
		{"a fold", cell.Resolve, false},
		{"a fence", func(c *cell.Cell, _ cell.Fold) *cell.Cell { return cell.Fence(c) }, true},
	} {
		for how, send := range ways {
			t.Run(x.name+", "+how, func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.Value(1, "=a", "=b")
					w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b").Fold("=a")
					c, _ := w.forgetful()
					c.read("=a")
					rd := c.status("=b")
					require.Equal(t, store.Applied,
						send(c, c.st.Prepare(rd.Snapshot, x.next(rd.Cell, c.rs.FoldOf(rd)))))
					c.rewrite("=a", 60)
					assert.Equal(t, x.keep, w.carries(50, "=a") != nil, "the mark is carried")
				})
			})
		}
	}
}

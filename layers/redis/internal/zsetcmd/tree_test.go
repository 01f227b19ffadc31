package zsetcmd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stored is where a tree has its nodes in a test.
type stored map[uint64][]byte

func (s stored) load(ids []uint64) ([][]byte, error) {
	nodes := make([][]byte, len(ids))
	for i, id := range ids {
		nodes[i] = s[id]
	}
	return nodes, nil
}

// reopen stores what has changed in a tree, and returns one of what is stored.
func (s stored) reopen(t *tree) *tree {
	for _, id := range t.changed() {
		if nd := t.nodes[id]; nd != nil {
			s[id] = encodeNode(nd)
		} else {
			delete(s, id)
		}
	}
	return &tree{treeHeader: t.treeHeader, load: s.load}
}

// check reads all of a tree: nodes are not too large, count what is below them, are all of one
// depth, and none is left over.
func (s stored) check(t *testing.T, header treeHeader, want []entry) {
	tr := &tree{treeHeader: header, load: s.load}
	var depths []int
	nodes := 0
	var walk func(id uint64, depth int) int
	walk = func(id uint64, depth int) int {
		nd, err := tr.node(id)
		require.NoError(t, err)
		require.LessOrEqual(t, nd.size(), nodeMax)
		nodes++
		if nd.leaf() {
			depths = append(depths, depth)
			return nd.n()
		}
		for _, c := range nd.children {
			require.Equal(t, c.n, walk(c.id, depth+1))
		}
		return nd.n()
	}
	if tr.root != 0 {
		require.Equal(t, len(want), walk(tr.root, 0))
		require.Len(t, slices.Compact(depths), 1)
	}
	require.Len(t, s, nodes)
	got, err := tr.slice(0, tr.n)
	require.NoError(t, err)
	same := func(a, b entry) bool { return compare(a, b) == 0 }
	require.True(t, slices.EqualFunc(want, got, same))
}

// TestTreeModel compares a tree with a sorted slice, while it grows and shrinks to nothing.
func TestTreeModel(t *testing.T) {
	t.Cleanup(func() { nodeMax = 64 })
	for seed := range uint64(4) {
		nodeMax = []int{4, 64}[seed%2]
		r := rand.New(rand.NewPCG(seed, 0))
		s, tr, model := stored{}, &tree{}, []entry(nil)
		for step := range 1000 {
			member := fmt.Sprint(r.IntN(100))
			if seed%2 == 1 {
				member += strings.Repeat("x", 1000)
			}
			e := entry{[]byte(member), float64(r.IntN(5))}
			grows := step%400 < 250
			at, there := slices.BinarySearchFunc(model, e, compare)
			switch {
			case !there && (grows || r.IntN(4) == 0):
				require.NoError(t, tr.insert(e))
				model = slices.Insert(model, at, e)
			case !grows && len(model) > 0:
				at = min(at, len(model)-1)
				require.NoError(t, tr.remove(model[at]))
				model = slices.Delete(model, at, at+1)
			}
			rank, err := tr.rank(func(other entry) bool { return compare(other, e) < 0 })
			require.NoError(t, err)
			want, _ := slices.BinarySearchFunc(model, e, compare)
			require.Equal(t, want, rank)
			if r.IntN(8) == 0 {
				tr = s.reopen(tr)
				s.check(t, tr.treeHeader, model)
			}
			from := r.IntN(len(model) + 1)
			to := from + r.IntN(len(model)-from+1)
			part, err := tr.slice(from, to)
			require.NoError(t, err)
			require.Len(t, part, to-from)
			for i := range part {
				require.Zero(t, compare(model[from+i], part[i]))
			}
		}
		for _, e := range model {
			require.NoError(t, tr.remove(e))
		}
		assert.Zero(t, s.reopen(tr).root)
		assert.Empty(t, s)
	}
}

// TestTreeInOrder is of a tree that grows at its end, as scores that are times do: nodes are full.
func TestTreeInOrder(t *testing.T) {
	s, tr := stored{}, &tree{}
	for i := range 64 * 64 {
		require.NoError(t, tr.insert(entry{nil, float64(i)}))
	}
	s.reopen(tr)
	assert.LessOrEqual(t, len(s), 67)
}

// TestTreeDamaged finds what can't be.
func TestTreeDamaged(t *testing.T) {
	s := stored{}
	tr := &tree{}
	for i := range 200 {
		require.NoError(t, tr.insert(entry{nil, float64(i)}))
	}
	tr = s.reopen(tr)
	require.Error(t, tr.insert(entry{nil, 7}), "twice")
	require.Error(t, s.reopen(tr).remove(entry{nil, 1.5}), "not there")
	delete(s, 1)
	_, err := (&tree{treeHeader: tr.treeHeader, load: s.load}).slice(0, 200)
	require.Error(t, err)
}

// TestTreeWritesAreSmall is of a score that changes among 50 000: nodes on the way to where it was,
// and to where it is, are written.
func TestTreeWritesAreSmall(t *testing.T) {
	s, tr := stored{}, &tree{}
	e := func(i int, score float64) entry {
		return entry{fmt.Appendf(nil, "member %06d", i), score}
	}
	for i := range 50_000 {
		require.NoError(t, tr.insert(e(i, float64(i*7919%50_000))))
	}
	tr = s.reopen(tr)
	require.NoError(t, tr.remove(e(7, 7*7919%50_000)))
	require.NoError(t, tr.insert(e(7, 20_000.5)))
	bytes := 0
	for _, id := range tr.changed() {
		bytes += len(encodeNode(tr.nodes[id]))
	}
	assert.LessOrEqual(t, len(tr.changed()), 6)
	assert.Less(t, bytes, 10<<10)
	t.Logf("%d of %d nodes, %d bytes", len(tr.changed()), len(s), bytes)
}

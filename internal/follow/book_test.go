package follow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/txid"
)

// now is the store's clock in these tests.
const now = 1000

var (
	state1, state2 = State{1}, State{2}
	value1         = Entry{State: state1, Writer: txid.ID{1}, Present: true}
	expiring       = Entry{State: state1, Writer: txid.ID{1}, Present: true, Expires: now}
	expired        = Entry{State: state1, Writer: txid.ID{1}, Expires: now}
	unsure         = Entry{Writer: txid.ID{1}, Present: true}
	tombstone      = Entry{State: state1}
	tombstone2     = Entry{State: state2}
	deletion       = Entry{Writer: txid.ID{2}}
	none           = Entry{}
)

// Sizes that tell shapes: see cell.ShapeOf.
const (
	ofTombstone = 0x20 + int64(cell.ShapeTombstone)
	ofValue     = 0x20 + int64(cell.ShapeValue)
	ofLook      = 0x20 + int64(cell.ShapeLook)
	ofCondemned = 0x20 + int64(cell.ShapeCondemned)
)

func TestCompare(t *testing.T) {
	damaged := &Row{state: state1, Damaged: true}
	row := func(s State, size int64) *Row { return &Row{state: s, Size: size} }
	for name, x := range map[string]struct {
		seen   Entry
		row    *Row
		want   finding
		absent Entry // of what is lost, or has moved
	}{
		"never seen, not there":        {none, nil, same, none},
		"never seen, a value":          {none, row(state1, ofValue), doubtful, none},
		"never seen, an intent":        {none, row(state1, ofLook), doubtful, none},
		"never seen, a tombstone":      {none, row(state1, ofTombstone), moved, tombstone},
		"never seen, condemned":        {none, row(state1, ofCondemned), moved, tombstone},
		"a value as it was":            {value1, row(state1, ofValue), same, none},
		"a value at another state":     {value1, row(state2, ofValue), doubtful, none},
		"a value that was not settled": {unsure, row(state1, ofLook), doubtful, none},
		"a value that is a tombstone":  {value1, row(state2, ofTombstone), lost, tombstone2},
		"a value that is condemned":    {value1, row(state2, ofCondemned), lost, tombstone2},
		"a value that is gone":         {value1, nil, lost, none},
		"a value that is damaged":      {value1, damaged, doubtful, none},
		"a tombstone as it was":        {tombstone, row(state1, ofTombstone), same, none},
		"a tombstone at another state": {tombstone, row(state2, ofTombstone), moved, tombstone2},
		"a tombstone that was swept":   {tombstone, nil, moved, none},
		"a tombstone that is a value":  {tombstone, row(state2, ofValue), doubtful, none},
		"a value that is due":          {expiring, row(state1, ofLook), lost, expired},
		"a value that was due":         {expired, row(state1, ofLook), same, none},
		"what was due is gone":         {expired, nil, moved, none},
		"what was due is another":      {expired, row(state2, ofLook), doubtful, none},
	} {
		t.Run(name, func(t *testing.T) {
			s := sight{name: "=k", seen: x.seen, row: x.row}
			assert.Equal(t, x.want, s.compare(now, now))
			if x.want == lost || x.want == moved {
				assert.Equal(t, x.absent, s.absent())
			}
		})
	}
	s := sight{seen: expiring, row: row(state1, ofLook)}
	assert.Equal(t, same, s.compare(now-2, now-1), "not yet")
	assert.Equal(t, doubtful, s.compare(now-1, now), "due since it was listed")
}

func TestJudge(t *testing.T) {
	of := func(w byte, present bool, expires int64) reading {
		return reading{present: present, writer: txid.ID{w}, expires: expires, state: state2}
	}
	for name, x := range map[string]struct {
		seen    Entry
		read    reading
		want    finding
		told    bool
		present bool
	}{
		"a first value":               {none, of(2, true, 0), moved, true, true},
		"another value":               {value1, of(2, true, 0), moved, true, true},
		"the same value":              {value1, of(1, true, 0), same, false, true},
		"the same that was unsettled": {unsure, of(1, true, 0), same, false, true},
		"a deletion":                  {value1, of(2, false, 0), lost, false, false},
		"a deletion of nothing":       {none, of(2, false, 0), moved, false, false},
		"no value ever":               {none, of(0, false, 0), same, false, false},
		"a deletion seen":             {deletion, of(2, false, 0), same, false, false},
		"a value that is due":         {expiring, of(1, true, now), lost, false, false},
		"a value that was due":        {expired, of(1, true, now), same, false, false},
		"a value that is not yet due": {expired, of(2, true, now+1), moved, true, true},
		"a first value that is due":   {none, of(2, true, now), moved, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := sight{name: "=k", seen: x.seen}
			e, found, told := s.judge(x.read, now)
			assert.Equal(t, x.want, found)
			assert.Equal(t, x.told, told)
			assert.Equal(t, Entry{
				State: state2, Writer: x.read.writer, Expires: x.read.expires, Present: x.present,
			}, e)
		})
	}
}

// A comparison visits each name once, in order, with what was last seen, whatever of it is in the
// base, newer, or listed.
func TestCompareVisitsAllNames(t *testing.T) {
	span := Span{From: "=", To: ">", prefix: "="}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		want := map[string]Entry{}
		var base Items
		var rows []Row
		b := &Book{newer: map[string]Entry{}}
		listed := map[string]bool{}
		for i := range 30 {
			name := fmt.Sprintf("=%02d", i)
			e := Entry{State: State{byte(r.Uint32())}, Writer: txid.ID{1}, Present: true}
			where := r.IntN(8)
			if where&1 > 0 {
				base, want[name] = append(base, Item{name, e}), e
			}
			if where&2 > 0 {
				e.Writer = txid.ID{2}
				b.newer[name], want[name] = e, e
			}
			if where&4 > 0 {
				rows = append(rows, Row{Name: name})
				listed[name] = true
				if _, seen := want[name]; !seen {
					want[name] = Entry{}
				}
			}
		}
		b.base = base
		b.begin()
		part := Part{Span: span}
		if r.IntN(2) == 0 {
			part.After = fmt.Sprintf("=%02d", r.IntN(30))
		}
		if r.IntN(2) == 0 {
			part.Last = fmt.Sprintf("=%02d", r.IntN(30))
		}
		outside := func(name string) bool { return !part.contains(name) }
		rows = slices.DeleteFunc(rows, func(r Row) bool { return outside(r.Name) })
		got := map[string]Entry{}
		last := ""
		require.NoError(t, b.compare(part, rows, func(x sight) error {
			assert.Greater(t, x.name, last)
			last = x.name
			got[x.name] = x.seen
			assert.Equal(t, listed[x.name], x.row != nil)
			return nil
		}))
		for name := range want {
			if outside(name) {
				delete(want, name)
			}
		}
		require.Equal(t, want, got, "seed %d: %q to %q", seed, part.After, part.Last)
	}
}

func TestMergeTakesTheLast(t *testing.T) {
	e := func(n byte) Entry { return Entry{State: State{n}} }
	base := Items{{"=b", e(1)}, {"=d", e(1)}, {"=f", e(1)}}
	log := []Item{{"=d", e(2)}, {"=a", e(2)}, {"=d", e(3)}, {"=f", Entry{}}, {"=g", e(2)},
		{"=h", e(2)}, {"=h", Entry{}}}
	want := Items{{"=a", e(2)}, {"=b", e(1)}, {"=d", e(3)}, {"=g", e(2)}}
	assert.Equal(t, want, Merge(base, log))
	assert.Equal(t, base, Merge(base, nil))
	assert.Equal(t, want, Merge(want, nil))
	assert.Len(t, log, 7, "nothing is changed")
	assert.Equal(t, "=d", log[0].Name)
}

// Positions that were handed out stay as they were, whatever a Book sees later.
func TestTheBookChangesNoPosition(t *testing.T) {
	b := NewBook(nil, nil)
	type handed struct {
		base Items
		log  []Item
	}
	var all []handed
	var want []Items
	for i := range 3 * compactMin {
		name := fmt.Sprintf("=%04d", i*7%compactMin)
		b.saw(name, Entry{State: State{byte(i)}, Present: true})
		b.told(name)
		if i%100 == 0 {
			base, log := b.Told()
			all, want = append(all, handed{base, log}), append(want, Merge(base, log))
		}
		if i%1500 == 0 {
			b.settle()
		}
	}
	for i, h := range all {
		assert.Equal(t, want[i], Merge(h.base, h.log))
	}
	b.settle()
	items, log := b.Told()
	assert.Len(t, items, compactMin)
	assert.Less(t, len(log), 100, "what is newer is merged once there is much")
}

// One key that changes all the time takes no more memory with time.
func TestTheLogOfOneKeyEnds(t *testing.T) {
	b := NewBook(nil, nil)
	for i := range 10 * compactMin {
		b.saw("=k", Entry{State: State{byte(i)}, Present: true})
		b.told("=k")
		b.settle()
		_, log := b.Told()
		require.LessOrEqual(t, len(log), compactMin)
	}
}

func TestPartsAreOfOnePage(t *testing.T) {
	span := SpanOf(keyspace.Interval{Path: "+c/", From: "+c/=", To: "+c/>"})
	var rows []Row
	for i := range 10_000 {
		rows = append(rows, Row{Name: fmt.Sprintf("+c/=%05d", i)})
	}
	var marks []mark
	for some := range slices.Chunk(rows, 1700) {
		marks = append(marks, marksOf(some)...)
	}
	parts := span.parts(bounds(marks))
	assert.Len(t, parts, 11)
	n := 0
	for i, p := range parts {
		count := 0
		for _, r := range rows {
			if p.contains(r.Name) {
				count++
			}
		}
		assert.LessOrEqual(t, count, partMax, "part %d", i)
		n += count
	}
	assert.Equal(t, len(rows), n, "each name is in one part")
	assert.Len(t, span.parts(nil), 1)
	empty := SpanOf(keyspace.Interval{Path: "+c/", From: "+c/=b", To: "+c/=a"})
	assert.Empty(t, empty.parts(nil))
}

// Kept values are forgotten once they have been told; what is absent is not, as nobody else may
// know of it.
func TestAKeptBookForgetsWhatWasTold(t *testing.T) {
	b := KeptBook(Items{{"=a", value1}})
	b.saw("=b", value1)
	b.told("=b")
	b.saw("=c", tombstone)
	b.saw("=d", Entry{})
	empty := Entry{State: tombstone.State} // an object that has never had a value
	require.NoError(t, b.restate("=e", empty))
	b.settle()
	assert.Equal(t, map[string]Entry{"=c": tombstone, "=e": empty}, b.newer)
	items, log := b.Told()
	assert.Empty(t, log)
	assert.Len(t, items, 1)
}

package witness_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/sim/witness"
	"github.com/strictkv/strictkv/internal/txid"
)

var one = txid.ID{1}

// intent is that of a staged attempt on a and b.
func intent(mode cell.Mode) *cell.Intent {
	return &cell.Intent{
		Tx: one, Mode: mode, Action: cell.Put,
		Value:   cell.Value{Kind: cell.Inline, Data: []byte("v")},
		Members: cell.Members{List: []cell.Member{{Name: "a"}, {Name: "b"}}},
	}
}

// store is a witness, and what it has found.
type store struct {
	*witness.Witness
	found error
	n     int
	now   time.Duration
}

func newStore() *store {
	s := &store{}
	s.Witness = witness.New(
		func(err error) { s.found = cmp.Or(s.found, err) },
		func() time.Duration { return s.now }, time.Hour)
	return s
}

func (s *store) put(name string, c *cell.Cell) {
	s.n++
	s.Put(name, cell.Encode(c, 0), backend.Version(fmt.Sprint(s.n)))
}

var (
	empty   = &cell.Cell{}
	staged  = cell.Place(empty, cell.Fold{}, intent(cell.Staged))
	pending = cell.Place(empty, cell.Fold{}, intent(cell.Pending))
)

// linking is a cell with an external value, in the object.
var (
	ref     = strings.Repeat("0", 32)
	object  = keyspace.Value("=a", ref)
	linking = cell.Write(empty, cell.Fold{}, one, cell.Put,
		cell.Value{Kind: cell.External, Ref: ref + "v1", Size: 1})
)

// committed is the staged intent folded.
func committed(unmarked bool) *cell.Cell {
	return cell.Resolve(staged, cell.Fold{Outcome: cell.Committed, Unmarked: unmarked})
}

func TestWhatIsAllowed(t *testing.T) {
	for name, do := range map[string]func(s *store){
		"a commit that is folded": func(s *store) {
			s.put("a", staged)
			s.put("b", staged)
			s.put("a", committed(false))
			s.put("b", committed(true))
		},
		"a pending commit": func(s *store) {
			s.put("a", pending)
			s.put("b", pending)
			s.put("a", cell.Commit(pending, one, cell.Fold{}))
			s.put("b", cell.Resolve(pending, cell.Fold{Outcome: cell.Committed, Unmarked: true}))
		},
		"a dead attempt": func(s *store) {
			s.put("a", staged)
			s.put("a", empty)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			do(s)
			assert.NoError(t, s.found)
			assert.NoError(t, s.Settled())
			assert.NoError(t, s.Tidy())
		})
	}
}

// offence is what must not happen, and what is said of it.
type offence struct {
	name string
	do   func(s *store)
	want string
}

func TestHintsHaveNamesOfTheirOwn(t *testing.T) {
	name := keyspace.Hint{Time: 1, Handle: strings.Repeat("0", 32), Number: 1}.Name()
	s := newStore()
	s.Put(name, []byte("hints"), "1")
	s.Remove(name)
	s.Put(name, []byte("hints"), "1")
	assert.NoError(t, s.found, "a late copy")
	s.now = 3 * time.Minute
	assert.NoError(t, s.Clean())
	s.now = time.Hour
	assert.ErrorContains(t, s.Clean(), "were left")
	s.Put(name, []byte("others"), "2")
	assert.ErrorContains(t, s.found, "two objects of hints")
}

func TestWhatIsNot(t *testing.T) {
	for _, tt := range []offence{
		{"folded without a mark", func(s *store) {
			s.put("a", staged)
			s.put("b", staged)
			s.put("a", committed(true))
		}, "lacks the mark"},
		{"a mark dropped", func(s *store) {
			s.put("a", staged)
			s.put("b", staged)
			s.put("a", committed(false))
			s.put("a", committed(true))
		}, "lacks the mark"},
		{"dropped though committed", func(s *store) {
			s.put("a", staged)
			s.put("b", staged)
			s.put("a", empty)
		}, "was dropped"},
		{"folded though undecided", func(s *store) {
			s.put("a", staged)
			s.put("a", committed(false))
		}, "has not committed"},
		{"commits though dropped", func(s *store) {
			s.put("a", staged)
			s.put("a", empty)
			s.put("b", staged)
		}, "but its intent was dropped"},
		{"lands at another version", func(s *store) {
			s.put("a", empty)
			s.put("a", staged)
		}, "expected"},
		{"lands twice", func(s *store) {
			s.put("a", staged)
			s.put("a", empty)
			s.put("a", staged)
		}, "landed"},
		{"a mark of nobody", func(s *store) {
			s.put("a", committed(false))
			s.put("a", committed(true))
		}, "not committed"},
		{"removed with marks", func(s *store) {
			s.put("a", committed(false))
			s.Remove("a")
		}, "was removed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore()
			tt.do(s)
			assert.ErrorContains(t, s.found, tt.want)
		})
	}
}

// TestSettled looks at cells from which an observer would draw the wrong conclusion.
func TestSettled(t *testing.T) {
	s := newStore()
	s.put("a", staged)
	assert.NoError(t, s.Settled())
	assert.ErrorContains(t, s.Tidy(), "was left in a")
	s.put("b", staged)
	assert.NoError(t, s.Settled())
	s.put("a", cell.Resolve(staged, cell.Fold{Outcome: cell.Committed, Unmarked: true}))
	assert.ErrorContains(t, s.Settled(), "an observer in b finds")
}

func TestGarbageThatIsNone(t *testing.T) {
	for _, tt := range []offence{
		{"removed without having been condemned", func(s *store) {
			s.put("a", empty)
			s.now = 2 * time.Hour
			s.Remove("a")
		}, "without having been condemned"},
		{"removed too early", func(s *store) {
			s.put("a", cell.Condemn(empty))
			s.now = time.Hour - 1
			s.Remove("a")
		}, "after it was condemned"},
		{"a value linked that is not there", func(s *store) {
			s.put("=a", linking)
		}, "which is not there"},
		{"a value removed that is linked", func(s *store) {
			s.put(object, empty)
			s.put("=a", linking)
			s.Remove(object)
		}, "but its cell links it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore()
			tt.do(s)
			assert.ErrorContains(t, s.found, tt.want)
		})
	}
}

func TestGarbage(t *testing.T) {
	s := newStore()
	s.put(object, empty)
	assert.ErrorContains(t, s.Orphaned(), "was left")
	s.put("=a", linking)
	assert.NoError(t, s.Clean())
	s.put("=b", empty)
	assert.ErrorContains(t, s.Clean(), "garbage was left in =b")
	s.put("=b", cell.Condemn(empty))
	s.now = time.Hour
	s.Remove("=b")
	assert.NoError(t, s.Clean())
	assert.NoError(t, s.found)
}

// A cell forgets whom it has seen after as many writers as it remembers, of which a write may bring
// two: that of the intent that it has found committed, and its own.
func TestOverrun(t *testing.T) {
	s := newStore()
	put := func(n byte, c *cell.Cell, f cell.Fold) *cell.Cell {
		next := cell.Write(c, f, txid.ID{n}, cell.Put, cell.Value{Kind: cell.Inline})
		s.put("=a", next)
		return next
	}
	c := put(2, empty, cell.Fold{})
	overrun := s.Overrun()
	for n := range byte(cell.RecentMax - 2) {
		c = put(10+n, c, cell.Fold{})
		assert.False(t, overrun())
	}
	c = cell.Place(c, cell.Fold{}, intent(cell.Staged))
	s.put("=a", c)
	assert.False(t, overrun())
	put(30, c, cell.Fold{Outcome: cell.Committed})
	assert.True(t, overrun())
}

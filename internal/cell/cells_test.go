package cell_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txid"
)

// id is a readable attempt.
func id(n byte) txid.ID { return txid.ID{0: n, 15: n} }

func ids(ns ...byte) []txid.ID {
	var s []txid.ID
	for _, n := range ns {
		s = append(s, id(n))
	}
	return s
}

func inline(s string) cell.Value { return cell.Value{Kind: cell.Inline, Data: []byte(s)} }

// expiring is a value that is due some seconds after 1970.
func expiring(v cell.Value, seconds int64) cell.Value {
	v.Expires = seconds * 1e9
	return v
}

func members(names ...string) cell.Members {
	var m cell.Members
	for i, name := range names {
		m.List = append(m.List, cell.Member{Name: name, Expected: fmt.Sprintf("v%d", i)})
	}
	return m
}

func mark(n byte) cell.Mark { return cell.Mark{Tx: id(n), Members: members("=a", "=b")} }

func marks(ns ...byte) []cell.Mark {
	var s []cell.Mark
	for _, n := range ns {
		s = append(s, mark(n))
	}
	return s
}

// intent is that of attempt n, which would put "new", delete, or lock.
func intent(n byte, m cell.Mode, a cell.Action) *cell.Intent {
	in := &cell.Intent{
		Tx: id(n), Priority: txid.Priority{Time: 1_700_000_000_000_000_000, Tie: uint64(n)},
		Mode: m, Action: a, Members: members("=a", "=b"),
	}
	if a == cell.Put {
		in.Value = inline("new")
	}
	return in
}

// valued is a cell with the value "old" of attempt 1.
func valued() *cell.Cell {
	return &cell.Cell{Value: inline("old"), Writer: id(1), Recent: ids(1)}
}

// locked is a valued cell with an intent.
func locked(in *cell.Intent) *cell.Cell {
	c := valued()
	c.Intent = in
	return c
}

// randomCell draws any cell that may be stored.
func randomCell(r *rand.Rand) *cell.Cell {
	c := &cell.Cell{Value: randomValue(r)}
	if c.Value.Kind != cell.Absent || r.IntN(2) == 0 {
		c.Writer = txid.New(r.Uint64)
	}
	for range r.IntN(cell.RecentMax + 1) {
		c.Recent = append(c.Recent, txid.New(r.Uint64))
	}
	if r.IntN(2) == 0 {
		c.Intent = randomIntent(r)
	}
	for range r.IntN(cell.MarksMax + 1) {
		c.Marks = append(c.Marks, cell.Mark{Tx: txid.New(r.Uint64), Members: randomMembers(r)})
	}
	if c.Shape() == cell.ShapeTombstone && len(c.Marks) == 0 {
		c.Condemned = r.IntN(2) == 0
	}
	return c
}

func randomValue(r *rand.Rand) cell.Value {
	var v cell.Value
	switch r.IntN(3) {
	case 0:
		return v
	case 1:
		v = cell.Value{Kind: cell.Inline, Data: randomBytes(r, 300)}
	default:
		v = cell.Value{
			Kind: cell.External, Ref: "*" + string(randomBytes(r, 200)),
			Size: r.Uint64() >> r.IntN(64), Sum: r.Uint32(),
		}
	}
	if r.IntN(3) == 0 {
		v.Expires = 1 + r.Int64()
	}
	return v
}

func randomIntent(r *rand.Rand) *cell.Intent {
	in := &cell.Intent{
		Tx:       txid.New(r.Uint64),
		Priority: txid.Priority{Time: int64(r.Uint64()), Tie: r.Uint64()},
		Mode:     cell.Mode(1 + r.IntN(2)), Value: randomValue(r), Members: randomMembers(r),
	}
	if in.Action = cell.Put; in.Value.Kind == cell.Absent {
		in.Action = cell.Delete + cell.Action(r.IntN(2))
	}
	return in
}

func randomMembers(r *rand.Rand) cell.Members {
	m := cell.Members{Long: r.IntN(4) == 0}
	for i := range 1 + r.IntN(12) {
		name := fmt.Sprintf("=%03d%s", i, randomBytes(r, 150))
		m.List = append(m.List, cell.Member{Name: name, Expected: string(randomBytes(r, 20))})
	}
	first := r.IntN(len(m.List)) // the primary may be any; the others stay in order
	primary := m.List[first]
	copy(m.List[1:first+1], m.List[:first])
	m.List[0] = primary
	return m
}

// randomBytes draws up to n bytes, never nil.
func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, r.IntN(n+1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

package protocoltest

import (
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txid"
)

// ID is a readable attempt.
func ID(n byte) txid.ID { return txid.ID{0: n, 15: n} }

// Inline is a value that is kept in its cell.
func Inline(s string) cell.Value { return cell.Value{Kind: cell.Inline, Data: []byte(s)} }

// Names are n members: =a, =b and so on.
func Names(n int) []string {
	var s []string
	for i := range n {
		s = append(s, "="+string(rune('a'+i)))
	}
	return s
}

// Rival is an attempt of another client, whose writes the test does one by one.
type Rival struct {
	// Intent is what Place writes. It has the list of all members.
	Intent cell.Intent

	w *World
}

// Rival begins attempt n, of that priority, on the cells as they are now. The first is the
// primary.
func (w *World) Rival(n byte, m cell.Mode, names ...string) *Rival {
	in := cell.Intent{
		Tx: ID(n), Priority: txid.Priority{Time: int64(n)}, Mode: m, Action: cell.Put,
		Value: Inline("new"), Members: cell.Members{Long: len(names) > cell.ListMax},
	}
	for _, name := range names {
		_, v := w.Cell(name)
		in.List = append(in.List, cell.Member{Name: name, Expected: string(v)})
	}
	return &Rival{Intent: in, w: w}
}

// Place writes the attempt's intents over cells; another intent there counts as dead.
func (r *Rival) Place(names ...string) *Rival {
	for _, name := range names {
		c, _ := r.w.Cell(name)
		in := r.Intent
		if in.Long && name != in.Primary().Name {
			in.List = in.List[:1]
		}
		r.w.Put(name, cell.Place(c, cell.Fold{Outcome: cell.Dead}, &in))
	}
	return r
}

// Fold resolves the intents of the committed attempt, with the mark.
func (r *Rival) Fold(names ...string) *Rival {
	r.w.Fold(names...)
	return r
}

// Settled writes cells once more, by attempt n, without the rival's marks.
func (r *Rival) Settled(n byte, names ...string) *Rival {
	for _, name := range names {
		c, _ := r.w.Cell(name)
		f := cell.Fold{Drop: []txid.ID{r.Intent.Tx}}
		r.w.Put(name, cell.Write(c, f, ID(n), cell.Put, Inline("later")))
	}
	return r
}

// Names are those of all members.
func (r *Rival) Names() []string {
	var names []string
	for _, m := range r.Intent.List {
		names = append(names, m.Name)
	}
	return names
}

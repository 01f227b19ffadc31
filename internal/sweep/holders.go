package sweep

import (
	"context"
	"fmt"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/store"
)

// holders are the cells with intents of attempts that have a damaged cell among their members.
type holders struct {
	*Checker
	damaged map[string]bool
	// held says of damaged cells why they must stay.
	held map[string]string
}

// holder is one of them.
type holder struct {
	name    string
	in      *cell.Intent
	members []string // that are damaged
}

// settle settles the intents of all holders, if that can be done without the damaged cells.
func (h *holders) settle(ctx context.Context) error {
	var all []holder
	err := h.each(ctx, true, func(s store.Snapshot) {
		in := s.Cell.Intent
		if in == nil {
			return
		}
		x := holder{name: s.Name, in: in}
		for _, m := range in.List {
			if h.damaged[m.Name] {
				x.members = append(x.members, m.Name)
			}
		}
		if len(x.members) > 0 {
			all = append(all, x)
		}
	})
	if err != nil || len(all) == 0 {
		return err
	}
	if err := h.learn(ctx, all); err != nil {
		return err
	}
	for _, x := range all {
		if err := h.finish(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// learn looks for marks of the holders' attempts in all cells. While a cell holds the intent
// of a committed attempt, each folded member has its mark: one is enough to know it.
func (h *holders) learn(ctx context.Context, all []holder) error {
	wanted, marks := map[string]bool{}, map[string]cell.Members{}
	for _, x := range all {
		wanted[x.in.Tx.String()] = true
	}
	err := h.each(ctx, false, func(s store.Snapshot) {
		for _, m := range s.Cell.Marks {
			if id := m.Tx.String(); wanted[id] {
				marks[id] = m.Members
			}
		}
	})
	for _, x := range all {
		if m, ok := marks[x.in.Tx.String()]; ok {
			h.rs.Committed(x.in.Tx, m)
		}
	}
	return err
}

// finish settles a holder's intent, as a sweep does, or notes that it can't be.
func (h *holders) finish(ctx context.Context, x holder) error {
	var err error
	if h.o.DryRun {
		var s store.Snapshot
		if s, err = h.rs.Read(ctx, x.name); err == nil && s.Cell.Holds(x.in.Tx) {
			_, err = h.rs.Status(ctx, s)
		}
	} else {
		_, err = h.rs.Tidy(ctx, x.name, h.o.Alone)
	}
	if !damaged(err) {
		return err
	}
	for _, name := range x.members {
		h.held[name] = fmt.Sprintf("without it nobody can tell what became of the attempt %v, "+
			"whose intent is in %q", x.in.Tx, h.st.FullName(x.name))
	}
	return nil
}

// each reads the cells of the database that have an intent, or all of them. Those that can't
// be read for what they hold it passes over.
func (h *holders) each(ctx context.Context, held bool, do func(store.Snapshot)) error {
	for info, err := range h.st.List(ctx, "") {
		if err != nil {
			return err
		}
		if held && cell.ShapeOf(info.Size) != cell.ShapeLook || info.Damaged {
			continue
		}
		if _, _, err := keyspace.ParseCell(info.Name); err != nil {
			continue
		}
		s, err := h.rs.Read(ctx, info.Name)
		switch {
		case damaged(err):
		case err != nil:
			return err
		default:
			do(s)
		}
	}
	return nil
}

package cleanup

import (
	"context"
	"slices"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/observe"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// looksMax bounds how often a cell is looked at to find out what became of a write.
const looksMax = 16

// An external value belongs to one transaction, and is linked by one cell. Who removes it:
//
//   - The write that unlinks it: that replaces a cell with the value as the committed one,
//     or as that of a committed intent, by one without it. It is removed by who has sent
//     that write. A reader that was about to fetch the value reads the cell again.
//   - The transaction that wrote it, at its end, if its last attempt has not linked it.
//     Nobody else: who finds it in the intent of a dead attempt cannot know whether the
//     transaction's next attempt links it again.
//   - A sweep, if the client that should have done it has crashed.

// Unlink removes an external value that no cell points to, in the background.
func (b *Background) Unlink(name, ref string) {
	b.Later(func(ctx context.Context) {
		ctx, work := b.st.Observer().Work(ctx, observe.Unlink)
		err := b.st.Unlink(ctx, name, ref)
		work.Done(ctx, 1, err)
		if err != nil {
			b.log.Debug("a value was left to a sweep",
				"cell", b.st.FullName(name), "value", store.RefID(ref), "err", err)
		}
	})
}

// Linking is a member of an attempt in doubt, with the reference to the external value that
// it would link there, if any. Saw is the writer that the attempt saw there, if its own
// would be in the cell after it had committed.
type Linking struct {
	cell.Member
	Ref string
	Saw txid.ID
}

// UnlinkIfDead settles an attempt in doubt, in the background, and removes the external
// values that it would have linked if it turns out to be dead. It makes sure by a fence. Once
// late says so, the attempt is so old that nothing can be concluded any more.
func (b *Background) UnlinkIfDead(
	tx txid.ID, mode cell.Mode, members []Linking, late func() bool,
) {
	if !slices.ContainsFunc(members, func(m Linking) bool { return m.Ref != "" }) {
		return
	}
	b.whenInDoubt(int64(len(members)), func(ctx context.Context) {
		for _, m := range members {
			if b.retire(ctx, m.Name, tx) != nil {
				return
			}
		}
		deciding := members
		if mode == cell.Pending {
			deciding = members[:1]
		}
		for _, m := range deciding {
			if b.rs.Outcome(tx) == cell.Undecided && b.bury(ctx, tx, m, late) != nil {
				return
			}
		}
		for _, m := range members {
			if m.Ref != "" && b.rs.Outcome(tx) == cell.Dead && !late() {
				b.Unlink(m.Name, m.Ref)
			}
		}
	})
}

// bury concludes from one of the members that decide that the attempt is dead, if it can:
// it proves that, or a fence at its expected version is accepted.
func (b *Background) bury(ctx context.Context, tx txid.ID, m Linking, late func() bool) error {
	q := cell.Question{Tx: tx, Expected: m.Expected, Saw: m.Saw, Lock: m.Saw.IsZero()}
	s, err := b.rs.Look(ctx, m.Name, q)
	if err != nil || s.Version == "" {
		return err
	}
	switch s.Evidence {
	case cell.AtExpected:
		res, _, _ := b.st.Send(ctx, b.st.Prepare(s.Snapshot, cell.Fence(s.Cell)))
		if res == store.Applied {
			b.rs.Dead(tx)
		}
	case cell.ProvesDead:
		if !late() {
			b.rs.Dead(tx)
		}
	}
	return nil
}

// UnlinkByWrite finds out, in the background, whether a direct write in doubt has been
// applied, and removes the external value that it has unlinked, or has not linked. It makes
// sure by a fence. What can't be told, would need a new object, or is late, is left to a sweep.
func (b *Background) UnlinkByWrite(
	tx txid.ID, saw txid.ID, w *store.Write, late func() bool,
) {
	if w.Next.Value.Ref == "" && w.At.Cell.Value.Ref == "" {
		return
	}
	name, ref := w.At.Name, w.Next.Value.Ref
	q := cell.Question{Tx: tx, Expected: string(w.At.Version), Saw: saw}
	b.whenInDoubt(1, func(ctx context.Context) {
		for try := range looksMax {
			if b.rs.Rest(ctx, try) != nil {
				return
			}
			s, err := b.rs.Read(ctx, name)
			if err != nil {
				return
			}
			told := s.Cell.Evidence(string(s.Version), q)
			switch {
			case told == cell.ProvesCommitted:
				b.rs.Replaced(w)
			case s.Version == "":
			case told == cell.AtExpected:
				_, _, _ = b.st.Send(ctx, b.st.Prepare(s, cell.Fence(s.Cell)))
				continue // the next look tells
			case told == cell.ProvesDead && ref != "" && !late():
				b.Unlink(name, ref)
			}
			return
		}
	})
}

// whenInDoubt is Later for settling what is in doubt, in so many cells.
func (b *Background) whenInDoubt(cells int64, f func(ctx context.Context)) {
	b.Later(func(ctx context.Context) {
		ctx, work := b.st.Observer().Work(ctx, observe.Settle)
		f(ctx)
		work.Done(ctx, cells, nil)
	})
}

// Later does something in the background. Drain waits for it.
func (b *Background) Later(f func(ctx context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.chores = append(b.chores, f)
	if b.choring < b.choresMax {
		b.choring++
		b.goLocked(b.chore)
	}
}

// chore does what is to be done later, until there is nothing left or life has ended.
func (b *Background) chore() {
	for {
		b.mu.Lock()
		if b.life.Err() != nil {
			b.chores = nil
			b.makeRoomLocked()
		}
		if len(b.chores) == 0 {
			b.choring--
			b.mu.Unlock()
			return
		}
		f := b.chores[0]
		if b.chores = b.chores[1:]; len(b.chores) <= b.max {
			b.makeRoomLocked()
		}
		b.mu.Unlock()
		f(b.life)
	}
}

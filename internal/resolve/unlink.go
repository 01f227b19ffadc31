package resolve

import (
	"context"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// An external value belongs to one transaction, and is linked by one cell. Who removes it:
//
//   - The write that unlinks it: that replaces a cell with the value as the committed one,
//     or as that of a committed intent, by one without it. It is removed by who has sent
//     that write. A reader that was about to fetch the value reads the cell again.
//   - The transaction that wrote it, at its end, if its last attempt has not linked it.
//     Nobody else: who finds it in the intent of a dead attempt cannot know whether the
//     transaction's next attempt links it again.
//   - A sweep, if the client that should have done it has crashed.

// Replaced removes, in the background, the external values that a write which was applied
// has unlinked.
func (r *Resolver) Replaced(w *store.Write) {
	old := w.At.Cell
	refs := [2]string{old.Value.Ref}
	if in := old.Intent; in != nil && r.fates.outcome(in.Tx) == cell.Committed {
		refs[1] = in.Value.Ref
	}
	for _, ref := range refs {
		if ref != "" && !w.Next.Links(ref) {
			r.Unlink(w.At.Name, ref)
		}
	}
}

// Unlink removes an external value that no cell points to, in the background.
func (r *Resolver) Unlink(name, ref string) {
	r.Later(func(ctx context.Context) {
		if err := r.st.Unlink(ctx, name, ref); err != nil {
			r.bg.log.Debug("a value was left to a sweep",
				"cell", r.st.FullName(name), "value", store.RefID(ref), "err", err)
		}
	})
}

// UnlinkIfDead settles what an attempt in doubt has left in a cell, in the background, and
// removes the external value that it would have linked there if it turns out to be dead.
func (r *Resolver) UnlinkIfDead(tx txid.ID, name, ref string) {
	r.Later(func(ctx context.Context) {
		if err := r.retire(ctx, name, tx); err == nil && r.fates.outcome(tx) == cell.Dead {
			r.Unlink(name, ref)
		}
	})
}

// UnlinkByWrite finds out, in the background, whether a direct write in doubt has been
// applied, and removes the external value that it has unlinked, or has not linked. It makes
// sure by a fence. What can't be told, or would need a new object, is left to a sweep.
func (r *Resolver) UnlinkByWrite(tx txid.ID, saw txid.ID, w *store.Write) {
	if w.Next.Value.Ref == "" && w.At.Cell.Value.Ref == "" {
		return
	}
	name, ref := w.At.Name, w.Next.Value.Ref
	r.Later(func(ctx context.Context) {
		for try := range foldTriesMax {
			if r.rest(ctx, try) != nil {
				return
			}
			s, err := r.Read(ctx, name)
			switch {
			case err != nil:
				return
			case s.Cell.Names(tx):
				r.Replaced(w)
				return
			case s.Version == w.At.Version && s.Version != "":
				_, _, _ = r.st.Send(ctx, r.st.Prepare(s, cell.Fence(s.Cell)))
				continue // the next look tells
			}
			if s.Version != "" && ref != "" && s.Cell.ReachesBack(saw) {
				r.Unlink(name, ref)
			}
			return
		}
	})
}

// Later does something in the background. Drain waits for it.
func (r *Resolver) Later(f func(ctx context.Context)) {
	b := r.bg
	b.mu.Lock()
	defer b.mu.Unlock()
	b.goLocked(func() {
		if b.limit.Acquire(b.life) != nil {
			return // life has ended
		}
		defer b.limit.Release()
		f(b.life)
	})
}

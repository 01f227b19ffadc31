// Package resolve is everything about meeting another transaction: learning its
// status, waiting for it, killing it, and folding what it left: helping, as in the multi-word
// compare-and-swap of Harris, Fraser and Pratt (2002). That the older of two goes first, and the
// younger waits, is wound-wait (Rosenkrantz, Stearns, Lewis 1978).
//
// An intent is the lock of its cell, and names the attempt that put it there. What
// the attempt came to is not written in one place: it follows from all of its
// members (see Resolver.Status). Once it is known to have committed or to be dead,
// that is final, and anybody may fold the intent: replace the cell and resolve the
// intent in one CAS. While any cell holds the intent of a committed attempt, every
// folded member carries its mark: this is what an observer who comes late learns
// the outcome from.
package resolve

import (
	"context"
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/outcome"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Options configures a Resolver.
type Options struct {
	Store *store.Store
	// Patience is how long a younger transaction, or a reader, waits for an
	// undecided attempt before it kills it.
	Patience time.Duration
}

// Resolver meets other transactions on behalf of one handle.
type Resolver struct {
	st       *store.Store
	rt       seam.Runtime
	patience time.Duration
	outcomes *outcome.Memory
	seen     *firstSeen
	awaited  *awaited
	unlink   func(name, ref string)
	inert    bool // it writes nothing, of whatever it meets

	askMu seam.Mutex // guards asked
	asked map[txid.ID]*inquiry
}

// New returns a Resolver.
func New(o Options) *Resolver {
	return &Resolver{
		st: o.Store, rt: o.Store.Runtime(), patience: o.Patience, inert: o.Store.ReadOnly(),
		outcomes: outcome.New(o.Store), seen: newFirstSeen(), asked: map[txid.ID]*inquiry{},
		awaited: &awaited{rt: o.Store.Runtime(), byName: map[string]*news{}},
		unlink:  func(string, string) {},
	}
}

// OnUnlink sets what is told of each external value that no cell points to any more: its cell,
// and the reference to it. It is to be set before anything is written.
func (r *Resolver) OnUnlink(f func(name, ref string)) { r.unlink = f }

// Outcome is what is known of an attempt without a request.
func (r *Resolver) Outcome(tx txid.ID) cell.Outcome { return r.outcomes.Of(tx) }

// Patience is how long a younger transaction, or a reader, waits for an undecided attempt.
func (r *Resolver) Patience() time.Duration { return r.patience }

// Reading is a cell together with what is known of the intent in it.
type Reading struct {
	store.Snapshot
	// Outcome is the status of the intent's attempt; of no matter without an
	// intent.
	Outcome cell.Outcome
	// Answered is the logical time at which all this was known.
	Answered uint64

	// fences are the members of an undecided attempt that a kill can go to.
	fences []store.Snapshot
}

// Final reports whether nothing can change the cell's effective value but a write of
// the cell: there is no intent in it, or its attempt is final.
func (rd Reading) Final() bool {
	return rd.Cell.Intent == nil || rd.Outcome != cell.Undecided
}

// Effective is the cell's effective value and its writer.
func (rd Reading) Effective() (cell.Value, txid.ID) {
	return rd.Cell.Effective(rd.Outcome == cell.Committed)
}

// Absent reports whether the effective value is absent, or due at a time of the store's clock; at
// 0 none is.
func (rd Reading) Absent(now int64) bool {
	v, _ := rd.Effective()
	return v.Kind == cell.Absent || v.Due(now)
}

// readable reports whether a reader may use the committed value although the
// attempt is undecided: for a lock, for a staged attempt, and for a pending one
// whose primary is still at its expected version.
func (rd Reading) readable() bool {
	in := rd.Cell.Intent
	if in.Action == cell.Lock || in.Mode == cell.Staged {
		return true
	}
	return len(rd.fences) > 0 && !rd.fences[0].Cell.Holds(in.Tx)
}

// Read reads a cell in one request, and notes the marks in it.
func (r *Resolver) Read(ctx context.Context, name string) (store.Snapshot, error) {
	s, err := r.st.Read(ctx, name)
	if err == nil {
		r.note(s)
	}
	return s, err
}

// Fetch is Read for a cell that has changed: it asks for the bytes at once.
func (r *Resolver) Fetch(ctx context.Context, name string) (store.Snapshot, error) {
	s, err := r.st.Fetch(ctx, name)
	if err == nil {
		r.note(s)
	}
	return s, err
}

func (r *Resolver) note(s store.Snapshot) {
	for _, m := range s.Cell.Marks {
		r.Committed(m.Tx, m.Members)
	}
}

// Cached returns what the handle remembers of a cell, if its effective value can
// be told without a request.
func (r *Resolver) Cached(name string) (Reading, bool) {
	s, ok := r.st.Cached(name)
	if !ok {
		return Reading{}, false
	}
	rd := r.Known(s)
	return rd, rd.Final() || s.Cell.Intent.Action == cell.Lock
}

// Known adds to a snapshot what is known of its intent without a request.
func (r *Resolver) Known(s store.Snapshot) Reading {
	rd := Reading{Snapshot: s}
	if s.Cell.Intent != nil {
		rd.Outcome = r.outcomes.Of(s.Cell.Intent.Tx)
	}
	rd.Answered = r.st.Tick()
	return rd
}

// Committed notes that an attempt has committed.
func (r *Resolver) Committed(tx txid.ID, m cell.Members) {
	r.outcomes.Record(tx, cell.Committed, m, r.st.Tick())
	r.seen.forget(tx)
}

// Dead notes that an attempt can never commit.
func (r *Resolver) Dead(tx txid.ID) {
	r.outcomes.Record(tx, cell.Dead, cell.Members{}, r.st.Tick())
	r.seen.forget(tx)
}

// Clear notes that a member of a committed attempt does not hold its intent.
func (r *Resolver) Clear(tx txid.ID, name string) { r.outcomes.Clear(tx, name) }

// FoldOf is what a write of the cell does to the final intent and to the marks in
// it.
func (r *Resolver) FoldOf(rd Reading) cell.Fold {
	f := cell.Fold{Outcome: rd.Outcome}
	if in := rd.Cell.Intent; in != nil && rd.Outcome == cell.Committed {
		f.Unmarked = r.outcomes.Cleared(in.Tx, in.Members, rd.Name, r.st.Cached)
	}
	for _, m := range rd.Cell.Marks {
		if r.outcomes.Cleared(m.Tx, m.Members, rd.Name, r.st.Cached) {
			f.Drop = append(f.Drop, m.Tx)
		}
	}
	return f
}

// Send sends a write, and notes the committed intent that it has folded. External values
// that it has unlinked are told of.
func (r *Resolver) Send(
	ctx context.Context, w *store.Write,
) (store.Result, store.Snapshot, error) {
	res, s, err := r.st.Send(ctx, w)
	if res == store.Applied {
		r.applied(w)
	}
	return res, s, err
}

// SendAll is Send of several writes in one request, as Store.SendAll tells.
func (r *Resolver) SendAll(
	ctx context.Context, writes []*store.Write,
) (res store.Result, seen []store.Snapshot, refused int, err error) {
	res, seen, refused, err = r.st.SendAll(ctx, writes)
	if res == store.Applied {
		for _, w := range writes {
			r.applied(w)
		}
	}
	return res, seen, refused, err
}

// applied draws the conclusions from a write.
func (r *Resolver) applied(w *store.Write) {
	if in := w.At.Cell.Intent; in != nil && !w.Next.Holds(in.Tx) {
		r.outcomes.Clear(in.Tx, w.At.Name)
	}
	r.Replaced(w)
}

// Replaced tells of the external values that a write which was applied has unlinked.
func (r *Resolver) Replaced(w *store.Write) {
	old := w.At.Cell
	refs := [2]string{old.Value.Ref}
	if in := old.Intent; in != nil && r.outcomes.Of(in.Tx) == cell.Committed {
		refs[1] = in.Value.Ref
	}
	for _, ref := range refs {
		if ref != "" && !w.Next.Links(ref) {
			r.unlink(w.At.Name, ref)
		}
	}
}

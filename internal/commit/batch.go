package commit

import (
	"slices"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// batches prepares the writes of a parallel attempt as those of a direct one, if the store
// can take them all at one instant. A key that is only locked is not written without need, nor
// is a value linked that is an object of its own: what is sent late would have to be fenced.
func (a *attempt) batches() bool {
	apart := func(m *Member) bool { return m.Action == cell.Lock || m.External != nil }
	if a.kind != Parallel || !a.st.Batches() || slices.ContainsFunc(a.members, apart) {
		return false
	}
	writes := make([]*store.Write, len(a.members))
	for i, m := range a.members {
		m.write = a.st.Prepare(m.Base.Snapshot,
			cell.Write(m.Base.Cell, m.Fold, a.id, m.Action, m.Value))
		writes[i] = m.write
	}
	return a.st.SendsTogether(writes)
}

// sendBatch sends all writes in one request, whose effect is the commit point. If its outcome is
// unknown, so is the attempt's: a store that can do this is not far away, and will hardly tell
// more when it is asked. After a refusal those count as refused whose cells have changed.
func (a *attempt) sendBatch() verdict {
	if a.expired() {
		return a.late(0)
	}
	writes := make([]*store.Write, len(a.members))
	for i, m := range a.members {
		writes[i] = m.write
	}
	ctx, cancel := a.st.Bounded(a.ctx)
	defer cancel()
	began := a.rt.Now()
	res, _, refused, err := a.rs.SendAll(ctx, writes)
	err = a.ours(err)
	took := a.rt.Now().Sub(began)
	for _, m := range a.members {
		m.Result, m.Took, m.err = res, took, err
	}
	switch res {
	case store.Applied:
		return committed
	case store.NotApplied:
		return dead(err)
	case store.Unknown:
		return inDoubt(err)
	}
	for i, m := range a.members {
		if i != refused {
			m.Result, m.Unsent = store.NotApplied, true
			a.unsent = append(a.unsent, m)
		}
	}
	_, _, err = a.reread()
	for _, m := range a.members {
		if m.Seen.Cell != nil && m.Seen.Version != m.Base.Version {
			m.Result, m.Unsent = store.Refused, false
		}
	}
	a.unsent = slices.DeleteFunc(a.unsent, func(m *Member) bool { return !m.Unsent })
	return dead(err)
}

// Torn reports whether an attempt of one request was refused by others than a single rival that
// wants all of its keys, too. That would have been torn apart, had it been sent as several.
func (r Result) Torn() bool {
	refused := func(m *Member) bool { return m.Result == store.Refused }
	if !r.Batched || !slices.ContainsFunc(r.Members, refused) {
		return false
	}
	var rival txid.ID
	for _, m := range r.Members {
		if !refused(m) || m.Seen.Cell == nil {
			return true
		}
		by := m.Seen.Cell.Writer
		if in := m.Seen.Cell.Intent; in != nil {
			by = in.Tx
		}
		if !rival.IsZero() && by != rival {
			return true
		}
		rival = by
	}
	return false
}

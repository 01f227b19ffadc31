package commit

import (
	"context"
	"fmt"
	"slices"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Prepare finds the members' bases: what is in their cells now, final in every case, since a
// writer never replaces an undecided intent. It sends no request where nothing is undecided.
func (c *Committer) Prepare(ctx context.Context, p *Plan) error {
	if err := c.findBases(ctx, p, p.Members...); err != nil {
		return err
	}
	if err := c.refreshBases(ctx, p); err != nil {
		return err
	}
	return c.ground(ctx, p)
}

func (c *Committer) findBases(ctx context.Context, p *Plan, members ...*Member) error {
	var open []*Member
	for _, m := range members {
		if err := c.claim(ctx, m.Name, p.Left); err != nil {
			return err
		}
		if m.Base = c.Latest(m.Name, m.Base); !m.Base.Final() {
			open = append(open, m)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return seam.Each(c.rt, len(open), func(i int) (err error) {
		open[i].Base, err = c.rs.Settle(ctx, open[i].Base.Snapshot, p.writer())
		return err
	})
}

// claim takes a cell out of the background's hands.
func (c *Committer) claim(ctx context.Context, name string, left *Leftovers) error {
	tx, err := c.bg.Claim(ctx, name)
	if !tx.IsZero() { // also if it failed: it is queued again when the transaction ends
		left.claim(leftover{name: name, tx: tx})
	}
	return err
}

// Latest is the newest that is known of a cell without a request, given what the transaction
// knows. One of which nothing is known is taken to be absent.
func (c *Committer) Latest(name string, known resolve.Reading) resolve.Reading {
	s, ok := c.st.Cached(name)
	switch {
	case ok && (known.Cell == nil || s.Proved > known.Proved):
		return c.rs.Known(s)
	case known.Cell != nil:
		return c.rs.Known(known.Snapshot)
	}
	return resolve.Reading{Snapshot: store.NoObject(name)}
}

// duplicateAge is how old a base may be, in latencies of a write, where a refusal may be a
// duplicate's. It then proves the attempt dead only if the cell remembers all its writers since
// the base, of which it remembers cell.RecentMax: so many are not written in that time, that of
// the write itself and that of the look at what refused it.
const duplicateAge = 2

// refreshBases reads bases that are too old for a refusal to tell anything, where somebody on
// the way to the store may send a write twice: those that the transaction has not read itself,
// what is taken to be absent unread included, and those that it has read long ago.
func (c *Committer) refreshBases(ctx context.Context, p *Plan) error {
	if c.st.SendsOnce() {
		return nil
	}
	since := c.rt.Now().Add(-duplicateAge * c.st.PutLatency())
	old := slices.DeleteFunc(slices.Clone(p.Members), func(m *Member) bool {
		return m.Base.Proved > p.Begun && m.Base.Until.After(since)
	})
	if len(old) == 0 {
		return nil
	}
	return seam.Each(c.rt, len(old), func(i int) (err error) {
		old[i].Base, err = c.rs.Effective(ctx, old[i].Name, p.writer())
		return err
	})
}

// ground sees to it that members that link external values have objects for bases. Before a
// sweep removes a value, it rewrites the cell, or makes a tombstone where there is none. That
// refuses a link which comes late, if the link is based on an object, whose version never recurs.
// One that is based on absence might land when the tombstone is gone as well.
func (c *Committer) ground(ctx context.Context, p *Plan) error {
	var bare []*Member // in almost every attempt none
	for _, m := range p.Members {
		if m.External != nil && m.Base.Version == "" {
			bare = append(bare, m)
		}
	}
	return seam.Each(c.rt, len(bare), func(i int) error { return c.groundOne(ctx, p, bare[i]) })
}

func (c *Committer) groundOne(ctx context.Context, p *Plan, m *Member) error {
	for tries := range groundsMax {
		if err := c.rs.Rest(ctx, tries); err != nil {
			return err
		}
		s, err := c.st.Ground(ctx, m.Name)
		if err != nil {
			return err
		}
		m.Base, err = c.rs.Settle(ctx, s, p.writer())
		if err != nil || m.Base.Version != "" {
			return err
		}
	}
	return fmt.Errorf("make %q: refused or unknown %d times where the store reports no object: %w",
		c.st.FullName(m.Name), groundsMax, backend.ErrUnavailable)
}

// MakeRoom decides what the members' writes fold. It makes room for marks where that is
// needed, and reports whether it had to: then the cells may have changed, and the members are
// to be prepared again.
func (c *Committer) MakeRoom(ctx context.Context, p *Plan) (made bool, err error) {
	for i, m := range p.Members {
		extra := 0
		if i == 0 && p.marksPrimary() {
			extra = 1
		}
		full, err := c.makeRoom(ctx, m, extra)
		if made = made || full; err != nil {
			return true, err
		}
	}
	return made, nil
}

// makeRoom decides what one member's write folds, and makes room for its marks and extra ones
// more.
func (c *Committer) makeRoom(ctx context.Context, m *Member, extra int) (made bool, err error) {
	m.Fold = c.rs.FoldOf(m.Base)
	if cell.MarksAfter(m.Base.Cell, m.Fold)+extra <= cell.MarksMax {
		return false, nil
	}
	return true, c.rs.CompactMarks(ctx, m.Base, extra)
}

// Leftovers are the cells in which attempts of one transaction may have left an intent, and
// those taken from the background. What its next attempt writes is replaced; the rest goes to
// the background in the end. The zero value is ready to use.
type Leftovers struct {
	mu            seam.Mutex // guards all below
	dead, claimed []leftover
}

// leftover is a cell in which an attempt's intent may stand.
type leftover struct {
	name string
	tx   txid.ID
	// pending says that the attempt was a pending one, raced that it may have come later than
	// what others of the transaction have written.
	pending, raced bool
}

func (l *Leftovers) attempted(x leftover) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = append(l.dead, x)
}

func (l *Leftovers) claim(x leftover) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claimed = append(l.claimed, x)
}

// replaced forgets what was in cells that an attempt has written since.
func (l *Leftovers) replaced(members []*Member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.dead) == 0 && len(l.claimed) == 0 {
		return
	}
	written := make(map[string]bool, len(members))
	for _, m := range members {
		written[m.Name] = m.Result == store.Applied
	}
	gone := func(x leftover) bool { return !x.raced && written[x.name] }
	l.dead = slices.DeleteFunc(l.dead, gone)
	l.claimed = slices.DeleteFunc(l.claimed, gone)
}

// Resolve queues what is left for the background.
func (c *Committer) Resolve(l *Leftovers) {
	for _, left := range [][]leftover{l.dead, l.claimed} {
		for len(left) > 0 {
			n := 1
			for n < len(left) && left[n].tx == left[0].tx {
				n++
			}
			names := make([]string, n)
			for i := range names {
				names[i] = left[i].name
			}
			c.bg.Resolve(left[0].tx, names, left[0].pending)
			left = left[n:]
		}
	}
}

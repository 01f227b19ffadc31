package resolve

import (
	"context"
	"time"

	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
)

// awaited are the cells that callers of this handle are waiting for: what one of them reads
// is for all, so that a crowd asks the store no more often than one of them would.
type awaited struct {
	rt seam.Runtime

	mu     seam.Mutex // guards all below
	byName map[string]*news
}

// news is the next that is read of a cell.
type news struct {
	// waiting are those who wait for it, known is the logical time of what they know; both are
	// guarded by awaited.mu.
	waiting int
	known   uint64
	told    seam.Event
	seen    store.Snapshot // written before told is set
}

// again waits for a while, or until somebody else of this handle has read the cell that was
// seen. It returns what the cell is now, as it was read after that.
func (r *Resolver) again(
	ctx context.Context, s store.Snapshot, pause time.Duration,
) (store.Snapshot, error) {
	if now, err := r.awaited.wait(ctx, s, pause); err != nil || now.Cell != nil {
		return now, err
	}
	now, err := r.st.ReadShared(ctx, s.Name, s.Proved)
	if err != nil {
		return store.Snapshot{}, err
	}
	r.note(now)
	r.awaited.tell(now)
	return now, nil
}

// wait returns nothing if nobody has read the cell meanwhile.
func (a *awaited) wait(
	ctx context.Context, s store.Snapshot, pause time.Duration,
) (store.Snapshot, error) {
	n := a.enter(s)
	defer a.leave(s.Name, n)
	short, cancel := a.rt.WithTimeout(ctx, pause)
	defer cancel()
	switch err := n.told.Wait(short); {
	case ctx.Err() != nil:
		return store.Snapshot{}, ctx.Err()
	case err == nil && n.seen.Proved > s.Proved:
		return n.seen, nil
	}
	return store.Snapshot{}, nil
}

func (a *awaited) enter(s store.Snapshot) *news {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.byName[s.Name]
	if n == nil {
		n = &news{told: a.rt.NewEvent()}
		a.byName[s.Name] = n
	}
	n.known = max(n.known, s.Proved)
	n.waiting++
	return n
}

func (a *awaited) leave(name string, n *news) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n.waiting--; n.waiting == 0 && a.byName[name] == n {
		delete(a.byName, name)
	}
}

// tell wakes those who wait for the cell, if they do not know that.
func (a *awaited) tell(s store.Snapshot) {
	a.mu.Lock()
	n := a.byName[s.Name]
	fresh := n != nil && s.Proved > n.known
	if fresh {
		delete(a.byName, s.Name)
	}
	a.mu.Unlock()
	if fresh {
		n.seen = s
		n.told.Set()
	}
}

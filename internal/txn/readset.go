package txn

import (
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/commit"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
)

// indexMin is the number of entries from which on they are indexed.
const indexMin = 17

type op uint8

const (
	opNone op = iota
	opPut
	opDelete
	opLock
)

// entry is what a transaction does with one key.
type entry struct {
	// Read is what it has seen of the key: if that is in the read set, value and Writer were
	// effective in Base. If it is not, Base is what is known of the cell, if anything.
	commit.Read
	value cell.Value

	op     op
	data   []byte  // of an inline value
	upload *upload // of an external one
	// lent says that op is what another transaction of the group has done.
	lent bool
	// old says that the cell must be read again before another run uses it.
	old bool

	// fetch, if not nil, is set once Base has been fetched.
	fetch    seam.Event
	fetchErr error
}

// known reports whether something is known of the cell.
func (e *entry) known() bool { return e.Base.Cell != nil }

func (tx *Tx) entryLocked(name string) *entry {
	if e := tx.findLocked(name); e != nil {
		return e
	}
	e := &entry{Read: commit.Read{Name: name}}
	if tx.base != nil {
		tx.base.copyTo(e)
	}
	return tx.addLocked(e)
}

func (tx *Tx) findLocked(name string) *entry {
	if tx.index != nil {
		return tx.index[name]
	}
	for _, e := range tx.entries {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// addLocked adds an entry for a key that has none. The caller holds tx.mu.
func (tx *Tx) addLocked(e *entry) *entry {
	if tx.entries == nil {
		tx.entries = tx.room[:0]
	}
	tx.entries = append(tx.entries, e)
	if tx.index != nil {
		tx.index[e.Name] = e
	} else if len(tx.entries) >= indexMin {
		tx.index = make(map[string]*entry, 4*indexMin)
		for _, x := range tx.entries {
			tx.index[x.Name] = x
		}
	}
	return e
}

// recordLocked makes a key part of the read set, unless the transaction has written it
// itself, if that can be done without a request. The caller holds tx.mu.
func (tx *Tx) recordLocked(name string) (e *entry, known bool, err error) {
	if err := tx.usableLocked(); err != nil {
		return nil, true, err
	}
	e = tx.entryLocked(name)
	if e.own() || e.Seen {
		return e, true, nil
	}
	rd, ok := tx.localLocked(name)
	if ok {
		e.setRead(rd)
	}
	return e, ok, nil
}

// record makes a key part of the read set, by a request if need be.
func (tx *Tx) record(name string) (*entry, error) {
	e, failed, err := tx.request(name)
	if failed {
		err = tx.fail(err)
	}
	return e, err
}

// waitedLocked counts a request that the function has waited for since it was begun, if not
// together with another.
func (tx *Tx) waitedLocked(begun time.Time) {
	now := tx.t.e.rt.Now()
	if begun.Before(tx.answered) {
		begun = tx.answered
	}
	tx.waited += now.Sub(begun)
	tx.answered = now
}

// request is record, but that the transaction must yet fail with the error if the store has
// failed. A request may be shared with other readers, and older than the transaction: what
// was read is validated, but for a read that may be old within a bound.
func (tx *Tx) request(name string) (e *entry, failed bool, err error) {
	tx.mu.Lock()
	e, known, err := tx.recordLocked(name)
	tx.mu.Unlock()
	if known {
		return e, false, err
	}
	after := uint64(0)
	if tx.t.o.Staleness > 0 {
		after = tx.t.begun
	}
	begun := tx.t.e.rt.Now()
	rd, err := tx.t.e.rs.Shared(tx.t.ctx, name, after)
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.waitedLocked(begun)
	if uerr := tx.usableLocked(); uerr != nil {
		return nil, false, uerr
	}
	if err != nil {
		return nil, true, err
	}
	if !e.own() && !e.Seen {
		e.setRead(rd)
	}
	return e, false, nil
}

func (e *entry) setRead(rd resolve.Reading) {
	e.Seen, e.Base = true, rd
	e.value, e.Writer = rd.Effective()
}

// localLocked finds a key's effective value without a request: as the last refresh saw
// it, or in the cache.
func (tx *Tx) localLocked(name string) (resolve.Reading, bool) {
	t := tx.t
	if rd, ok := tx.fresh[name]; ok {
		return rd, true
	}
	if rd, ok := t.cached(name); ok && t.recent(rd) {
		t.e.stats.Hits.Add(1)
		return rd, true
	}
	return resolve.Reading{}, false
}

// cached is what the cache holds of a key, unless that has lately lost a CAS: then it is
// read again, together with the keys that are not cached.
func (t *txn) cached(name string) (resolve.Reading, bool) {
	if t.o.Staleness <= 0 && t.e.keys.Doubted(name) {
		return resolve.Reading{}, false
	}
	return t.e.rs.Cached(name)
}

// recent reports whether a cached cell is to be used: for strong transactions any might be,
// since it will be validated, but it should pay.
func (t *txn) recent(rd resolve.Reading) bool {
	if t.o.Staleness <= 0 {
		return !t.e.st.Doubtful(rd.Snapshot)
	}
	return t.e.st.Fresh(rd.Until, t.e.rt.Now(), t.o.Staleness)
}

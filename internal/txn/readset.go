package txn

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/commit"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/txid"
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
	// effective in Base; a value that was due is none. If it is not, Base is what is known of the
	// cell, if anything.
	commit.Read
	value cell.Value

	op     op
	data   []byte  // of an inline value
	upload *upload // of an external one
	// expires is when the value that is written will be due; 0 is never.
	expires int64
	// lent says that op is what another transaction of the group has done; handed that one
	// before had written the key, whatever this one has done since. Until is when the first of the
	// values is due that were handed on so; 0 is never.
	lent, handed bool
	until        int64
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

// recordLocked makes a key part of the read set, unless what the transaction has written there
// itself is wanted, if that can be done without a request. The caller holds tx.mu.
func (tx *Tx) recordLocked(name string, s side) (e *entry, known bool, err error) {
	if err := tx.usableLocked(); err != nil {
		return nil, true, err
	}
	e = tx.entryLocked(name)
	if !e.wants(s) {
		return e, true, nil
	}
	rd, ok := tx.localLocked(name)
	if ok {
		e.setRead(rd, tx.now)
	}
	return e, ok, nil
}

// record makes a key part of the read set, by a request if need be.
func (tx *Tx) record(name string, s side) (*entry, error) {
	e, failed, err := tx.request(name, s)
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
func (tx *Tx) request(name string, s side) (e *entry, failed bool, err error) {
	tx.mu.Lock()
	e, known, err := tx.recordLocked(name, s)
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
	if e.wants(s) {
		e.setRead(rd, tx.now)
	}
	return e, false, nil
}

func (e *entry) setRead(rd resolve.Reading, now int64) {
	e.Seen, e.Base = true, rd
	e.value, e.Writer = rd.Effective()
	if e.value.Due(now) {
		e.value, e.Due = cell.Value{}, e.value.Expires
	}
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
	if t.e.lapsed(rd) {
		return false
	}
	if t.o.Staleness <= 0 {
		return !t.e.st.Doubtful(rd.Snapshot)
	}
	return t.e.st.Fresh(rd.Until, t.e.rt.Now(), t.o.Staleness)
}

// About is what there is to know of a key beside its value.
type About struct {
	// Writer is the attempt that wrote the value; zero if there is none, or it is the
	// transaction's own, whose attempt is not known before the commit.
	Writer txid.ID
	// Expires is when the value is due, in nanoseconds since 1970 by the store's clock; 0 is
	// never.
	Expires int64
}

// side is which state of a key is asked for.
type side uint8

const (
	// seen: what the transaction itself has written, else what is committed.
	seen side = iota
	// before: what is committed, whatever the transaction has written.
	before
)

// wants reports whether the key is yet to be read for that side.
func (e *entry) wants(s side) bool { return !e.Seen && (s == before || !e.own()) }

// about is what the function is told of the key.
func (e *entry) about() About {
	switch {
	case e.op == opPut:
		return About{Expires: e.expires}
	case e.absent():
		return About{}
	}
	return About{Writer: e.Writer, Expires: e.value.Expires}
}

// absent reports whether the function sees no value.
func (e *entry) absent() bool {
	return e.op == opDelete || e.op != opPut && e.value.Kind == cell.Absent
}

// Expires is when the value of a key that the transaction has read is due.
func (tx *Tx) Expires(name string) int64 {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if e := tx.findLocked(name); e != nil {
		return e.about().Expires
	}
	return 0
}

// errAlone is what the function sees of a key that others of the group have written: who that
// was, is not known before the group has committed. So the function runs again, by itself.
var errAlone = errors.New("not known within a group")

// About tells of a key, and makes it a part of the read set as Read does.
func (tx *Tx) About(name string) (About, error) {
	e, err := tx.record(name, seen)
	if err != nil {
		return About{}, err
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if e.lent && e.own() {
		tx.alone = true
		return About{}, errAlone
	}
	return e.about(), nil
}

// Require reads what is committed of a key, whatever the transaction has written there, and
// fails if the attempt is not its writer; zero is that of a key that has no value.
func (tx *Tx) Require(name string, writer txid.ID) error {
	e, err := tx.record(name, before)
	if err != nil {
		return err
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	found := txid.ID{}
	switch {
	case e.handed:
		tx.alone = true
		return errAlone
	case e.value.Kind != cell.Absent:
		found = e.Writer
	}
	if found == writer {
		return nil
	}
	if err := tx.usableLocked(); err != nil {
		return err
	}
	tx.failure = &VersionError{Want: writer, Found: found}
	return tx.failure
}

// ends is when the first of the values that the run has seen is due, by the store's clock: from
// then on what it did can't commit. In a group, what one has written the next may have seen.
func (tx *Tx) ends() int64 {
	first := int64(math.MaxInt64)
	for _, e := range tx.entries {
		if e.Seen && e.value.Expires != 0 {
			first = min(first, e.value.Expires)
		}
		if e.until != 0 {
			first = min(first, e.until)
		}
	}
	for _, s := range tx.spans {
		first = min(first, s.Ends(tx.now))
	}
	return first
}

// proven reports whether what the function has seen as due was so at an instant, given as the
// store's clock was then. A value that is due later may have been renewed in between.
func proven(reads []*commit.Read, at int64) bool {
	return !slices.ContainsFunc(reads, func(r *commit.Read) bool { return r.Due > at })
}

// lapsed reports whether a value has become due since it was last known to be there. That it has
// not been renewed before, only a request can tell that is sent from then on.
func (e *Engine) lapsed(rd resolve.Reading) bool {
	v, _ := rd.Effective()
	return v.Expires != 0 && v.Due(e.st.Clock()) && !v.Due(e.st.ClockAt(rd.Until))
}

// Room is for how many bytes of values ReadMulti has room; a nil one is for any number. It is safe
// for concurrent use.
type Room struct{ left atomic.Int64 }

// NewRoom is room for so many bytes.
func NewRoom(bytes int) *Room {
	r := &Room{}
	r.left.Store(int64(bytes))
	return r
}

// take takes room for a value, unless there is too little: from then on there is none. What has no
// bytes needs none.
func (r *Room) take(bytes int) bool {
	return r == nil || bytes == 0 || r.left.Add(-int64(bytes)) >= 0
}

// full reports whether a value had too little room.
func (r *Room) full() bool { return r != nil && r.left.Load() < 0 }

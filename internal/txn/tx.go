package txn

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
)

// Tx is one run of the user's function: its read set and its write set. Keys are
// named by their cells. It is safe for concurrent use until the function returns.
type Tx struct {
	t   *txn
	why Retry // it runs
	// fresh is what the last refresh has read.
	fresh map[string]resolve.Reading
	// base is what transactions before this one have done that will commit with it.
	base *Tx
	// now is the instant, by the store's clock, at which all that the run sees is due, or not.
	now int64
	// tick is when that was taken, by the logical clock: a request that is sent later is served
	// when the store's clock says as much.
	tick uint64

	mu      seam.Mutex // guards all below
	entries []*entry
	room    [2]*entry         // for entries, mostly
	index   map[string]*entry // of entries, once there are many
	ranges
	// waited is how long the function has waited for requests, until the time answered.
	waited   time.Duration
	answered time.Time
	done     bool
	failure  error // sticks, and is returned once the reads are valid
	broken   error // sticks, and is returned at once: the store failed
	// alone says that the run has asked for what a group can't tell.
	alone bool
	// vanished is what has taken the place of values that were gone when the function
	// asked for them.
	vanished []resolve.Reading
}

// call runs the user's function. Afterwards, also if it panics, the Tx can't be used
// any more, and nothing is being fetched.
func (tx *Tx) call(fn func(*Tx) error) error {
	defer func() {
		tx.mu.Lock()
		tx.done = true
		tx.mu.Unlock()
		for _, e := range tx.entries {
			if e.fetch != nil {
				_ = e.fetch.Wait(context.Background())
			}
		}
		tx.stopWalks()
	}()
	return fn(tx)
}

// Retry is why the function runs once more; NoRetry for its first run.
func (tx *Tx) Retry() Retry { return tx.why }

// Context is the transaction's.
func (tx *Tx) Context() context.Context { return tx.t.ctx }

// usableLocked returns the error that every further call returns, if there is one. The
// caller holds tx.mu.
func (tx *Tx) usableLocked() error {
	switch {
	case tx.done:
		return ErrTxDone
	case tx.broken != nil:
		return tx.broken
	}
	return tx.failure
}

// Name is the name of a cell as a string; if the transaction has used it, that which it has.
func (tx *Tx) Name(b []byte) string {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.index != nil {
		if e := tx.index[string(b)]; e != nil {
			return e.Name
		}
		return string(b)
	}
	for _, e := range tx.entries {
		if e.Name == string(b) {
			return e.Name
		}
	}
	return string(b)
}

// Read returns the value of a key, which nobody may change.
func (tx *Tx) Read(name string) ([]byte, error) {
	v, known, err := tx.readLocal(name)
	if known {
		return v, err
	}
	v, failed, err := tx.readStore(name, nil)
	if failed {
		err = tx.fail(err)
	}
	return v, err
}

// readLocal reads a key, if that can be done without a request.
func (tx *Tx) readLocal(name string) (v []byte, known bool, err error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	e, known, err := tx.recordLocked(name, seen)
	if !known || err != nil {
		return nil, known, err
	}
	return tx.bytesLocked(e)
}

// readStore reads a key by a request for its cell, or for its external value, or both. If
// the store has failed, the transaction must fail with the error. A value that has no room is not
// fetched, or not returned.
func (tx *Tx) readStore(name string, room *Room) (v []byte, failed bool, err error) {
	if room.full() {
		return nil, false, ErrNoRoom
	}
	tx.t.e.stats.Misses.Add(1)
	e, failed, err := tx.request(name, seen)
	if err != nil {
		return nil, failed, err
	}
	tx.mu.Lock()
	v, known, err := tx.bytesLocked(e)
	value := e.value
	tx.mu.Unlock()
	size := len(v)
	if !known {
		size = int(value.Size)
	}
	switch {
	case !room.take(size):
		return nil, false, ErrNoRoom
	case !known:
		return tx.download(e, value)
	}
	return v, false, err
}

// Write stages a value for a key, which expires at a time of the store's clock, or never (0).
// If the key's cell is not known, it is fetched from now on in the background.
func (tx *Tx) Write(name string, value []byte, expires int64) error {
	return tx.write(name, value, expires, copied)
}

// WriteShared is Write of a value that nobody may ever change.
func (tx *Tx) WriteShared(name string, value []byte, expires int64) error {
	return tx.write(name, value, expires, shared)
}

// copied and shared are how a value is kept.
func copied(value []byte) []byte { return append([]byte{}, value...) }

func shared(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}

func (tx *Tx) write(name string, value []byte, expires int64, keep func([]byte) []byte) error {
	return tx.stage(name, func(e *entry) error {
		err := tx.putLocked(e, value, expires, keep)
		if err == nil {
			tx.prefetchLocked(e)
			tx.groundLocked(e)
		}
		return err
	})
}

// Delete stages the deletion of a key.
func (tx *Tx) Delete(name string) error {
	return tx.stage(name, func(e *entry) error {
		e.op, e.lent, e.data, e.upload = opDelete, false, nil, nil
		tx.prefetchLocked(e)
		return nil
	})
}

// Insert stages a value for a key that must not exist. It sends no request: if the
// key is not known, its absence is tried at the commit.
func (tx *Tx) Insert(name string, value []byte, expires int64) error {
	exists := false
	err := tx.stage(name, func(e *entry) error {
		if exists = tx.existsLocked(e); exists {
			return nil
		}
		blind := e.op != opDelete && !e.Seen
		err := tx.putLocked(e, value, expires, copied)
		e.Insert = e.Insert || err == nil && blind
		tx.groundLocked(e)
		return err
	})
	if err == nil && exists {
		return ErrExists
	}
	return err
}

// existsLocked reports whether the key is known to exist. If that is known from
// outside the transaction, it is a read, to be validated like any other.
func (tx *Tx) existsLocked(e *entry) bool {
	switch {
	case e.op == opPut:
		return true
	case e.op == opDelete:
		return false
	case e.Seen:
		return e.value.Kind != cell.Absent
	}
	rd, ok := tx.fresh[e.Name]
	if !ok {
		rd, ok = tx.t.cached(e.Name)
	}
	switch {
	case ok && !rd.Absent(tx.now):
		e.setRead(rd, tx.now)
		return true
	case ok:
		e.Base = rd
	}
	return false
}

// Lock reads the cells of keys, in parallel, and takes care that they do not change
// before the commit.
func (tx *Tx) Lock(names []string) error {
	lock := func(e *entry) error {
		if e.op == opNone {
			e.op = opLock
		}
		return nil
	}
	err := seam.Each(tx.t.e.rt, len(names), func(i int) error {
		_, err := tx.record(names[i], seen)
		return err
	})
	for _, name := range names {
		if err == nil {
			err = tx.stage(name, lock)
		}
	}
	return err
}

// stage changes the write set by f, whose error sticks.
func (tx *Tx) stage(name string, f func(*entry) error) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if err := tx.usableLocked(); err != nil {
		return err
	}
	err := ErrReadOnly
	if !tx.t.o.ReadOnly {
		e := tx.entryLocked(name)
		err = f(e)
		tx.wroteLocked(e)
	}
	if err != nil {
		tx.failure = err
	}
	return err
}

// prefetchLocked fetches the cell of a blind write in the background.
func (tx *Tx) prefetchLocked(e *entry) {
	if e.known() || e.fetch != nil {
		return
	}
	t := tx.t
	if rd, ok := tx.localLocked(e.Name); ok {
		e.Base = rd
		return
	}
	t.e.stats.Misses.Add(1)
	e.fetch = t.e.rt.NewEvent()
	t.e.rt.Go(func() {
		s, err := t.e.st.ReadShared(t.ctx, e.Name, 0)
		tx.mu.Lock()
		if e.fetchErr = err; err == nil && !e.known() {
			e.Base = t.e.rs.Known(s)
		}
		tx.groundLocked(e)
		tx.mu.Unlock()
		e.fetch.Set()
	})
}

// Abort makes the transaction end without effect.
func (tx *Tx) Abort() error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.done {
		return ErrTxDone
	}
	if tx.failure == nil {
		tx.failure = ErrAborted
	}
	return tx.failure
}

// Fail makes an error of the caller's checks stick.
func (tx *Tx) Fail(err error) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if uerr := tx.usableLocked(); uerr != nil {
		return uerr
	}
	tx.failure = err
	return err
}

// writes reports whether the transaction writes anything. Locks alone need no write:
// their keys are validated.
func (tx *Tx) writes() bool {
	return slices.ContainsFunc(tx.entries, (*entry).own)
}

// fetched reports whether the cells of blind writes could be fetched.
func (tx *Tx) fetched() error {
	for _, e := range tx.entries {
		if e.fetchErr != nil {
			return fmt.Errorf("fetch for write: %w", e.fetchErr)
		}
	}
	return nil
}

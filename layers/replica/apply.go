package replica

import (
	"errors"

	"github.com/strictkv/strictkv"
)

// applier turns what a Follow yields into batches. It knows no disk, and no time.
type applier struct {
	store storage
	mode  Mode
	// number is that of a collection.
	number func(*strictkv.Collection) (int, error)
	logMax uint64
	// batchMax bounds a batch in bytes, but that one value may have any size.
	batchMax int

	status  status
	pending batch
	changes int
	// touched are the keys that the pending batch sets or deletes.
	touched map[string]bool
	// large says that the store may have large values: only then a record that is replaced is read,
	// as it may have one.
	large bool
}

// batchKeysMax is how many changes a batch has at most.
const batchKeysMax = 1000

// newApplier goes on from the status that the store has.
func newApplier(s storage) (*applier, error) {
	a := &applier{store: s, batchMax: 4 << 20, touched: map[string]bool{}}
	err := s.get([]byte{keyStatus}, a.status.decode)
	if err != nil && !errors.Is(err, errAbsent) {
		return a, err
	}
	i, err := s.cursor([]byte{keyLarge}, []byte{keyLarge + 1})
	if err != nil {
		return a, err
	}
	a.large = i.first()
	return a, i.close()
}

// begin opens a generation: no sequence number that was ever told of comes again, also if the end
// of the log was lost.
func (a *applier) begin() error {
	a.status.generation++
	a.pending.set([]byte{keyStatus}, a.status.encode())
	defer a.forget()
	return a.store.commit(&a.pending, true)
}

// change notes a change. Full reports whether the batch should be flushed before more come.
func (a *applier) change(c strictkv.Change) (full bool, err error) {
	n, err := a.number(c.Collection)
	if err != nil {
		return false, err
	}
	key := cellKey(nil, keyRecord, n, c.Key)
	if a.changes == 0 && len(a.pending.ops) > 0 || a.touched[string(key)] {
		if err := a.flushPart(); err != nil {
			return false, err
		}
	}
	a.touched[string(key)] = true
	old, err := a.replaced(key)
	if err != nil {
		return false, err
	}
	large := cellKey(nil, keyLarge, n, c.Key)
	a.status.last = max(a.status.last+1, a.status.generation<<32)
	r := record{
		large: len(c.Value) >= largeMin, state: c.State, version: versionOf(c.Version),
		expires: nanoseconds(c.Expires), seq: a.status.last, value: c.Value,
	}
	switch {
	case c.Deleted:
		a.pending.delete(key)
	case r.large:
		a.large = true
		a.pending.set(large, c.Value)
		a.pending.set(key, r.encode())
	default:
		a.pending.set(key, r.encode())
	}
	if old.large && (c.Deleted || !r.large) {
		a.pending.delete(large)
	}
	e := entry{c.Deleted, n, c.Key}
	a.pending.set(logKey(r.seq), e.encode())
	a.status.entries++
	a.changes++
	return a.changes >= batchKeysMax || a.pending.size >= a.batchMax, nil
}

// replaced is the record that is there, as far as it matters for who replaces it.
func (a *applier) replaced(key []byte) (old record, err error) {
	if !a.large {
		return old, nil
	}
	err = a.store.get(key, old.decode)
	if errors.Is(err, errAbsent) {
		err = nil
	}
	return old, err
}

// restate notes that a key's object has another State, unless the batch has news of the key.
func (a *applier) restate(collection int, key []byte, s strictkv.State) error {
	name := cellKey(nil, keyRecord, collection, key)
	if a.touched[string(name)] {
		return nil
	}
	var b []byte
	err := a.store.get(name, func(value []byte) error {
		var r record
		if err := r.decode(value); err != nil {
			return err
		}
		r.state = s
		b = r.encode()
		return nil
	})
	switch {
	case errors.Is(err, errAbsent):
		return nil
	case err != nil:
		return err
	}
	a.pending.set(name, b)
	if a.changes == 0 && len(a.pending.ops) >= batchKeysMax {
		return a.flush()
	}
	return nil
}

// pass notes the end of a pass, and flushes all that came before. Shown reports whether readers
// are to see what there is now.
func (a *applier) pass(p *strictkv.Pass) (shown bool, err error) {
	switch {
	case p.Instant:
		a.status.at, a.status.complete, a.status.torn = p.At.UnixNano(), true, false
	case a.mode == Instant, !p.Whole && len(a.pending.ops) == 0:
		return false, nil
	case a.changes > 0:
		a.status.at = 0
	}
	if p.Whole {
		a.status.seen, a.status.complete = p.At.UnixNano(), true
	}
	return true, a.flush()
}

// flushPart applies the pending batch before the end of a pass. If it is of a block of Instant,
// the copy is at no instant until the block is complete.
func (a *applier) flushPart() error {
	if a.changes > 0 {
		a.status.torn = a.mode == Instant
		if a.mode == PerKey {
			a.status.at = 0
		}
	}
	return a.flush()
}

// flush applies the pending batch, and trims the log.
func (a *applier) flush() error {
	durable := a.changes > 0
	if err := a.trim(); err != nil {
		return err
	}
	a.pending.set([]byte{keyStatus}, a.status.encode())
	if err := a.store.commit(&a.pending, durable); err != nil {
		return err
	}
	a.pending, a.changes = batch{ops: a.pending.ops[:0]}, 0
	clear(a.touched)
	return nil
}

// forget drops what has not been applied.
func (a *applier) forget() {
	a.pending, a.changes = batch{}, 0
	clear(a.touched)
}

// trim drops the oldest entries of the log, an eighth of it at a time. Those of the pending batch
// stay.
func (a *applier) trim() error {
	if a.status.entries <= a.logMax+a.logMax/8 {
		return nil
	}
	from := logKey(a.status.trimmed + 1)
	i, err := a.store.cursor(from, []byte{keyLog + 1})
	if err != nil {
		return err
	}
	excess, more := a.status.entries-a.logMax, i.first()
	for ; more && excess > 0; excess-- {
		a.status.trimmed = seqOf(i.key())
		a.status.entries--
		more = i.next()
	}
	if err := i.close(); err != nil {
		return err
	}
	a.pending.deleteRange(from, logKey(a.status.trimmed+1))
	return nil
}

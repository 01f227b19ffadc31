package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// The errors that commands of all kinds reply.
const (
	ErrWrongType = resp.Error(
		"WRONGTYPE Operation against a key holding the wrong kind of value")
	ErrTooMany = resp.Error(
		"ERR more than 900 elements of a large value can't be changed at once")
	ErrNameTooLong = resp.Error("ERR key or field is longer than 65536 bytes")
	ErrTooLong     = resp.Error(
		"ERR string exceeds maximum allowed size (proto-max-bulk-len)")
)

// Tx is one run of a transaction, in one database. It is not safe for concurrent use.
type Tx struct {
	space *Space
	tx    *strictkv.Tx // nil for one that reads a single key
	read  func(c *strictkv.Collection, key []byte) ([]byte, error)
	// look is read, but nobody may change what it returns.
	look  func(c *strictkv.Collection, key []byte) ([]byte, error)
	n     int
	now   int64
	moved *int    // elements that have left the body of their value
	ahead *ahead  // what is read before commands ask for it
	hold  Reserve // asked before more is kept

	// What the key had that was read last.
	last struct {
		n     int
		name  []byte
		known bool
		large bool
		id    id
	}

	grown *int // writes by which values have become large

	copied *int // bytes
}

// CopiedMax is how many bytes of values one transaction writes, or reads again, at most: each time
// makes a copy of a value, and most are kept until its end.
const CopiedMax = 1 << 30

var copiedMax = CopiedMax // tests lower it

// ErrTooMuch ends a transaction that comes to CopiedMax.
var ErrTooMuch = fmt.Errorf("copies of values of more than 1 GiB: %w", strictkv.ErrTooLarge)

// Reserve is asked for room for some bytes.
type Reserve func(bytes int) error

// ErrNoMemory ends a transaction that would keep more than there is room for.
var ErrNoMemory = errors.New("keys: no room for what is read")

// Holds has the run ask for room for what it reads at once. Who is asked takes it back at the end.
func (t *Tx) Holds(r Reserve) { t.hold = r }

// holds asks for room for what was read.
func (t *Tx) holds(bytes int) error {
	if t.hold == nil || bytes == 0 {
		return nil
	}
	if t.hold(bytes) != nil {
		return ErrNoMemory
	}
	return nil
}

// NewTx is a run of a transaction in database n. Its time is the process's.
func (s *Space) NewTx(tx *strictkv.Tx, n int) *Tx {
	return &Tx{
		space: s, tx: tx, read: tx.Read, look: tx.ReadShared, n: n, now: time.Now().UnixMilli(),
		moved: new(int), grown: new(int), copied: new(int),
	}
}

// NewSingle is a run of what reads the entry of one key of database n, and nothing else, as it is,
// or was by a staleness bound. It needs no transaction. Nobody may change what it reads.
func (s *Space) NewSingle(ctx context.Context, n int, staleness time.Duration) *Tx {
	look := func(c *strictkv.Collection, key []byte) ([]byte, error) {
		return c.ReadShared(ctx, key, staleness)
	}
	return &Tx{
		space: s, n: n, now: time.Now().UnixMilli(), copied: new(int), read: look, look: look,
	}
}

// Copied is how many bytes of values were written, or read, but those that were read ahead.
func (t *Tx) Copied() int { return *t.copied }

// copies counts a copy of a value.
func (t *Tx) copies(value []byte) error {
	if *t.copied += len(value); *t.copied > copiedMax {
		return ErrTooMuch
	}
	return nil
}

// keeps counts what was read of elements, and asks for room for it.
func (t *Tx) keeps(bytes int) error {
	if *t.copied += bytes; *t.copied > copiedMax {
		return ErrTooMuch
	}
	return t.holds(bytes)
}

// Now is the time at which the run takes values for due, in milliseconds since 1970.
func (t *Tx) Now() int64 { return t.now }

// Raw is the transaction itself.
func (t *Tx) Raw() *strictkv.Tx { return t.tx }

// Number is the database that is selected.
func (t *Tx) Number() int { return t.n }

// Select goes to database n, which must be there.
func (t *Tx) Select(n int) { t.n = n }

// Collection is where the keys of the database are.
func (t *Tx) Collection() *strictkv.Collection { return t.space.numbered[t.n] }

// In is the same run in database n.
func (t *Tx) In(n int) *Tx {
	other := *t
	other.n = n
	return &other
}

// Get returns the value of a key; one without Kind if there is none, or it is due. The body may be
// kept and, but for a run of NewSingle, changed.
func (t *Tx) Get(name []byte) (Entry, error) {
	return t.alive(t.stored(name))
}

// Look is Get of a body that is not changed.
func (t *Tx) Look(name []byte) (Entry, error) { return t.alive(t.looked(name)) }

// alive is an entry that was stored, unless it is due.
func (t *Tx) alive(e Entry, err error) (Entry, error) {
	if err != nil || e.due(t.now) {
		return Entry{}, err
	}
	return e, nil
}

// stored is Get that returns also what is due.
func (t *Tx) stored(name []byte) (Entry, error) { return t.entry(name, t.read) }

// looked is Look that returns also what is due.
func (t *Tx) looked(name []byte) (Entry, error) { return t.entry(name, t.look) }

// entry is what a key has, by one of two ways to read it.
func (t *Tx) entry(
	name []byte, read func(*strictkv.Collection, []byte) ([]byte, error),
) (Entry, error) {
	if len(name) > NameMax {
		return Entry{}, ErrNameTooLong
	}
	key, _ := store(name)
	r, ok, err := t.take(key, read)
	if err != nil {
		return Entry{}, err
	}
	if !ok {
		r.Value, r.Err = read(t.Collection(), key)
		if err := t.copies(r.Value); err != nil {
			return Entry{}, err
		}
	}
	if r.Err != nil && !errors.Is(r.Err, strictkv.ErrNotFound) {
		return Entry{}, r.Err
	}
	var e Entry
	if r.Err == nil {
		if e, _, err = decode(r.Value); err != nil {
			return Entry{}, err
		}
	}
	t.last.n, t.last.name, t.last.known, t.last.large = t.n, name, true, e.Large
	if e.Large {
		t.last.id = e.id()
	}
	return e, nil
}

// Value is Get of a value of one kind: the error is ErrWrongType if it is of another.
func (t *Tx) Value(name []byte, k Kind) (Entry, error) {
	e, err := t.Get(name)
	if err == nil && e.Kind != k && !e.Absent() {
		return Entry{}, ErrWrongType
	}
	return e, err
}

// Set gives a key a value, in place of what it had: of that the elements are left, if it was large
// and is not the same.
func (t *Tx) Set(name []byte, e Entry) error {
	if len(e.Body) > StringMax {
		return ErrTooLong
	}
	if !t.last.known || t.last.n != t.n || !bytes.Equal(t.last.name, name) {
		if _, err := t.looked(name); err != nil {
			return err
		}
	}
	if t.last.large && !(e.Large && e.id() == t.last.id) {
		if err := t.leave(t.last.id); err != nil {
			return err
		}
	}
	return t.put(name, e)
}

// Put is Set, but of a value that is due already it deletes the key.
func (t *Tx) Put(name []byte, e Entry) error {
	if e.due(t.now) {
		_, err := t.Delete(name)
		return err
	}
	return t.Set(name, e)
}

// put is Set of a key whose old value is known to have no elements, or the same.
func (t *Tx) put(name []byte, e Entry) error {
	if len(name) > NameMax {
		return ErrNameTooLong
	}
	key, named := store(name)
	t.ahead.drop(t.n, key)
	t.last.known = false
	value := e.encode(named)
	if err := t.copies(value); err != nil {
		return err
	}
	return t.tx.WriteShared(t.Collection(), key, value, e.options()...)
}

// Delete removes a key with its value, and reports whether it had one.
func (t *Tx) Delete(name []byte) (bool, error) {
	old, err := t.looked(name)
	if err != nil || old.Absent() {
		return false, err
	}
	if old.Large {
		if err := t.leave(old.id()); err != nil {
			return false, err
		}
	}
	key, _ := store(name)
	t.last.known = false
	return !old.due(t.now), t.tx.Delete(t.Collection(), key)
}

// Move gives a key's value to another key, in database n, in place of what that had. The value must
// be there.
func (t *Tx) Move(name []byte, n int, to []byte) error {
	e, err := t.stored(name)
	if err != nil {
		return err
	}
	key, _ := store(name)
	t.last.known = false
	if err := t.tx.Delete(t.Collection(), key); err != nil {
		return err
	}
	there := t.In(n)
	if err := there.Set(to, e); err != nil {
		return err
	}
	if !e.Large {
		return nil
	}
	return there.own(&e, to)
}

// Cursors are those of the server.
func (t *Tx) Cursors() *Cursors { return &t.space.Cursors }

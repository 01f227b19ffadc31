package typed

import (
	"bytes"
	"errors"

	"github.com/strictkv/strictkv"
)

// change is one change of a value, with those of the entries that go with it. All that can be
// wrong with a value is found before anything is written. What goes wrong after that aborts the
// transaction: whoever ignores the error must not commit half of the change.
type change[K, V any] struct {
	c      *Collection[K, V]
	tx     *strictkv.Tx
	k      K
	key    []byte
	insert bool
	// held are the entries of the value that was there, by index.
	held [][]entry
}

// begin reads what the change replaces, if that matters.
func (m *change[K, V]) begin() error {
	if len(m.c.indexes) == 0 {
		return nil
	}
	old, ok, err := m.c.read(m.tx, m.key)
	if err != nil {
		return err
	}
	m.from(old, ok)
	return nil
}

// from takes what the change replaces. It is called before the value is the user's, who may
// change what is in it.
func (m *change[K, V]) from(old V, ok bool) {
	if ok && len(m.c.indexes) > 0 {
		m.held = m.c.held(m.k, m.key, old)
	}
}

func (m *change[K, V]) set(v V, opts ...strictkv.WriteOption) error {
	value, err := m.c.values.Append(nil, v)
	if err != nil {
		return &EncodeError{What: "value", Codec: m.c.values.Name(), Err: err}
	}
	entries, err := m.c.entries(m.k, m.key, v)
	if err != nil {
		return err
	}
	if m.insert {
		err = m.tx.Insert(m.c.raw, m.key, value, opts...)
	} else {
		err = m.tx.Write(m.c.raw, m.key, value, opts...)
	}
	if err != nil {
		return err
	}
	return m.enter(entries)
}

func (m *change[K, V]) delete() error {
	if len(m.c.indexes) > 0 && m.held == nil {
		return nil // there is none
	}
	if err := m.tx.Delete(m.c.raw, m.key); err != nil {
		return err
	}
	return m.enter(nil)
}

// enter turns the entries that were held into others, by index; none is for a value that goes.
func (m *change[K, V]) enter(entries [][]entry) error {
	for i, index := range m.c.indexes {
		var from, to []entry
		if m.held != nil {
			from = m.held[i]
		}
		if entries != nil {
			to = entries[i]
		}
		if err := move(m.tx, index.place(), from, to); err != nil {
			_ = m.tx.Abort() // it always returns an error; this one tells more
			return err
		}
	}
	return nil
}

// move deletes the entries that are only in from, and inserts those that are only in to. Both
// are in order.
func move(tx *strictkv.Tx, in place, from, to []entry) error {
	for _, e := range without(from, to) {
		if err := in.delete(tx, e); err != nil {
			return in.wrap(err)
		}
	}
	for _, e := range without(to, from) {
		if err := in.insert(tx, e); err != nil {
			return err
		}
	}
	return nil
}

// delete removes an entry, but not that of another value: a unique index that was declared for
// values that are not has one entry for several.
func (in place) delete(tx *strictkv.Tx, e entry) error {
	if e.value != nil {
		holder, err := tx.Read(in.raw, e.key)
		if errors.Is(err, strictkv.ErrNotFound) || err == nil && !bytes.Equal(holder, e.value) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return tx.Delete(in.raw, e.key)
}

// insert adds an entry. That it is there already is fine: a rebuild was first. It costs no read
// if it is not.
func (in place) insert(tx *strictkv.Tx, e entry) error {
	err := tx.Insert(in.raw, e.key, e.value)
	if !errors.Is(err, strictkv.ErrExists) {
		return in.wrap(err)
	}
	holder, err := tx.Read(in.raw, e.key)
	if err != nil {
		return in.wrap(err)
	}
	if !bytes.Equal(holder, e.value) {
		return &UniqueError{Index: in.name, Entry: e.key, Holder: holder}
	}
	return nil
}

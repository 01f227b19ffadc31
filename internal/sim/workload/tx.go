package workload

import (
	"errors"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/history"
)

// tx is a run of a transaction's function that is recorded.
type tx struct {
	*strictkv.Tx
	x *session
	r *Record
}

// item is a key with its value, or with none.
type item struct {
	key, value string
	found      bool
}

// read reads a key.
func (t *tx) read(k string) (item, error) {
	b, err := t.Tx.Read(t.x.coll, []byte(k))
	return t.seen(k, b, err)
}

// readAll reads keys in parallel.
func (t *tx) readAll(ks []string) ([]item, error) {
	keys := make([]strictkv.Key, len(ks))
	for i, k := range ks {
		keys[i] = t.x.coll.Key([]byte(k))
	}
	items := make([]item, len(ks))
	for i, r := range t.ReadMulti(keys...) {
		var err error
		if items[i], err = t.seen(ks[i], r.Value, r.Err); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (t *tx) seen(k string, b []byte, err error) (item, error) {
	i := item{key: k, value: string(b), found: err == nil}
	if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
		return i, err
	}
	t.note(i)
	return i, nil
}

// note records a read. What the transaction has read or written before is not
// recorded again, but must be seen again.
func (t *tx) note(i item) {
	if old, ok := t.known(i.key); ok {
		if old != i {
			t.x.l.Fail("%s saw %v, and then %v", t.r.ID, old, i)
		}
		return
	}
	if i.found {
		t.did(history.Read(i.key, i.value))
	} else {
		t.did(history.ReadAbsent(i.key))
	}
}

func (t *tx) did(op history.Op) { t.r.Ops = append(t.r.Ops, op) }

// known is what the transaction must see of a key, by what it has done so far.
func (t *tx) known(k string) (item, bool) {
	for j := len(t.r.Ops) - 1; j >= 0; j-- {
		op := t.r.Ops[j]
		if op.Key != k || op.Kind == history.KindExists {
			continue
		}
		found := op.Kind != history.KindDelete && !op.Absent
		return item{key: k, value: op.Value, found: found}, true
	}
	return item{}, false
}

func (t *tx) write(k string, n int) error { return t.writeUntil(k, n, time.Time{}) }

// writeUntil writes a value that expires at a time, or never.
func (t *tx) writeUntil(k string, n int, at time.Time) error {
	v := t.x.l.expiring(n, t.x.id, at)
	err := t.Tx.Write(t.x.coll, []byte(k), []byte(v), strictkv.ExpireAt(at))
	if err == nil {
		t.did(history.Write(k, v))
	}
	return err
}

func (t *tx) remove(k string) error {
	err := t.Tx.Delete(t.x.coll, []byte(k))
	if err == nil {
		t.did(history.Delete(k))
	}
	return err
}

// insert writes a key if it has no value.
func (t *tx) insert(k string, n int) error { return t.insertUntil(k, n, time.Time{}) }

func (t *tx) insertUntil(k string, n int, at time.Time) error {
	v := t.x.l.expiring(n, t.x.id, at)
	err := t.Insert(t.x.coll, []byte(k), []byte(v), strictkv.ExpireAt(at))
	old, known := t.known(k)
	switch {
	case known && old.found == (err == nil):
		t.x.l.Fail("%s inserted %v: %v", t.r.ID, old, err)
	case err == nil && known:
		t.did(history.Write(k, v))
	case err == nil:
		t.did(history.Insert(k, v))
	case errors.Is(err, strictkv.ErrExists):
		if !known {
			t.did(history.Exists(k))
		}
	default:
		return err
	}
	return nil
}

func (t *tx) lock(ks ...string) error {
	keys := make([][]byte, len(ks))
	for i, k := range ks {
		keys[i] = []byte(k)
	}
	return t.Lock(t.x.coll, keys...)
}

// increment adds one to each key.
func (t *tx) increment(ks ...string) error {
	for _, k := range ks {
		i, err := t.read(k)
		if err != nil {
			return err
		}
		if err := t.write(k, number(i.value)+1); err != nil {
			return err
		}
	}
	return nil
}

// change does one of several things with a key.
func (t *tx) change(op int, k string) (err error) {
	switch op {
	case 0:
		err = t.write(k, 0)
	case 1:
		err = t.remove(k)
	case 2:
		err = t.insert(k, 0)
	case 3:
		_, err = t.read(k)
	case 4:
		err = t.lock(k)
	default:
		err = t.increment(k)
	}
	return err
}

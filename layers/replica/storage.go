package replica

import "errors"

// storage keeps pairs of keys and values in the order of keys. An error that matches errDamage
// means that it is to be thrown away; others but errAbsent, that the disk fails.
type storage interface {
	reader
	// snapshot is what is there now. It must be closed.
	snapshot() (snapshot, error)
	// commit applies a batch, all of it or nothing. With durable it is on the disk then.
	commit(b *batch, durable bool) error
	close() error
}

// reader reads pairs.
type reader interface {
	// get passes the value of a key to use, which must not keep it, or returns errAbsent.
	get(key []byte, use func(value []byte) error) error
	// cursor goes through the keys from one, up to another, which is not within. It must be closed.
	cursor(from, to []byte) (cursor, error)
}

type snapshot interface {
	reader
	close() error
}

// cursor stands on a pair, if the last step said so. What key and value return is good until the
// next step.
type cursor interface {
	first() bool
	last() bool
	next() bool
	prev() bool
	key() []byte
	value() ([]byte, error)
	// close returns what has ended the steps, too.
	close() error
}

var (
	// errAbsent says that there is no such key.
	errAbsent = errors.New("absent")
	errDamage = errors.New("the copy is damaged")
)

// op is one step of a batch: set, delete, or delete all keys from one up to another.
type op struct {
	kind       opKind
	key, value []byte // the value of a range is its end
}

type opKind uint8

const (
	opSet opKind = iota
	opDelete
	opDeleteRange
)

// batch is what is applied at once, in this order.
type batch struct {
	ops  []op
	size int // in bytes
}

func (b *batch) add(kind opKind, key, value []byte) {
	b.ops = append(b.ops, op{kind, key, value})
	b.size += len(key) + len(value)
}

func (b *batch) set(key, value []byte)       { b.add(opSet, key, value) }
func (b *batch) delete(key []byte)           { b.add(opDelete, key, nil) }
func (b *batch) deleteRange(from, to []byte) { b.add(opDeleteRange, from, to) }

package faulty

import (
	"context"

	"github.com/strictkv/strictkv/backend"
)

// Kind is the kind of an operation.
type Kind string

// The kinds of operations.
const (
	Get    Kind = "get"
	Put    Kind = "put"
	Delete Kind = "delete"
	List   Kind = "list"
)

// Op is one call of a backend.
type Op struct {
	Kind Kind
	// Name is the object's; of a List the prefix.
	Name string
	// Known is the version given to a Get.
	Known backend.Version
	// Data is what a Put writes; nobody may modify it.
	Data []byte
	// Condition is that of a Put; of a Delete it is IfVersion.
	Condition backend.Condition
	// List is given to a List.
	List backend.ListOptions
}

// Write reports whether op changes the store.
func (op Op) Write() bool { return op.Kind == Put || op.Kind == Delete }

// Answer is what a call returns; the fields that its kind does not have are zero.
type Answer struct {
	Object backend.Object
	Stamp  backend.Stamp
	Page   backend.Page
	Err    error
}

// Get implements backend.Backend.
func (b *Backend) Get(
	ctx context.Context, name string, known backend.Version,
) (backend.Object, error) {
	a := b.do(ctx, Op{Kind: Get, Name: name, Known: known})
	return a.Object, a.Err
}

// Put implements backend.Backend.
func (b *Backend) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	a := b.do(ctx, Op{Kind: Put, Name: name, Data: data, Condition: c})
	return a.Stamp, a.Err
}

// Delete implements backend.Backend.
func (b *Backend) Delete(ctx context.Context, name string, v backend.Version) error {
	return b.do(ctx, Op{Kind: Delete, Name: name, Condition: backend.IfVersion(v)}).Err
}

// List implements backend.Backend.
func (b *Backend) List(ctx context.Context, o backend.ListOptions) (backend.Page, error) {
	a := b.do(ctx, Op{Kind: List, Name: o.Prefix, List: o})
	return a.Page, a.Err
}

// send hands op to the store.
func (b *Backend) send(ctx context.Context, op Op) (a Answer) {
	switch op.Kind {
	case Get:
		a.Object, a.Err = b.inner.Get(ctx, op.Name, op.Known)
	case Put:
		a.Stamp, a.Err = b.inner.Put(ctx, op.Name, op.Data, op.Condition)
	case Delete:
		a.Err = b.inner.Delete(ctx, op.Name, op.Condition.Version())
	case List:
		a.Page, a.Err = b.inner.List(ctx, op.List)
	}
	return a
}

package backend

import "context"

// Batcher is a Backend that can write several objects at one instant. The library then commits
// what writes several keys by one request. A wrapper that does not say so hides it.
type Batcher interface {
	Backend

	// PutAll writes objects, whose names differ, if all their conditions hold, atomically: nobody
	// sees some of the writes without the others, not after a crash either. It returns the new
	// versions, in order. If a condition does not hold, it changes nothing, and returns
	// ErrPrecondition with the index of a write whose does not. All else is as with Put; an
	// unknown outcome is one of all writes together.
	PutAll(ctx context.Context, writes []Write) (at []Stamp, refused int, err error)

	// BatchMax is how many bytes of data one PutAll may write, names not counted. More is
	// ErrInvalid. It is always the same. 0 says that this is no Batcher after all: so does a
	// wrapper of a store that is none.
	BatchMax() int
}

// Write is one of the writes of a Batcher's PutAll: what a Put is given.
type Write struct {
	Name string
	Data []byte
	If   Condition
}

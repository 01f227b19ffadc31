// Package scan reads ranges of keys: it lists the cells of a collection, page by page,
// reads those that the listing does not tell enough of, ahead of the consumer, and lists
// again to validate what was seen.
//
// Each entry of a listing was current at some instant within the call. A name that a page
// passes over had no object at such an instant. So a listing proves a cell as a read does,
// if the cell is known at the version listed: it costs a read only if it is not, or if
// there is an intent in it whose attempt is not final. The size of an object tells whether
// its cell holds a value, an intent, or neither: see cell.ShapeOf.
package scan

import (
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// Scanner scans the ranges of one database.
type Scanner struct {
	st *store.Store
	rs *resolve.Resolver
	rt seam.Runtime
}

// New returns a Scanner.
func New(st *store.Store, rs *resolve.Resolver) *Scanner {
	return &Scanner{st: st, rs: rs, rt: st.Runtime()}
}

// Range says what to scan, and how.
type Range struct {
	keyspace.Interval
	// Reverse goes from the last key to the first.
	Reverse bool
	// Limit is how many keys are wanted, 0 for all. To a Walker it is a hint: it reads no
	// further ahead, but yields more if asked to.
	Limit int
	// KeysOnly does without the values.
	KeysOnly bool
}

// Found is what is known of one cell of a range.
type Found struct {
	// Name is the cell's, relative to the database.
	Name string
	// Version is that of the object; empty if it was listed, and gone when it was read.
	Version backend.Version
	// Size is that of the object, in bytes, and tells the cell's shape.
	Size int64
	// Own is set by a transaction for a cell that it had itself written before: what was
	// committed there was not seen.
	Own bool

	asked store.Asked
	live  bool // it is not of a listing that was current at one instant
	// damaged says that the store knows it to be: version and size tell nothing of a cell.
	damaged bool
	// hopeful says that a Walker counts it among those that may have a value.
	hopeful bool
	// known says that the cell was read, or cached: then the rest is set.
	known   bool
	present bool
	settled bool // only a write of the cell can change its effective value
	writer  txid.ID
	expires int64            // when the value is due, by the store's clock; 0 is never
	reading *resolve.Reading // nil if it was not kept
}

// Present reports whether the cell has a value, be it due. One with an intent must have been read.
func (f *Found) Present() bool {
	if f.known {
		return f.present
	}
	return cell.ShapeOf(f.Size) == cell.ShapeValue
}

// learn adds what a reading tells.
func (f *Found) learn(rd resolve.Reading) {
	v, w := rd.Effective()
	f.known, f.present, f.writer, f.reading = true, v.Kind != cell.Absent, w, &rd
	f.expires = v.Expires
	f.Version = rd.Version
	in := rd.Cell.Intent
	f.settled = rd.Final() || in.Action == cell.Lock
}

// isSettled reports whether nothing but a write of the cell can change its effective value.
func (f *Found) isSettled() bool {
	if f.known {
		return f.settled
	}
	return cell.ShapeOf(f.Size) != cell.ShapeLook && !f.damaged
}

// mayLive reports whether the cell has a value, or may have one.
func (f *Found) mayLive() bool {
	return f.Present() || !f.known && (f.damaged || cell.ShapeOf(f.Size) == cell.ShapeLook)
}

// matches reports whether the cell, given as it is now, has the effective value that was
// seen; nil is a name that was not listed.
func (f *Found) matches(rd resolve.Reading) bool {
	_, w := rd.Effective()
	switch {
	case f == nil:
		return w.IsZero()
	case f.Own:
		return true
	case f.known:
		return f.writer == w
	}
	return f.Version == rd.Version
}

// Writer is the attempt that wrote the effective value; zero if that is not known.
func (f *Found) Writer() txid.ID { return f.writer }

// Expires is when the value is due, in nanoseconds since 1970 by the store's clock; 0 is never.
func (f *Found) Expires() int64 { return f.expires }

// Fixed is the version of the object, if only a write of it can change what is seen; else it is
// empty.
func (f *Found) Fixed() backend.Version {
	if !f.isSettled() {
		return ""
	}
	return f.Version
}

// PresentAt reports whether the cell has a value that is not due at a time of the store's clock.
func (f *Found) PresentAt(now int64) bool {
	return f.Present() && (f.expires == 0 || f.expires > now)
}

// Value is the cell's effective value, if it is known.
func (f *Found) Value() cell.Value {
	if f.reading == nil {
		return cell.Value{}
	}
	v, _ := f.reading.Effective()
	return v
}

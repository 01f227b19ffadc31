// Package backend defines what StrictKV needs of an object store: four calls on
// one flat namespace of objects, each linearizable for its object, with writes
// that apply only if the object is still as the writer saw it.
//
// An adapter maps the calls and the errors of one store, nothing else. The suite
// in package backendtest judges it.
package backend

import (
	"context"
	"time"
)

// Version is a store's opaque token for one state of one object. It never recurs
// for a name while the object exists. The empty Version means "no version".
type Version string

// Object is what a Get answers.
type Object struct {
	// Data is the whole content. It may be shared with the store or with other
	// callers: nobody may modify it.
	Data []byte
	// Version names the state that Data belongs to.
	Version Version
	// Time is the store's clock as it answered, in its own resolution; zero if the
	// answer did not tell.
	Time time.Time
	// Modified is the time of the object's last write by that clock; zero if the answer did
	// not tell. An adapter that tells the Time may leave it out.
	Modified time.Time
}

// Stamp is what a Put answers.
type Stamp struct {
	// Version names the state that was written.
	Version Version
	// Time is the store's clock at some instant between the effect and the answer, in its
	// own resolution; zero if the answer did not tell.
	Time time.Time
}

// Capabilities say what a backend can do beyond what each must. A capability that is not
// declared is missing: the library does without.
type Capabilities struct {
	// ConditionalDelete: a Delete is atomic; it leaves an object alone that is not at the
	// version. Without it, objects that may be written again are never deleted. It is the
	// adapter's word: strictkv.Open asks the store as well.
	ConditionalDelete bool
	// SendsOnce: a Put takes effect once at most, so that one that was refused has
	// certainly not been applied. Without it the refusal may be the answer to a second
	// copy of a request, made by a proxy or a transport on the way, whose first copy was
	// applied.
	SendsOnce bool
	// Near: mostly a Get takes a few microseconds, and hardly longer than its processor works
	// for it. The library then does not read several objects at the same time.
	Near bool
}

// Info is one object of a listing.
type Info struct {
	Name    string
	Version Version
	// Size is in bytes.
	Size int64
	// Modified is the time of the object's last write by the store's clock.
	Modified time.Time
	// Damaged reports that what the store keeps with the object can't be read, or is not
	// this program's: each Get and Put of it is ErrCorrupt, and Size is that of the whole.
	// Version, if not empty, is a token of this very state: Get returns, with ErrCorrupt,
	// the bytes and the token, and Delete at the token removes it. An empty Version means
	// that the bytes can't be had, or are of a newer program: only a person may remove it.
	Damaged bool
}

// ListOptions selects what a List answers.
type ListOptions struct {
	// Prefix restricts the listing to names that begin with it.
	Prefix string
	// After restricts it to names (and prefixes) greater than it, in byte order.
	After string
	// Delimiter, if not empty, rolls up all names that contain it behind Prefix
	// into one entry of Page.Prefixes, which ends with the delimiter.
	Delimiter string
	// Limit is the largest number of objects and prefixes together; 0 is the
	// store's own page size. A store may return fewer than the limit.
	Limit int
}

// Page is one page of a listing. Objects and Prefixes are each in byte order.
// Unless More is false, the next page begins after the greatest of the last
// object and the last prefix.
type Page struct {
	Objects  []Info
	Prefixes []string
	More     bool
}

// Condition is the precondition of a Put. The zero Condition is invalid: every
// write of this library is conditional.
type Condition struct {
	absent  bool
	version Version
}

// IfAbsent lets a Put succeed only if no object has that name.
func IfAbsent() Condition { return Condition{absent: true} }

// IfVersion lets a Put succeed only if the object exists and is still at v,
// which must not be empty.
func IfVersion(v Version) Condition { return Condition{version: v} }

// Absent reports whether c was made by IfAbsent.
func (c Condition) Absent() bool { return c.absent }

// Version is the version given to IfVersion, empty for IfAbsent.
func (c Condition) Version() Version { return c.version }

// Valid reports whether c was made by IfAbsent, or by IfVersion with a version.
func (c Condition) Valid() bool { return c.absent != (c.version != "") }

// Backend is an object store. All methods may be called concurrently, also from
// several processes at once. Each returns soon after ctx ends; a write that ends
// so counts as ErrOutcomeUnknown unless the adapter knows that it was never sent.
//
// Every error matches (by errors.Is) exactly one of this package's sentinels, or
// none: a write whose error matches none has an unknown outcome. No retry within
// an adapter or an SDK may turn an unknown outcome into a definite answer: a
// conditional write is sent once.
type Backend interface {
	// Get returns the object. If known is not empty and still is the object's
	// version, it returns ErrNotModified instead, and no data are transferred.
	// An object that does not exist is ErrNotFound. Beside these errors the Object
	// may tell the Time, and nothing else.
	//
	// Of a damaged object it returns, with ErrCorrupt, the bytes as the store has them
	// and the version at which Delete removes them; no version if it can't.
	Get(ctx context.Context, name string, known Version) (Object, error)

	// Put writes the object if c holds, atomically, and returns its new version.
	// If c does not hold, it changes nothing and returns ErrPrecondition
	// (IfVersion on an absent object included). The caller must not modify data
	// afterwards: the store may keep it.
	Put(ctx context.Context, name string, data []byte, c Condition) (Stamp, error)

	// Delete removes the object if it is still at v, else ErrPrecondition (an
	// absent object included). A backend that can do so atomically declares
	// Capabilities.ConditionalDelete.
	Delete(ctx context.Context, name string, v Version) error

	// List returns a page of names in byte order, each entry current at some
	// instant within the call.
	List(ctx context.Context, o ListOptions) (Page, error)

	// Capabilities tells what the backend declares; always the same. A wrapper that
	// embeds a Backend passes on what that declares, and must itself send each write
	// once.
	Capabilities() Capabilities
}

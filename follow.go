package strictkv

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/strictkv/strictkv/internal/follow"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/txid"
)

// Change is what Follow yields: the news of a key, or the end of a pass. All bytes are the
// caller's.
type Change struct {
	// Collection and Key are those of the key; none at the end of a pass.
	Collection *Collection
	Key        []byte
	// Value is what the key has now; nil if it is Deleted, or its value has expired.
	Value   []byte
	Deleted bool
	// Version and Expires are the value's, and State is that of the key's object, as in an Item.
	// A deletion has no Version.
	Version Version
	Expires time.Time
	State   State
	// Old is the value before, if the handle's cache still had it; else it is nil.
	Old []byte
	// Position is behind this change: Follow goes on from there. With FollowSeen it is zero.
	Position Position
	// Pass, if not nil, says that this is no change, but the end of a pass.
	Pass *Pass
}

// Pass is one look at all that is followed.
type Pass struct {
	// At is when it began, by this machine's clock: each key was seen as it was then, or later, but
	// for those that were Held.
	At time.Time
	// Instant says that all that was told by now, of all collections that are followed, is the
	// state that they had at one instant, which is At.
	Instant bool
	// Whole says that everything was listed. Else there was a look only at keys that were known,
	// or said, to have been written.
	Whole bool
	// Listed counts the names that were listed, tombstones included, and Read the objects that
	// were read.
	Listed, Read int64
	// Held counts keys whose value was not known at this pass: a transaction under way holds them,
	// or they can't be read for what they hold. They are looked at again.
	Held int64
}

// Follow yields what has changed in c since a Position, and goes on with what changes from then
// on, until the loop is left. From the zero Position, every key that has a value is a change.
//
// It lists c once each FollowEvery, in parallel where the pass before has seen how the keys split:
// a request for each 1000 keys, tombstones included. It reads the objects that are not as they
// were, and yields those keys whose value has been written or deleted since, or has expired: of
// several writes of a key between two looks at it, the last. Behind the changes of a pass, which
// are in no order, comes a Change that has a Pass. What this handle itself commits is looked at,
// and yielded, at once. A handle that was opened WithFeed looks once each FollowEvery at what other
// such handles tell in the feed, which is one list request, and lists c once each FollowFullEvery.
//
// Each change was current at an instant between the look at its key before and its coming. A key
// never goes back: what comes later is newer. What a transaction has written that is not decided
// yet is not yielded, but looked at again. No two keys need be of one instant: for that see
// FollowInstant. Collections nested in c are not followed.
//
// Where it stands is in memory: 100 bytes and its name for each key, tombstones included, unless
// FollowSeen says that the caller keeps it. Values are read 1024 at a time, or 16 MiB.
//
// An error does not end the loop, if that does not: Follow pauses, and tries again. One with a Key
// is of that key alone (ErrCorrupt, ErrFormat), and comes with each pass. Others are
// ErrUnavailable, and the backend's. After these it ends: ErrClosed, ErrInvalid for an option or
// the Position of another database, ErrInvalidKey, and the context's. Close ends it, too, and
// waits for the loop's body.
func (c *Collection) Follow(
	ctx context.Context, from Position, opts ...FollowOption,
) iter.Seq2[Change, error] {
	if c.err != nil {
		return func(yield func(Change, error) bool) { yield(Change{}, c.err) }
	}
	return c.db.Follow(ctx, from, append([]FollowOption{FollowCollections(c)}, opts...)...)
}

// Follow yields what has changed in the whole database, or in the collections that the option
// FollowCollections names, as Collection.Follow does for one. A pass covers all of them, and is at
// one instant, if it is, across them. To follow the whole database, external values are listed as
// well as keys.
func (db *DB) Follow(
	ctx context.Context, from Position, opts ...FollowOption,
) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		f := following{db: db, yield: yield, what: "follow"}
		err := f.prepare(from, opts)
		if err == nil {
			err = f.run(ctx)
		}
		f.end(err)
	}
}

// following is a Follow.
type following struct {
	db    *DB
	yield func(Change, error) bool
	what  string // for errors
	o     followOptions
	spans []follow.Span
	book  *follow.Book
	// grows says that the pause between two looks does, and watches that it is one key's.
	grows, watches bool
	// last is the collection of the latest change.
	last *Collection
	left bool
}

// prepare checks the options.
func (f *following) prepare(from Position, opts []FollowOption) (err error) {
	if f.o, err = newFollowOptions(opts, f.db.fed); err != nil {
		return err
	}
	if f.spans, err = f.o.spans(f.db); err != nil {
		return err
	}
	switch {
	case f.o.version != nil:
		return fmt.Errorf("WatchFrom is for Watch: %w", ErrInvalid)
	case !from.IsZero() && from.id != f.db.st.ID():
		return fmt.Errorf("position of another database: %w", ErrInvalid)
	case f.o.seen == nil:
		f.book = follow.NewBook(from.base, from.log)
	case !from.IsZero():
		return fmt.Errorf("a Position, and FollowSeen: %w", ErrInvalid)
	case len(f.o.collections) == 0:
		return fmt.Errorf("FollowSeen without collections: %w", ErrInvalid)
	default:
		f.book = follow.KeptBook(seenBase{f.o.seen, &f.o})
	}
	return nil
}

// run follows until the loop is left, or an error ends it.
func (f *following) run(ctx context.Context) error {
	return f.keepOn(ctx, (*follow.Follower).Run)
}

// keepOn follows by a method of a Follower, again after errors.
func (f *following) keepOn(
	ctx context.Context,
	by func(*follow.Follower, context.Context, func(follow.Event) bool) error,
) error {
	within, end, err := f.db.beginFollow(ctx)
	if err != nil {
		return err
	}
	defer end()
	hints := f.db.subscribe()
	defer hints.Stop()
	o := follow.Options{
		Spans: f.spans, Book: f.book, Every: f.o.every, FullEvery: f.o.full, Grows: f.grows,
		Instant: f.o.instant, Once: f.o.once, Known: f.o.version != nil, Local: hints,
	}
	if f.db.fed && !f.grows && !f.o.once {
		o.Feed = f.db.hints()
	}
	follower := follow.New(f.db.st, f.db.rs, o)
	for {
		err := by(follower, within, f.tell)
		switch {
		case err == nil, f.left:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case within.Err() != nil:
			return ErrClosed
		case !f.yield(Change{}, fmt.Errorf("%s: %w", f.what, public(err))):
			f.left = true
			return nil
		case f.db.rt.Sleep(within, f.o.every) != nil:
			continue // the next run tells
		}
	}
}

// end yields the error that has ended the loop, if there is one.
func (f *following) end(err error) {
	if err != nil && !f.left {
		f.yield(Change{}, fmt.Errorf("%s: %w", f.what, err))
	}
}

// tell yields an event.
func (f *following) tell(e follow.Event) (goOn bool) {
	c, err := f.change(e)
	f.left = !f.yield(c, err)
	return !f.left
}

func (f *following) change(e follow.Event) (c Change, err error) {
	if f.o.seen == nil && !f.watches {
		c.Position = Position{f.db.st.ID(), e.Base, e.Log}
	}
	if p := e.Pass; p != nil {
		c.Pass = &Pass{
			At: p.Begun, Instant: p.Quiet, Whole: p.Whole, Listed: p.Listed, Read: p.Read,
			Held: int64(p.Held),
		}
		return c, nil
	}
	x := e.Change
	if c.Collection, c.Key, err = f.key(x.Name); err != nil {
		return c, err
	}
	if x.Err != nil {
		return c, fmt.Errorf("%s: %w", f.what, public(x.Err))
	}
	c.State, c.Deleted, c.Old = State(x.State), !x.Present, bytesOrNil(x.Old)
	if x.Present {
		c.Value = append(make([]byte, 0, len(x.Value)), x.Value...)
		c.Version, c.Expires = Version{x.Writer}, instant(x.Expires)
	}
	return c, nil
}

func bytesOrNil(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// key is the key of a cell, with its collection: one of those that were given, if it is there.
func (f *following) key(name string) (*Collection, []byte, error) {
	path, key, err := keyspace.ParseCell(name)
	if err != nil {
		return nil, nil, err
	}
	if f.last != nil && f.last.path == path {
		return f.last, key, nil
	}
	f.last = f.o.collection(path)
	if f.last == nil {
		f.last = &Collection{db: f.db, path: path}
	}
	return f.last, key, nil
}

// Position is where a Follow is: which value it has last told of each key. It never changes, and
// may be kept and used by many. The zero Position is the beginning: nothing has been told.
//
// It takes some 100 bytes in memory, and its name, for each key, which all Positions of a loop
// share.
type Position struct {
	id   txid.ID
	base follow.Items
	log  []follow.Item
}

// IsZero reports whether p is the beginning.
func (p Position) IsZero() bool { return p.id.IsZero() }

// MarshalBinary is p in bytes, some 50 and what is new in its name for each key that has a value.
// UnmarshalBinary of this version of the library and of later ones reads them.
func (p Position) MarshalBinary() ([]byte, error) {
	return follow.Encode(p.id, follow.Merge(p.base, p.log)), nil
}

// UnmarshalBinary is the inverse of MarshalBinary. It returns ErrCorrupt for what that has not
// made, and ErrFormat for what a later version of the library has. Then p is unchanged.
func (p *Position) UnmarshalBinary(data []byte) error {
	id, items, err := follow.Decode(data)
	if err != nil {
		return fmt.Errorf("position: %w", err)
	}
	*p = Position{id: id, base: items}
	return nil
}

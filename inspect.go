package strictkv

import (
	"context"
	"fmt"
	"time"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/sweep"
	"github.com/strictkv/strictkv/internal/txid"
)

// Count is a number of objects, and their size in bytes.
type Count struct{ Objects, Bytes int64 }

// Usage is what a database takes in the bucket, by kind of object, as far as a listing tells.
type Usage struct {
	// Values are the objects of keys that have a value, External the values that are objects of
	// their own, those included that are garbage.
	Values, External Count
	// Tombstones are the objects of deleted keys, Condemned those that a sweep has announced to
	// be removed.
	Tombstones, Condemned Count
	// Unread are objects of keys that one must read to know more: with an intent, or with a value
	// that expires.
	Unread Count
	// Lost are copies that a Check has moved aside, Foreign objects that are none of the
	// database's, and Damaged those of which the store itself says that they are.
	Lost, Foreign, Damaged Count
	// Feed are hints for followers: see WithFeed.
	Feed Count
	// Other are the object that tells of the database, and those by which sweeps ask for the
	// store's time.
	Other Count
}

// Usage counts the objects of the database, or of a collection and what is nested in it; nil is
// the whole database. It costs a list request for each 1000 objects, and reads none. Progress
// tells how many have been listed. Errors: ErrClosed, ErrInvalid, ErrInvalidKey, ErrUnavailable,
// the backend's, and the context's.
func (db *DB) Usage(ctx context.Context, c *Collection, opts ...WalkOption) (Usage, error) {
	w, err := newWalk(opts)
	if err == nil {
		err = db.begin()
	}
	if err != nil {
		return Usage{}, fmt.Errorf("usage: %w", err)
	}
	defer db.end()
	prefix, err := db.prefix(c)
	if err != nil {
		return Usage{}, fmt.Errorf("usage: %w", err)
	}
	u, err := sweep.Use(ctx, db.st, prefix, func(n int64) {
		if w.tell != nil {
			w.tell(WalkProgress{Listed: n})
		}
	})
	if err != nil {
		return Usage{}, fmt.Errorf("usage: %w", err)
	}
	return Usage{
		Values: Count(u.Values), External: Count(u.External), Tombstones: Count(u.Tombstones),
		Condemned: Count(u.Condemned), Unread: Count(u.Unread), Lost: Count(u.Lost),
		Foreign: Count(u.Foreign), Damaged: Count(u.Damaged), Feed: Count(u.Feed),
		Other: Count(u.Other),
	}, nil
}

// Inspection is what the object of a key holds, and what that means.
type Inspection struct {
	// Object is the full name of the key's object in the bucket, and ObjectVersion the store's
	// version of it; that is empty if there is no object.
	Object, ObjectVersion string
	// Value is the committed value in the object, and Recent the versions of the last ones, the
	// newest first, 8 at most.
	Value  InspectedValue
	Recent []Version
	// Condemned says that the key is deleted, and that a sweep has announced to remove the object.
	Condemned bool
	// Intent is the provisional value, if there is one, and Current what the key's value is with
	// regard to that: what a reader would be given.
	Intent  *InspectedIntent
	Current InspectedValue
	// Marks are of attempts that have committed, and may have intents in other keys.
	Marks []InspectedMark
}

// InspectedValue is a value as the object of a key has it.
type InspectedValue struct {
	// Present says that there is a value. One that has expired is there until a sweep comes.
	Present bool
	// Version is that of the value, or of the transaction that has deleted the key.
	Version Version
	// Data are the bytes of the value, and External the full name of the object that has them
	// instead. Size is in bytes.
	Data     []byte
	External string
	Size     int64
	// Expires is when the value expires; zero is never.
	Expires time.Time
}

// InspectedIntent is an intent, and what has become of the attempt that has left it.
type InspectedIntent struct {
	// Attempt is its id. Since is when its transaction began, by the clock of that one's process.
	Attempt string
	Since   time.Time
	// Mode is "staged" if the attempt commits once all its intents are there, "pending" if it
	// does by the write that puts the value of its first member in place of the intent.
	Mode string
	// Action is what a commit does: "put", "delete", or "lock", which leaves the value.
	Action string
	// Value is what is put.
	Value InspectedValue
	// Outcome is "committed", "dead" or "undecided": of a transaction under way, or of one whose
	// process has died. Whoever waits for one that is undecided kills it in the end.
	Outcome string
	// Members are the keys that the attempt writes. Of one with more than 8 that is dead, or of
	// which other transactions have settled a part, the first alone may be known.
	Members []InspectedMember
}

// InspectedMark is a mark, which says that an attempt has committed.
type InspectedMark struct {
	// Attempt is its id.
	Attempt string
	// Members are the keys that it has written; of more than 8, the first may stand for all. What
	// they show is not asked for.
	Members []InspectedMember
}

// InspectedMember is a key that an attempt writes.
type InspectedMember struct {
	// Collection are the names of the key's collection, and of those around it, outermost first.
	Collection [][]byte
	Key        []byte
	// Expected is the store's version that the attempt replaces; empty if that is no object.
	Expected string
	// Shows is what the key's object shows: "intent"; "mark", of an attempt that has committed;
	// "expected", if the intent has not come yet; "other", if somebody has written it since.
	Shows string
}

// Inspect decodes the object of a key: the value with its version, the provisional one of a
// transaction under way with what has become of that, and what else there is to see. It is for
// people who want to know what a database does. It asks the bucket alone, and changes nothing: of
// a transaction whose process has died it tells what a reader would find, and leaves it to that
// reader to put an end to it. While others write, what it tells need not be of one instant.
//
// It costs a read and, if there is an intent, up to three for each member. A key without an object
// is no error: Object alone is set. Errors: ErrInvalidKey, ErrClosed, ErrCorrupt, ErrFormat,
// ErrUnavailable, the backend's, and the context's.
func (c *Collection) Inspect(ctx context.Context, key []byte) (Inspection, error) {
	name, err := c.cell(key)
	if err == nil {
		err = c.begin()
	}
	if err != nil {
		return Inspection{}, fmt.Errorf("inspect %q: %w", key, err)
	}
	defer c.db.end()
	rd, members, err := c.db.rs.Inspect(ctx, name)
	if err != nil {
		return Inspection{}, fmt.Errorf("inspect %q: %w", key, err)
	}
	current, writer := rd.Effective()
	i := Inspection{
		Object: c.db.st.FullName(name), ObjectVersion: string(rd.Version),
		Value: c.db.inspected(name, rd.Cell.Value, rd.Cell.Writer), Condemned: rd.Cell.Condemned,
		Current: c.db.inspected(name, current, writer),
	}
	for _, id := range rd.Cell.Recent {
		i.Recent = append(i.Recent, Version{id})
	}
	for _, m := range rd.Cell.Marks {
		mark := InspectedMark{Attempt: m.Tx.String()}
		for _, x := range m.List {
			mark.Members = append(mark.Members, inspectedMember(x, ""))
		}
		i.Marks = append(i.Marks, mark)
	}
	if in := rd.Cell.Intent; in != nil {
		i.Intent = c.db.intent(name, in, rd.Outcome, members)
	}
	return i, nil
}

// inspected is what the user sees of a value in a cell.
func (db *DB) inspected(cellName string, v cell.Value, writer txid.ID) InspectedValue {
	out := InspectedValue{
		Present: v.Kind != cell.Absent, Version: Version{writer}, Expires: instant(v.Expires),
		Size: int64(len(v.Data)), Data: append([]byte(nil), v.Data...),
	}
	if v.Kind == cell.External {
		out.Size = int64(v.Size)
		out.External = db.st.FullName(keyspace.Value(cellName, store.RefID(v.Ref)))
	}
	return out
}

func (db *DB) intent(
	name string, in *cell.Intent, o cell.Outcome, members []resolve.Seen,
) *InspectedIntent {
	out := &InspectedIntent{
		Attempt: in.Tx.String(), Since: in.Priority.Began(),
		Mode: map[cell.Mode]string{cell.Staged: "staged", cell.Pending: "pending"}[in.Mode],
		Action: map[cell.Action]string{
			cell.Put: "put", cell.Delete: "delete", cell.Lock: "lock",
		}[in.Action],
		Value: db.inspected(name, in.Value, in.Tx),
		Outcome: map[cell.Outcome]string{
			cell.Undecided: "undecided", cell.Committed: "committed", cell.Dead: "dead",
		}[o],
	}
	for _, m := range members {
		out.Members = append(out.Members, inspectedMember(m.Member, m.Shows))
	}
	return out
}

func inspectedMember(m cell.Member, shows string) InspectedMember {
	out := InspectedMember{Expected: m.Expected, Shows: shows}
	if path, key, err := keyspace.ParseCell(m.Name); err == nil {
		out.Key = key
		out.Collection, _ = path.Names()
	}
	return out
}

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

// CheckOptions configures a DB.Check.
type CheckOptions struct {
	// Collection limits the check to a collection and what is nested in it; nil is the
	// whole database.
	Collection *Collection
	// Repair moves aside, under the name of the database and "/lost/", what does not belong
	// where it is: foreign objects, and damaged objects of keys, which then have no value. It
	// copies an object before it touches it, asks nothing, and the report's problems tell what
	// became of each. See DB.Check.
	Repair bool
	// DryRun has Repair report what it would do. Nothing is written.
	DryRun bool
	// Alone says that nobody else uses the database. Then Repair also moves what it else
	// leaves since a transaction of others might depend on it.
	Alone bool
	// Progress, if not nil, is called now and then with what has been found so far.
	Progress func(CheckReport)
}

// CheckReport is what a DB.Check has found.
type CheckReport struct {
	// Objects counts all objects below the database's prefix, and Bytes their sizes.
	Objects, Bytes int64
	// Values and Tombstones count the cells by their committed value; External counts
	// those of the values that are external, and Condemned those of the tombstones that a
	// sweep has announced to be removed.
	Values, External, Tombstones, Condemned int64
	// Committed, Dead and Undecided count the cells that hold an intent, by the
	// status of its attempt. They are no problem: whoever meets them resolves them.
	Committed, Dead, Undecided int64
	// Marks counts the marks in cells.
	Marks int64
	// Orphans counts external values that no cell refers to, and OrphanBytes their bytes.
	// They are no problem: a transaction may be about to refer to them, and a sweep
	// removes them if none does.
	Orphans, OrphanBytes int64
	// Clocks counts objects by which sweeps ask for the store's time.
	Clocks int64
	// Lost counts the copies of objects that repairs have moved aside, before this check, and
	// Moved those that this one has, or would in a dry run.
	Lost, Moved int64
	// Problems lists what must not be.
	Problems []CheckProblem
}

// CheckProblem is one thing in a database that must not be.
type CheckProblem struct {
	// Object is the full name of the object in the bucket.
	Object string
	// What is wrong with it.
	What string
	// MovedTo is the full name of the copy under which a repair has put the object aside, or
	// would in a dry run; empty if the object was left where it is. A copy with a name too long
	// for the store lacks the end of it.
	MovedTo string
	// Left says why a repair has left the object.
	Left string
}

// Check examines every object of the database: names, formats, checksums, external values,
// and what the protocol promises of intents and marks. Without Repair it writes nothing that
// changes a value. It may run while others use the database. It costs a listing, a read of each
// cell and external value, and of the members of each intent.
//
// Problems are listed in the report; the error tells that the check could not be carried
// through. Errors: ErrClosed, ErrReadOnly (with Repair), ErrInvalid, ErrInvalidKey,
// ErrUnavailable, the backend's, and the context's.
//
// With Repair, a damaged object of a key is replaced by the tombstone of a deleted key once
// it has been copied, together with the key's external values. What that key held is lost,
// while other keys of the same transaction keep what they hold: damage does not respect
// transactions, but Repair tears nothing more apart. So it first settles all transactions
// under way that write the key. If it can't, since the damaged object alone would tell what
// became of one, it leaves the object, and says so in CheckProblem.Left: stop all programs,
// and repair with Alone. Unless Alone, it leaves as well what is younger than an hour by the
// store's clock. Foreign objects stay where the store does not honour the condition of a
// DELETE. Objects of a newer format are not touched, nor are external values that a key refers
// to: write or delete the key.
//
// Nothing removes the copies but DB.Drop. A repair costs a read and two writes for each object
// moved; if objects of keys are damaged, also two listings, a read of each key with an intent,
// and of every key if some of these can't be settled otherwise.
func (db *DB) Check(ctx context.Context, o CheckOptions) (CheckReport, error) {
	if err := db.begin(); err != nil {
		return CheckReport{}, err
	}
	defer db.end()
	prefix, err := db.prefix(o.Collection)
	if err == nil && o.Repair && !o.DryRun {
		err = db.writable()
	}
	if err != nil {
		return CheckReport{}, fmt.Errorf("check: %w", err)
	}
	var progress func(sweep.CheckReport)
	if o.Progress != nil {
		progress = func(r sweep.CheckReport) { o.Progress(checkReport(r)) }
	}
	r, err := sweep.NewChecker(db.st, db.rs, sweep.CheckOptions{
		Prefix: prefix, Database: db.name, Repair: o.Repair, DryRun: o.DryRun, Alone: o.Alone,
		Progress: progress,
	}).Check(ctx)
	return checkReport(r), err
}

func checkReport(r sweep.CheckReport) CheckReport {
	out := CheckReport{
		Objects: r.Objects, Bytes: r.Bytes, Values: r.Values, External: r.External,
		Tombstones: r.Tombstones, Condemned: r.Condemned, Committed: r.Committed, Dead: r.Dead,
		Undecided: r.Undecided, Marks: r.Marks, Orphans: r.Orphans, OrphanBytes: r.OrphanBytes,
		Clocks: r.Clocks, Lost: r.Lost, Moved: r.Moved,
	}
	for _, p := range r.Problems {
		out.Problems = append(out.Problems, CheckProblem{
			Object: p.Object, What: p.What, MovedTo: p.MovedTo, Left: p.Left,
		})
	}
	return out
}

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
		Foreign: Count(u.Foreign), Damaged: Count(u.Damaged), Other: Count(u.Other),
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

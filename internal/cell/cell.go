// Package cell is the object of one key: its committed value, and its lock. It
// holds the model, the pure transitions between states, and the stored format.
//
// A Cell, once made, is never changed: transitions return a new one that shares
// what has stayed the same. So cells can be cached and handed around freely.
package cell

import "github.com/strictkv/strictkv/internal/txid"

// Limits of a cell.
const (
	// RecentMax is how many attempts Recent remembers.
	RecentMax = 8
	// MarksMax is how many marks a cell may carry.
	MarksMax = 8
	// ListMax is the number of members up to which every intent of an attempt
	// carries the whole list. With more, only the primary's intent and mark do.
	ListMax = 8
	// MembersMax is the largest number of members of one attempt.
	MembersMax = 1000
)

// Cell is the state of one key. The zero Cell is that of a key without an object.
type Cell struct {
	// Value is the committed value.
	Value Value
	// Writer is the attempt that wrote Value; zero for a cell that never had a
	// value.
	Writer txid.ID
	// Recent holds the last RecentMax attempts whose value was committed here,
	// newest first. It makes ErrInDoubt rare; safety does not need it.
	Recent []txid.ID
	// Intent is the provisional value in the cell, its lock; nil if there is none.
	Intent *Intent
	// Marks names transactions that committed, have been folded here, and may
	// still have intents in other members; oldest first.
	Marks []Mark
	// Condemned is a sweep's announcement that this tombstone will be removed.
	Condemned bool
}

// ValueKind says where a value's bytes are.
type ValueKind uint8

// The kinds of values.
const (
	// Absent: there is no value.
	Absent ValueKind = iota
	// Inline: the bytes are in the cell.
	Inline
	// External: the bytes are in an object of their own.
	External
)

// Value is what a key holds.
type Value struct {
	Kind ValueKind
	// own says that Data is an allocation of its own: see Apart.
	own bool
	// Sum (CRC32C), Size (in bytes) and Ref describe an External value's object. Package
	// store makes what Ref says.
	Sum  uint32
	Size uint64
	Ref  string
	// Data are the bytes of an Inline value. Nobody may modify them.
	Data []byte
	// Expires is when the value is due, in nanoseconds since 1970 by the store's clock: from
	// then on it reads as absent. 0 is never.
	Expires int64
}

// Due reports whether the value reads as absent at a time of the store's clock.
func (v *Value) Due(now int64) bool { return v.Expires != 0 && v.Expires <= now }

// Inlined is an inline value. The bytes are an allocation of their own, which nobody may
// modify any more.
func Inlined(data []byte) Value { return Value{Kind: Inline, Data: data, own: true} }

// Mode says what commits an attempt.
type Mode uint8

// The modes of an intent.
const (
	// Staged: the attempt commits when all its intents have landed.
	Staged Mode = iota + 1
	// Pending: the attempt commits by the write that replaces its primary's
	// intent by its value.
	Pending
)

// Action is what resolving a committed intent does to the value.
type Action uint8

// The actions of an intent.
const (
	// Put makes the intent's value the committed one.
	Put Action = iota + 1
	// Delete makes the committed value absent.
	Delete
	// Lock leaves value and writer as they are.
	Lock
)

// Intent is a provisional value that names its transaction.
type Intent struct {
	Tx       txid.ID
	Priority txid.Priority
	Mode     Mode
	Action   Action
	// Value is the value to come; Absent unless Action is Put.
	Value Value
	Members
}

// Members tells where an attempt has intents.
type Members struct {
	// List is in name order, but that the primary comes first.
	List []Member
	// Long says that only the primary's intent and mark carry the whole list;
	// elsewhere List is the primary alone.
	Long bool
}

// Member is a cell that an attempt has an intent for.
type Member struct {
	// Name is the cell's object name, without the database's prefix.
	Name string
	// Expected is the version that the attempt's write replaces; empty for an
	// absent object.
	Expected string
}

// Mark names a transaction that committed.
type Mark struct {
	Tx txid.ID
	Members
}

// Primary is the member whose cell decides a pending attempt.
func (m Members) Primary() Member { return m.List[0] }

// Whole reports whether List names every member.
func (m Members) Whole() bool { return !m.Long || len(m.List) > 1 }

// Find returns the member with the name.
func (m Members) Find(name string) (Member, bool) {
	for _, x := range m.List {
		if x.Name == name {
			return x, true
		}
	}
	return Member{}, false
}

// Holds reports whether the cell holds an intent of the attempt.
func (c *Cell) Holds(tx txid.ID) bool { return c.Intent != nil && c.Intent.Tx == tx }

// Mark returns the mark of the attempt.
func (c *Cell) Mark(tx txid.ID) (Mark, bool) {
	for _, m := range c.Marks {
		if m.Tx == tx {
			return m, true
		}
	}
	return Mark{}, false
}

// Names reports whether the cell remembers that the attempt's value was committed
// here: its writer, its recent attempts, or a mark name it.
func (c *Cell) Names(tx txid.ID) bool {
	if c.Writer == tx || c.inRecent(tx) {
		return true
	}
	_, marked := c.Mark(tx)
	return marked
}

func (c *Cell) inRecent(tx txid.ID) bool {
	for _, r := range c.Recent {
		if r == tx {
			return true
		}
	}
	return false
}

// ReachesBack reports whether Recent goes back at least to when writer's value was
// the effective one: it contains writer, or was never full.
func (c *Cell) ReachesBack(writer txid.ID) bool {
	return len(c.Recent) < RecentMax || c.inRecent(writer)
}

// Links reports whether the cell, or the intent in it, refers to the external value.
func (c *Cell) Links(ref string) bool {
	return c.Value.Ref == ref || c.Intent != nil && c.Intent.Value.Ref == ref
}

// Effective returns the cell's value and its writer, given whether the intent in
// it, if any, is known to have committed. For a lock it is the committed value
// either way.
func (c *Cell) Effective(committed bool) (Value, txid.ID) {
	if c.Intent == nil || !committed || c.Intent.Action == Lock {
		return c.Value, c.Writer
	}
	return c.Intent.Value, c.Intent.Tx
}

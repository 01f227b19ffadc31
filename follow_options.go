package strictkv

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/strictkv/strictkv/internal/follow"
	"github.com/strictkv/strictkv/internal/keyspace"
)

// Defaults of following.
const (
	// DefaultFollowEvery is the pause between two passes of a Follow.
	DefaultFollowEvery = 5 * time.Second
	// DefaultFollowFullEvery is that between two passes over everything where there is a feed.
	DefaultFollowFullEvery = 5 * time.Minute
)

// FollowOption configures one Follow.
type FollowOption func(*followOptions)

type followOptions struct {
	collections []*Collection
	within      *Range
	every, full time.Duration
	instant     bool
	once        bool
	seen        Seen
	version     *Version
}

// FollowCollections says what DB.Follow follows: these collections, but none nested in them.
// Collection.Follow takes it for further ones.
func FollowCollections(cs ...*Collection) FollowOption {
	return func(o *followOptions) { o.collections = append(o.collections, cs...) }
}

// FollowEvery sets the pause between two passes, and for Watch and WatchRange the longest one
// between two looks: DefaultFollowEvery, if it is not positive. With a feed (WithFeed) it is the
// pause between two looks at that: then the default is DefaultFeedInterval, but with FollowInstant.
// Shorter ones cost more requests: docs/costs.md tells how many.
func FollowEvery(d time.Duration) FollowOption {
	return func(o *followOptions) { o.every = d }
}

// FollowFullEvery sets the pause between two passes over everything where there is a feed:
// DefaultFollowFullEvery, if it is not positive. What the feed does not tell of is seen that late.
func FollowFullEvery(d time.Duration) FollowOption {
	return func(o *followOptions) { o.full = d }
}

// FollowInstant keeps the changes of a pass back until all that is followed is known to have been
// so at one instant: then they come as one block, ended by a Pass that is Instant, and who has
// applied the block has the state of that instant. It is known once a pass finds nothing changed
// since the pass before; so up to 4 passes follow each other without a pause. While writers never
// let that happen, nothing comes, and the changes wait in memory, the last of each key. Go on from
// the Position of a Pass: one within a block is at no instant.
func FollowInstant() FollowOption { return func(o *followOptions) { o.instant = true } }

// FollowOnce ends the loop behind the first Pass; that of Watch behind the first Change.
func FollowOnce() FollowOption { return func(o *followOptions) { o.once = true } }

// FollowRange follows only a range of each collection: its From and To. The other fields must not
// be set.
func FollowRange(r Range) FollowOption { return func(o *followOptions) { o.within = &r } }

// FollowSeen says that the caller keeps what it is told, so that Follow does not: it begins where
// that is, and needs no memory for keys, but for tombstones. A Position must not be given then. It
// needs collections. By the time that the loop goes on behind a Pass, s must tell of all changes
// before that.
func FollowSeen(s Seen) FollowOption { return func(o *followOptions) { o.seen = s } }

// WatchFrom says which version of the key the caller has, so that Watch begins with what comes
// after that. The zero Version says that it had no value.
func WatchFrom(v Version) FollowOption { return func(o *followOptions) { o.version = &v } }

// Seen is what somebody keeps who has followed: the changes that were yielded, the last of each
// key. An error that it returns ends the pass, and is yielded.
type Seen interface {
	// States yields what is kept of the keys of a collection from a key on, which need not be
	// there, in their order; with no key it is all. Deleted keys need not be kept.
	States(c *Collection, from []byte) iter.Seq2[KeyState, error]
	// Lookup returns what is kept of a key; if that is nothing, a KeyState that is Deleted.
	Lookup(c *Collection, key []byte) (KeyState, error)
	// Restate says that the key's object has another State, while its value is the same. To keep
	// that saves reading the object again at the next pass; nothing else depends on it.
	Restate(c *Collection, key []byte, s State) error
}

// KeyState is what is kept of a Change.
type KeyState struct {
	Key     []byte
	State   State
	Version Version
	Expires time.Time
	Deleted bool
}

func newFollowOptions(opts []FollowOption, fed bool) (o followOptions, err error) {
	for _, opt := range opts {
		if opt == nil {
			return o, fmt.Errorf("nil option: %w", ErrInvalid)
		}
		opt(&o)
	}
	if o.full <= 0 {
		o.full = DefaultFollowFullEvery
	}
	switch {
	case o.every > 0:
	case fed && !o.instant:
		o.every = DefaultFeedInterval
	default:
		o.every = DefaultFollowEvery
	}
	if r := o.within; r != nil && (r.Reverse || r.Limit != 0 || r.KeysOnly) {
		return o, fmt.Errorf("a range to follow has only bounds: %w", ErrInvalid)
	}
	if o.within != nil && len(o.collections) == 0 {
		return o, fmt.Errorf("FollowRange without collections: %w", ErrInvalid)
	}
	return o, nil
}

// spans are the intervals that are followed.
func (o *followOptions) spans(db *DB) ([]follow.Span, error) {
	if len(o.collections) == 0 {
		return []follow.Span{follow.Everything()}, nil
	}
	var r Range
	if o.within != nil {
		r = *o.within
	}
	var spans []follow.Span
	for _, c := range o.collections {
		switch {
		case c == nil:
			return nil, fmt.Errorf("nil collection: %w", ErrInvalid)
		case c.db != db:
			return nil, fmt.Errorf("collection of another handle: %w", ErrInvalid)
		}
		i, err := c.interval(r)
		if err != nil {
			return nil, err
		}
		same := func(s follow.Span) bool { return s.Path == c.path }
		if !slices.ContainsFunc(spans, same) {
			spans = append(spans, follow.SpanOf(i.Interval))
		}
	}
	return spans, nil
}

// collection is the one with a path, of those that were given; nil if it was not.
func (o *followOptions) collection(path keyspace.Path) *Collection {
	i := slices.IndexFunc(o.collections, func(c *Collection) bool { return c.path == path })
	if i < 0 {
		return nil
	}
	return o.collections[i]
}

// seenBase is what somebody else keeps.
type seenBase struct {
	Seen
	o *followOptions
}

func (b seenBase) of(path keyspace.Path) (*Collection, error) {
	c := b.o.collection(path)
	if c == nil {
		return nil, fmt.Errorf("a key of a collection that is not followed: %w", ErrInvalid)
	}
	return c, nil
}

// Within yields what is kept within a span behind a name.
func (b seenBase) Within(s follow.Span, after string) iter.Seq2[follow.Item, error] {
	return func(yield func(follow.Item, error) bool) {
		c, err := b.of(s.Path)
		if err != nil {
			yield(follow.Item{}, err)
			return
		}
		var from []byte
		if after != "" {
			if from, err = s.Path.Key(after); err != nil {
				yield(follow.Item{}, err)
				return
			}
		} else if b.o.within != nil {
			from = b.o.within.From
		}
		for k, err := range b.States(c, from) {
			if err != nil {
				yield(follow.Item{}, err)
				return
			}
			name, err := c.cell(k.Key)
			if err != nil {
				yield(follow.Item{}, err)
				return
			}
			if name <= after || name < s.From {
				continue
			}
			if name >= s.To || !yield(follow.Item{Name: name, Entry: k.entry()}, nil) {
				return
			}
		}
	}
}

// entry is what a KeyState says of a cell.
func (k KeyState) entry() follow.Entry {
	e := follow.Entry{State: k.State, Present: !k.Deleted}
	if !k.Deleted {
		e.Writer = k.Version.writer
		if !k.Expires.IsZero() {
			e.Expires = k.Expires.UnixNano()
		}
	}
	return e
}

// Lookup returns what is kept of a cell.
func (b seenBase) Lookup(name string) (follow.Entry, error) {
	c, key, err := b.key(name)
	if err != nil {
		return follow.Entry{}, err
	}
	k, err := b.Seen.Lookup(c, key)
	return k.entry(), err
}

// Restate passes it on.
func (b seenBase) Restate(name string, s follow.State) error {
	c, key, err := b.key(name)
	if err != nil {
		return err
	}
	return b.Seen.Restate(c, key, State(s))
}

func (b seenBase) key(name string) (*Collection, []byte, error) {
	path, key, err := keyspace.ParseCell(name)
	if err != nil {
		return nil, nil, err
	}
	c, err := b.of(path)
	return c, key, err
}

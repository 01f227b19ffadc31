package strictkv

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/strictkv/strictkv/internal/follow"
)

// Watch yields the value of a key, or that it has none (Deleted), and then each change of it that
// it sees: of several between two looks the last. What this handle commits is seen at once. Else
// it looks after a pause, which grows from 100 ms by half each time up to FollowEvery, and is short
// again behind a change: a conditional read each time, which while nothing changes is answered
// without the value, 720 an hour at most with the default.
//
// Options are WatchFrom, to begin behind a Version, FollowEvery, and FollowOnce. Positions are
// zero. Errors are as for Follow.
func (c *Collection) Watch(
	ctx context.Context, key []byte, opts ...FollowOption,
) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		f := following{db: c.db, yield: yield, what: fmt.Sprintf("watch %q", key), grows: true}
		name, err := f.prepareWatch(c, key, opts)
		if err == nil {
			err = f.keepOn(ctx, func(
				w *follow.Follower, ctx context.Context, yield func(follow.Event) bool,
			) error {
				return w.Watch(ctx, name, yield)
			})
		}
		f.end(err)
	}
}

// prepareWatch checks the options, and returns the name of the key's cell.
func (f *following) prepareWatch(c *Collection, key []byte, opts []FollowOption) (string, error) {
	name, err := c.cell(key)
	if err != nil {
		return "", err
	}
	if f.o, err = newFollowOptions(opts, false); err != nil {
		return "", err
	}
	if len(f.o.collections) > 0 || f.o.instant || f.o.seen != nil {
		return "", fmt.Errorf("an option that is for Follow: %w", ErrInvalid)
	}
	f.o.collections = []*Collection{c}
	if f.spans, err = f.o.spans(c.db); err != nil {
		return "", err
	}
	var seen []follow.Item
	if v := f.o.version; v != nil && !v.IsZero() {
		e := follow.Entry{Writer: v.writer, Present: true}
		seen = append(seen, follow.Item{Name: name, Entry: e})
	}
	f.book, f.watches = follow.NewBook(nil, seen), true
	return name, nil
}

// WatchRange is Follow for a range that is small, from its beginning on: it lists it, and the
// pauses are those of Watch. Options are FollowEvery, FollowInstant and FollowOnce.
func (c *Collection) WatchRange(
	ctx context.Context, r Range, opts ...FollowOption,
) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		f := following{db: c.db, yield: yield, what: "watch", grows: true}
		own := []FollowOption{FollowCollections(c), FollowRange(r)}
		err := c.err
		if err == nil {
			err = f.prepare(Position{}, append(own, opts...))
		}
		if err == nil {
			err = f.run(ctx)
		}
		f.end(err)
	}
}

// beginFollow counts a Follow, and derives a context that Close ends; end must follow.
func (db *DB) beginFollow(
	ctx context.Context,
) (within context.Context, end context.CancelFunc, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := db.begin(); err != nil {
		return nil, nil, err
	}
	within, cancel := db.rt.WithCancel(ctx)
	own := &cancel
	db.mu.Lock()
	db.followers = append(db.followers, own)
	closed := db.closed
	db.mu.Unlock()
	if closed { // since it began
		cancel()
	}
	return within, func() {
		cancel()
		db.mu.Lock()
		db.followers = slices.DeleteFunc(db.followers, func(x *context.CancelFunc) bool {
			return x == own
		})
		db.mu.Unlock()
		db.end()
	}, nil
}

// endFollowers ends all that follow.
func (db *DB) endFollowers() {
	db.mu.Lock()
	all := slices.Clone(db.followers)
	db.mu.Unlock()
	for _, cancel := range all {
		(*cancel)()
	}
}

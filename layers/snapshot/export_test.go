package snapshot

import "context"

// Remove removes a snapshot's file, whoever needs it.
func Remove(s Store, name string) error {
	all, err := s.list(context.Background(), kindContent)
	for _, x := range all {
		if x.id == name {
			return s.remove(context.Background(), kindContent, x)
		}
	}
	return err
}

// Exclude is what a GC does while it is under way.
func Exclude(ctx context.Context, s Store) (done func() error, err error) {
	_, done, err = s.exclude(ctx)
	return done, err
}

// KeepOnePart has Buckets keep the last part that they have read, and no more.
func KeepOnePart() (restore func()) {
	was := partsCached
	partsCached = 0
	return func() { partsCached = was }
}

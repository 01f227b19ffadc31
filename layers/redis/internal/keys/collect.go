package keys

import (
	"context"
	"encoding/base32"
	"errors"
	"strings"

	"github.com/strictkv/strictkv"
)

// CollectLeft removes the elements of large values that were deleted or replaced, and returns of
// how many values it has. Several may do so at once.
func (s *Space) CollectLeft(ctx context.Context) (n int, err error) {
	for item, err := range s.left.Items(ctx, strictkv.Range{KeysOnly: true}) {
		if err != nil {
			return n, err
		}
		if _, err := s.large.Collection(item.Key).Drop(ctx); err != nil {
			return n, err
		}
		if err := s.left.Delete(ctx, item.Key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// CollectUnowned removes the elements of large values that have expired, or were flushed: those
// that no header refers to. It looks at each large value that there is.
func (s *Space) CollectUnowned(ctx context.Context) (n int, err error) {
	for name, err := range s.large.Collections(ctx) {
		if err != nil {
			return n, err
		}
		owned, err := s.owned(ctx, name)
		if err != nil {
			return n, err
		}
		if owned {
			continue
		}
		// An ID that nobody refers to any more never gets an owner again: it is given once, with a
		// header. It is noted first, as who is interrupted may have removed the owner's name alone.
		if err := s.left.Write(ctx, name, nil); err != nil {
			return n, err
		}
		n++
	}
	if n == 0 {
		return 0, nil
	}
	return s.CollectLeft(ctx)
}

// owned reports whether a header refers to the elements of a name. What is not of this package's
// making counts as owned, and so does what has no owner's name: its transaction may be about to
// commit.
func (s *Space) owned(ctx context.Context, name []byte) (owned bool, err error) {
	i, ok := parseID(name)
	if !ok {
		return true, nil
	}
	err = s.db.View(ctx, func(tx *strictkv.Tx) error {
		owned = true
		owner, err := tx.Read(s.elements(i), []byte{ownerName})
		if errors.Is(err, strictkv.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(owner) < 2 || owner[0] >= Databases {
			return damaged("no owner")
		}
		owned = false
		value, err := tx.Read(s.numbered[owner[0]], owner[1:])
		if errors.Is(err, strictkv.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		e, _, err := decode(value)
		owned = e.Large && e.id() == i
		return err
	})
	return owned, err
}

// parseID is the ID that name has made a name of.
func parseID(name []byte) (i id, ok bool) {
	b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(
		strings.ToUpper(string(name)))
	if err != nil || len(b) != idLen {
		return i, false
	}
	copy(i[:], b)
	return i, string(i.name()) == string(name)
}

package keys

import (
	"context"
	"errors"

	"github.com/strictkv/strictkv"
)

// Version is that of a key's value, for WATCH: zero if there is none, or it is due.
func (t *Tx) Version(name []byte) (strictkv.Version, error) {
	v, _, err := t.version(name)
	return v, err
}

func (t *Tx) version(name []byte) (strictkv.Version, Entry, error) {
	if len(name) > NameMax {
		return strictkv.Version{}, Entry{}, ErrNameTooLong
	}
	key, _ := store(name)
	item, err := t.tx.ReadItem(t.Collection(), key)
	if errors.Is(err, strictkv.ErrNotFound) {
		return strictkv.Version{}, Entry{}, nil
	}
	if err != nil {
		return strictkv.Version{}, Entry{}, err
	}
	e, _, err := decode(item.Value)
	if err != nil || e.due(t.now) {
		return strictkv.Version{}, Entry{}, err
	}
	return item.Version, e, nil
}

// Watch returns the version that a key has now. It changes with every change of the value, that of
// an element of a large one included.
func (s *Space) Watch(ctx context.Context, n int, name []byte) (v strictkv.Version, err error) {
	for {
		var e Entry
		err := s.db.View(ctx, func(tx *strictkv.Tx) (err error) {
			v, e, err = s.NewTx(tx, n).version(name)
			return err
		})
		if err != nil || !e.Large || e.watched {
			return v, err
		}
		if err := s.mark(ctx, n, name); err != nil {
			return v, err
		}
	}
}

// mark has whoever changes an element write the header.
func (s *Space) mark(ctx context.Context, n int, name []byte) error {
	return s.db.Tx(ctx, func(tx *strictkv.Tx) error {
		t := s.NewTx(tx, n)
		e, err := t.Get(name)
		if err != nil || !e.Large || e.watched {
			return err
		}
		e.watched = true
		return t.put(name, e)
	})
}

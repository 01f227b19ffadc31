package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/txid"
)

// errTaken: there is another object under the name of a copy.
var errTaken = errors.New("another object has the name of the copy")

// Raw reads an object as the store has it, be it damaged or foreign. Without a version the
// store can't tell its state. The error matches ErrMissing if there is none.
func (s *Store) Raw(ctx context.Context, name string) (o backend.Object, err error) {
	err = s.retry(ctx, func(ctx context.Context) (err error) {
		o, err = s.get(ctx, name, "")
		switch {
		case errors.Is(err, backend.ErrNotFound):
			return nil
		case errors.Is(err, backend.ErrCorrupt) && o.Version != "":
			return nil
		}
		return err
	})
	switch {
	case err != nil:
		return o, fmt.Errorf("read %q: %w", s.FullName(name), err)
	case o.Version == "":
		return o, fmt.Errorf("read %q: %w", s.FullName(name), ErrMissing)
	}
	return o, nil
}

// Keep writes an object that nothing refers to, unless it is there already.
func (s *Store) Keep(ctx context.Context, name string, data []byte) error {
	err := s.retryFor(ctx, s.transferTime(len(data)), func(ctx context.Context) error {
		_, err := s.put(ctx, name, data, backend.IfAbsent())
		if classify(err) != Refused {
			return err
		}
		o, err := s.get(ctx, name, "")
		if err == nil && !bytes.Equal(o.Data, data) {
			err = fmt.Errorf("%w: %w", backend.ErrInvalid, errTaken)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("copy to %q: %w", s.FullName(name), notWritten(err))
	}
	return nil
}

// Bury replaces an object that is no cell, at the version, by a tombstone which says that
// anything may have happened there before. The name never has no object, so that nobody takes
// it for what was there before the object was.
func (s *Store) Bury(ctx context.Context, name string, v backend.Version) (Result, error) {
	tombstone := &cell.Cell{}
	for range cell.RecentMax {
		tombstone.Recent = append(tombstone.Recent, txid.New(s.rt.Uint64))
	}
	tombstone.Writer = tombstone.Recent[0]
	at := NoObject(name)
	at.Version = v
	res, _, err := s.Send(ctx, s.Prepare(at, tombstone))
	return res, err
}

// Announce writes an object under a name that nobody else uses, by one request that is not sent
// again, and takes no place from others. Refused says that the name is taken, by an earlier copy
// of the request perhaps.
func (s *Store) Announce(
	ctx context.Context, name string, data []byte,
) (Result, backend.Version, error) {
	ctx, cancel := s.rt.WithTimeout(ctx, s.bounds.Timeout)
	defer cancel()
	made, at, err := s.timedPut(ctx, name, data, backend.IfAbsent())
	result := classify(err)
	if result == Applied {
		s.cache.Saw(made.Time, at.sent, at.came)
	}
	if err != nil {
		err = fmt.Errorf("write %q: %w", s.FullName(name), err)
	}
	return result, made.Version, err
}

// Withdraw removes such an object, likewise.
func (s *Store) Withdraw(ctx context.Context, name string, v backend.Version) error {
	ctx, cancel := s.rt.WithTimeout(ctx, s.bounds.Timeout)
	defer cancel()
	if err := s.remove(ctx, name, v); err != nil {
		return fmt.Errorf("remove %q: %w", s.FullName(name), err)
	}
	return nil
}

package store

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/txid"
)

// External values are objects of their own, written before any cell points to them, and
// never written again. A cell refers to one by the random id in its name, followed by its
// version, so that whoever unlinks it can remove it by one conditional delete.

// ErrMissing: there is no object of an external value. Its cell has been written since,
// or the value is lost.
var ErrMissing = errors.New("external value is missing")

const (
	// transferMin is the slowest rate, in bytes per second, at which a value may be
	// moved: a request for a large one has that much more time.
	transferMin = 256 << 10
	// refID is the length of the id at the beginning of a reference.
	refID = 2 * len(txid.ID{})
)

// RefID is the id in the name of the object that a reference points to.
func RefID(ref string) string { return ref[:min(len(ref), refID)] }

// valueName is the name of the object that a cell's reference points to.
func valueName(cellName, ref string) string { return keyspace.Value(cellName, RefID(ref)) }

// NewValue describes an external value that is to be written, under a new id.
func (s *Store) NewValue(data []byte) cell.Value {
	return cell.Value{
		Kind: cell.External, Ref: txid.New(s.rt.Entropy).String(),
		Size: uint64(len(data)), Sum: crc32.Checksum(data, castagnoli),
	}
}

// Upload writes the external value that NewValue has described, and returns what a cell
// is to hold of it. Nobody may modify data afterwards. Until a cell points to the value
// it is garbage; if there is an error, it may have been written. It also returns the store's
// time then, zero if that is not known.
func (s *Store) Upload(
	ctx context.Context, cellName string, v cell.Value, data []byte,
) (cell.Value, time.Time, error) {
	name := valueName(cellName, v.Ref)
	at, err := s.upload(ctx, name, data)
	if err != nil {
		return v, at.Time, fmt.Errorf("write value %q: %w", s.FullName(name), notWritten(err))
	}
	v.Ref += string(at.Version)
	s.cache.LearnValue(name, data)
	s.cache.KeepValue(name, data)
	return v, at.Time, nil
}

// Ground makes a tombstone where there is no cell. It returns that, or what is there already, or
// no object if the outcome is unknown. An external value is linked over an object only.
func (s *Store) Ground(ctx context.Context, cellName string) (Snapshot, error) {
	none := NoObject(cellName)
	res, made, err := s.Send(ctx, s.Prepare(none, cell.Fence(none.Cell)))
	switch res {
	case Applied:
		return made, nil
	case NotApplied:
		return none, err
	}
	return s.Fetch(ctx, cellName)
}

func (s *Store) upload(
	ctx context.Context, name string, data []byte,
) (at backend.Stamp, err error) {
	err = s.retryFor(ctx, s.transferTime(len(data)), func(ctx context.Context) (err error) {
		sent := s.rt.Now()
		at, err = s.put(ctx, name, data, backend.IfAbsent())
		switch classify(err) {
		case Applied:
			s.cache.Saw(at.Time, sent, s.rt.Now())
		case Refused: // nobody else uses the name: an earlier copy has landed
			if at, err = s.stampOf(ctx, name); err == nil && at.Version == "" {
				err = fmt.Errorf("%w: the value vanished", backend.ErrUnavailable)
			}
		}
		return err
	})
	return at, err
}

// notWritten turns an unknown outcome into "unavailable": no cell points to the value.
func notWritten(err error) error {
	if errors.Is(err, backend.ErrOutcomeUnknown) && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %s", backend.ErrUnavailable, err.Error())
	}
	return err
}

// stampOf finds out the version of an object, and when it was written, by listing: empty if
// there is none.
func (s *Store) stampOf(ctx context.Context, name string) (backend.Stamp, error) {
	page, err := s.list(ctx, backend.ListOptions{Prefix: s.FullName(name), Limit: 1})
	if err != nil || len(page.Objects) == 0 || page.Objects[0].Name != s.FullName(name) {
		return backend.Stamp{}, err
	}
	return backend.Stamp{Version: page.Objects[0].Version, Time: page.Objects[0].Modified}, nil
}

// Download returns the bytes of a cell's external value, which nobody may modify. An error
// matches ErrMissing if there is no object, and backend.ErrCorrupt if it is not what was
// written.
func (s *Store) Download(ctx context.Context, cellName string, v cell.Value) ([]byte, error) {
	name := valueName(cellName, v.Ref)
	if data, ok := s.cache.Value(name); ok {
		return data, nil
	}
	data, err := s.shareValue(ctx, name, v)
	if err != nil {
		return nil, fmt.Errorf("read value %q: %w", s.FullName(name), err)
	}
	return data, nil
}

// shareValue fetches an external value, or joins who is doing so: it never changes.
func (s *Store) shareValue(ctx context.Context, name string, v cell.Value) ([]byte, error) {
	f, landed := s.flights.join(s.rt, name)
	if landed == nil {
		defer s.flights.leave(name, f)
		f.err = errNoAnswer
		f.data, f.err = s.findValue(ctx, name, v)
		return f.data, f.err
	}
	if err := landed.Wait(ctx); err != nil {
		return nil, err
	}
	if f.err != nil {
		return s.fetchValue(ctx, name, v)
	}
	return f.data, nil
}

// findValue has an external value from the cache's disk, or fetches it.
func (s *Store) findValue(ctx context.Context, name string, v cell.Value) ([]byte, error) {
	if data, ok := s.cache.RecallValue(name); ok && checkValue(data, v) == nil {
		s.counts.DiskHits.Add(1)
		s.cache.LearnValue(name, data)
		return data, nil
	}
	data, err := s.fetchValue(ctx, name, v)
	if err == nil {
		s.cache.LearnValue(name, data)
		s.cache.KeepValue(name, data)
	}
	return data, err
}

// checkValue returns an error if the bytes are not those of the value.
func checkValue(data []byte, v cell.Value) error {
	switch {
	case uint64(len(data)) != v.Size:
		return fmt.Errorf("%d bytes instead of %d", len(data), v.Size)
	case crc32.Checksum(data, castagnoli) != v.Sum:
		return errors.New("wrong checksum")
	}
	return nil
}

// Verify downloads an external value, whatever the cache remembers. Errors are as for
// Download.
func (s *Store) Verify(ctx context.Context, cellName string, v cell.Value) error {
	name := valueName(cellName, v.Ref)
	if _, err := s.fetchValue(ctx, name, v); err != nil {
		return fmt.Errorf("read value %q: %w", s.FullName(name), err)
	}
	return nil
}

// CachedValue returns the bytes of a cell's external value, if they are cached.
func (s *Store) CachedValue(cellName string, v cell.Value) ([]byte, bool) {
	return s.cache.Value(valueName(cellName, v.Ref))
}

func (s *Store) fetchValue(ctx context.Context, name string, v cell.Value) ([]byte, error) {
	var data []byte
	missing := false
	err := s.retryFor(ctx, s.transferTime(int(v.Size)), func(ctx context.Context) error {
		o, err := s.get(ctx, name, "")
		if missing = errors.Is(err, backend.ErrNotFound); missing {
			return nil
		}
		data = o.Data
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case missing:
		return nil, ErrMissing
	}
	if err = checkValue(data, v); err == nil {
		return data, nil
	}
	err = &backend.CorruptError{Object: s.FullName(name), Err: err}
	s.warnDamage(err)
	return nil, err
}

// LostValue is the error for an external value that is missing although its cell still
// points to it.
func (s *Store) LostValue(cellName string, v cell.Value) error {
	return &backend.CorruptError{Object: s.FullName(valueName(cellName, v.Ref)), Err: ErrMissing}
}

// Unlink removes an external value that no cell points to any more, nor ever will.
func (s *Store) Unlink(ctx context.Context, cellName, ref string) error {
	name := valueName(cellName, ref)
	s.cache.ForgetValue(name)
	version := backend.Version(ref[len(RefID(ref)):])
	if version == "" { // whether it was written is not known
		err := s.retry(ctx, func(ctx context.Context) error {
			at, err := s.stampOf(ctx, name)
			version = at.Version
			return err
		})
		if err != nil || version == "" {
			return err
		}
	}
	_, err := s.Remove(ctx, name, version)
	return err
}

// Remove deletes an object that is still at the version. It is sent again if its outcome is
// unknown, which does no harm. The result is as for a write; Refused says that the object is
// gone, or at another version.
func (s *Store) Remove(ctx context.Context, name string, v backend.Version) (Result, error) {
	result := NotApplied
	var cause error
	err := s.retry(ctx, func(ctx context.Context) error {
		cause = s.remove(ctx, name, v)
		if result = classify(cause); result == Applied || result == Refused {
			return nil
		}
		return cause
	})
	if err == nil {
		err = cause
	}
	if err != nil {
		err = fmt.Errorf("remove %q: %w", s.FullName(name), err)
	}
	return result, err
}

// StoreTime asks for the store's time, by an object that it writes and removes: the time
// was that at some instant within the call, in the store's resolution.
func (s *Store) StoreTime(ctx context.Context) (time.Time, error) {
	name := keyspace.Clock(txid.New(s.rt.Entropy).String())
	var at time.Time
	err := s.retry(ctx, func(ctx context.Context) error {
		sent := s.rt.Now()
		made, err := s.put(ctx, name, nil, backend.IfAbsent())
		if err != nil && classify(err) != Refused { // refused: an earlier copy has landed
			return err
		}
		if err == nil { // a refusal without a time does not say that the store tells none
			s.cache.Saw(made.Time, sent, s.rt.Now())
		}
		page, err := s.list(ctx, backend.ListOptions{Prefix: s.FullName(name), Limit: 1})
		if err != nil {
			return err
		}
		if len(page.Objects) == 0 {
			return fmt.Errorf("%w: the object vanished", backend.ErrUnavailable)
		}
		at = page.Objects[0].Modified
		return s.remove(ctx, name, page.Objects[0].Version)
	})
	if err != nil && at.IsZero() {
		return at, fmt.Errorf("ask for the store's time: %w", notWritten(err))
	}
	return at, nil // if it was not removed, a later sweep will do so
}

// AskClock sends a write, once, if no answer has told the time yet, as that of a write may: before
// a value counts as due for what is to be written.
func (s *Store) AskClock(ctx context.Context) error {
	if !s.cache.Silent() || s.asked.Swap(true) {
		return nil
	}
	_, err := s.StoreTime(ctx)
	return err
}

// transferTime is how long a request may take that moves n bytes.
func (s *Store) transferTime(n int) time.Duration {
	return s.bounds.Timeout + time.Duration(n)*time.Second/transferMin
}

package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/strictkv/strictkv/layers/snapshot/internal/table"
)

// Copy copies a snapshot, with all that it is a layer on, from one store to another, and compares
// every byte with its hash on the way: to read one that is in a bucket from a local disk, or to
// keep one elsewhere. What is there already is not copied again. Errors: those of Open and Save.
func Copy(ctx context.Context, to, from Store, name string) error {
	snap, err := Open(ctx, from, name)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	err = saving(ctx, to, func(in session) error {
		for _, f := range slices.Backward(snap.files) { // bases first
			id := hex.EncodeToString(f.Name[:])
			if there, err := openNamed(ctx, to, id); err == nil {
				if err := there.Close(); err != nil {
					return err
				}
			} else if !errors.Is(err, ErrNotFound) {
				return err
			} else if err := copyFile(ctx, in, f, kindContent, id); err != nil {
				return err
			}
			o, err := from.open(ctx, kindOrigin, id)
			if errors.Is(err, ErrNotFound) {
				continue
			} else if err != nil {
				return err
			}
			if err := errors.Join(copyFile(ctx, in, o, kindOrigin, id), o.Close()); err != nil {
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, snap.Close()); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}

func copyFile(ctx context.Context, in session, f *table.File, kind, id string) error {
	d, err := in.create()
	if err != nil {
		return err
	}
	for i := range f.Segments() {
		s, data, err := f.Raw(ctx, i)
		if err == nil && sha256.Sum256(data) != s.Sum {
			err = fmt.Errorf("%w: segment %d of %s", ErrCorrupt, i, id)
		}
		if err == nil {
			err = d.segment(data, s.Sum)
		}
		if err != nil {
			return err
		}
	}
	return d.publish(kind, id, bytes.Clone(f.Tail())) // a backend may keep it beyond the file
}

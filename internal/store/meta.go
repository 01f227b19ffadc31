package store

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/txid"
)

// The object meta: magic, format version, fields as in a cell, checksum.
const (
	metaMagic   = "SKVM"
	metaVersion = 1
	metaFieldID = 1
	metaIDSize  = 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Open opens the database with the options' prefix, or creates it: one request if
// it exists. It returns an error that matches backend.ErrCorrupt for a foreign or
// damaged meta object, cell.ErrFormat for one of a newer format, and never
// backend.ErrNotFound.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{
		backend: o.Backend, rt: o.Runtime, prefix: o.Prefix,
		limit: seam.NewLimiter(o.Runtime, o.Concurrency),
	}
	id, err := s.openMeta(ctx)
	if err != nil {
		return nil, err
	}
	s.cache = o.Cache.Space(id)
	return s, nil
}

// openMeta reads the object meta, or creates it; the loser of a race reads.
func (s *Store) openMeta(ctx context.Context) (id string, err error) {
	name := s.FullName(keyspace.Meta)
	fresh := txid.New(s.rt.Uint64)
	err = s.retry(ctx, func(ctx context.Context) error {
		o, err := s.get(ctx, keyspace.Meta, "")
		if errors.Is(err, backend.ErrNotFound) {
			if err = s.createMeta(ctx, fresh); err == nil {
				id = hex.EncodeToString(fresh[:])
				return nil
			}
			if !errors.Is(err, backend.ErrPrecondition) {
				return err
			}
			o, err = s.get(ctx, keyspace.Meta, "")
		}
		if err != nil {
			return err
		}
		id, err = decodeMeta(o.Data)
		if err != nil {
			return s.damaged(keyspace.Meta, err)
		}
		return nil
	})
	if errors.Is(err, backend.ErrNotFound) {
		return "", fmt.Errorf("open %q: meta object vanished: %w", name, backend.ErrUnavailable)
	}
	if err != nil {
		return "", fmt.Errorf("open %q: %w", name, err)
	}
	return id, nil
}

func (s *Store) createMeta(ctx context.Context, id txid.ID) error {
	data := encodeMeta(id)
	_, err := s.backend.Put(ctx, s.FullName(keyspace.Meta), data, backend.IfAbsent())
	s.counts.Puts.Add(1)
	s.counts.BytesWritten.Add(int64(len(data)))
	return err
}

func encodeMeta(id txid.ID) []byte {
	b := append([]byte(metaMagic), metaVersion, metaFieldID, metaIDSize)
	b = append(b, id[:]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeMeta returns the database's id. Unknown fields follow the rule of cells:
// those below 128 must be understood.
func decodeMeta(b []byte) (string, error) {
	if len(b) < len(metaMagic)+5 || string(b[:len(metaMagic)]) != metaMagic {
		return "", errors.New("not the meta object of a StrictKV database")
	}
	if v := b[len(metaMagic)]; v != metaVersion {
		return "", fmt.Errorf("%w: found %d, supported %d", cell.ErrFormat, v, metaVersion)
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return "", errors.New("wrong checksum")
	}
	id := ""
	for rest := body[len(metaMagic)+1:]; len(rest) > 0; {
		tag := rest[0]
		n, w := binary.Uvarint(rest[1:])
		if w <= 0 || n > uint64(len(rest)-1-w) {
			return "", errors.New("truncated field")
		}
		field := rest[1+w : 1+w+int(n)]
		rest = rest[1+w+int(n):]
		switch {
		case tag == metaFieldID:
			if len(field) != metaIDSize || id != "" {
				return "", errors.New("malformed database id")
			}
			id = hex.EncodeToString(field)
		case tag < 128:
			return "", fmt.Errorf("%w: field %d", cell.ErrFormat, tag)
		}
	}
	if id == "" {
		return "", errors.New("no database id")
	}
	return id, nil
}

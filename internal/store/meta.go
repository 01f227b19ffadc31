package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"strings"
	"time"

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
	// metaFieldProbe is one that may be ignored: without it the store is taken to be
	// unprobed.
	metaFieldProbe = 128
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// meta is what the object meta tells.
type meta struct {
	id txid.ID
	// probed says that the store has been found to do what a database can't do without,
	// and deletes that it honours the condition of a DELETE too.
	probed, deletes bool
}

// Open opens the database with the options' prefix, or creates it: one request if it
// exists, and the store has been probed. Where it must exist and does not, the error is
// ErrNoDatabase. It returns an error that matches
// backend.ErrCorrupt for a foreign or damaged meta object, cell.ErrFormat for one of a
// newer format, ErrUnsupported for a store that a probe finds unfit, and never
// backend.ErrNotFound or backend.ErrOutcomeUnknown.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{
		backend: o.Backend, rt: o.Runtime, prefix: o.Prefix,
		limit: seam.NewLimiter(o.Runtime, o.Concurrency), atOnce: o.Concurrency,
		bounds:   o.Requests.bounded(),
		readOnly: o.ReadOnly, observer: o.Observer,
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s.log = o.Logger.With("database", strings.TrimSuffix(o.Prefix, "/"))
	s.near = o.Backend.Capabilities().Near
	if s.opening.Store(true); s.readOnly {
		s.backend = sealed{o.Backend}
		o.Probe = ProbeNever
	}
	if b, ok := s.backend.(backend.Batcher); ok && b.BatchMax() > 0 { // a sealed one is none
		s.batcher = b
	}
	m, err := s.openMeta(ctx, o.Probe, o.MustExist || o.ReadOnly)
	s.opening.Store(false)
	if errors.Is(err, backend.ErrNotFound) { // what has just been there
		err = fmt.Errorf("%w: an object vanished: %s", backend.ErrUnavailable, err.Error())
	}
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", s.FullName(keyspace.Meta), notWritten(err))
	}
	s.id, s.cache = m.id, o.Cache.Space(m.id.String())
	if at := s.opened; at.read || !at.told.IsZero() {
		s.cache.Saw(at.told, at.sent, at.came)
	}
	s.deletes = m.deletes && o.Backend.Capabilities().ConditionalDelete
	return s, nil
}

// openMeta reads the object meta, or creates it unless it must be there, and has the store
// probed if need be.
func (s *Store) openMeta(ctx context.Context, p Probe, must bool) (meta, error) {
	m, at, err := s.readMeta(ctx)
	switch {
	case err != nil:
		return m, err
	case at == "" && must:
		return m, ErrNoDatabase
	case at == "":
		m.id = txid.New(s.rt.Entropy)
		if p == ProbeNever {
			return s.writeMeta(ctx, m, at)
		}
	case p == ProbeNever, p == ProbeOnce && m.probed:
		return m, nil
	}
	return s.probeMeta(ctx, m, at)
}

// probeMeta probes the store, and writes down what it has found. Who may not write to a
// database that exists goes on without.
func (s *Store) probeMeta(ctx context.Context, m meta, at backend.Version) (meta, error) {
	found := meta{id: m.id, probed: true}
	t := newTrial(s)
	var err error
	found.deletes, err = t.run(ctx)
	if err == nil {
		err = seam.Each(s.rt, 3, func(i int) (err error) {
			switch {
			case i == 0:
				t.clean(ctx)
			case i == 1:
				t.askLongName(ctx)
			case m != found:
				m, err = s.writeMeta(ctx, found, at)
			}
			return err
		})
	} else if errors.Is(err, ErrUnsupported) {
		t.clean(ctx)
	}
	if at != "" && errors.Is(err, backend.ErrDenied) {
		return m, nil
	}
	return m, err
}

// readMeta reads the object meta; the version is empty if there is none.
func (s *Store) readMeta(ctx context.Context) (m meta, at backend.Version, err error) {
	err = s.retry(ctx, func(ctx context.Context) (err error) {
		m, at, err = s.getMeta(ctx)
		if errors.Is(err, backend.ErrNotFound) {
			return nil
		}
		return err
	})
	return m, at, err
}

// metaTime is the store's time when the object meta was read, or created, and when that was asked
// and answered by the process's clock. Read says that it was read: an answer without a time then
// says that those to reads tell none.
type metaTime struct {
	told, sent, came time.Time
	read             bool
}

func (s *Store) getMeta(ctx context.Context) (m meta, at backend.Version, err error) {
	sent := s.rt.Now()
	o, err := s.get(ctx, keyspace.Meta, "")
	if err != nil {
		return m, "", err
	}
	s.opened = metaTime{told: o.Time, sent: sent, came: s.rt.Now(), read: true}
	if m, err = decodeMeta(o.Data); err != nil {
		return m, "", s.damaged(keyspace.Meta, err)
	}
	return m, o.Version, nil
}

// writeMeta replaces the object meta at a version, or creates it; the loser of a race
// reads. It returns what is there.
func (s *Store) writeMeta(ctx context.Context, m meta, at backend.Version) (meta, error) {
	data, there := encodeMeta(m), m
	err := s.retry(ctx, func(ctx context.Context) error {
		sent := s.rt.Now()
		made, err := s.put(ctx, keyspace.Meta, data, expect(at))
		there = m
		switch {
		case err == nil && s.opened.told.IsZero(): // who creates it is told the time by this alone
			s.opened = metaTime{told: made.Time, sent: sent, came: s.rt.Now()}
		case classify(err) == Refused:
			there, _, err = s.getMeta(ctx)
		}
		return err
	})
	return there, err
}

// expect is the condition that an object is at a version; empty is none.
func expect(v backend.Version) backend.Condition {
	if v == "" {
		return backend.IfAbsent()
	}
	return backend.IfVersion(v)
}

func encodeMeta(m meta) []byte {
	b := append([]byte(metaMagic), metaVersion, metaFieldID, byte(len(m.id)))
	b = append(b, m.id[:]...)
	if m.probed {
		deletes := byte(0)
		if m.deletes {
			deletes = 1
		}
		b = append(b, metaFieldProbe, 1, deletes)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeMeta follows the rule of cells for unknown fields: those below 128 must be
// understood.
func decodeMeta(b []byte) (meta, error) {
	if len(b) < len(metaMagic)+5 || string(b[:len(metaMagic)]) != metaMagic {
		return meta{}, errors.New("not the meta object of a StrictKV database")
	}
	if v := b[len(metaMagic)]; v != metaVersion {
		return meta{}, fmt.Errorf("%w: found %d, supported %d", cell.ErrFormat, v, metaVersion)
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return meta{}, errors.New("wrong checksum")
	}
	var m meta
	ids := 0
	for rest := body[len(metaMagic)+1:]; len(rest) > 0; {
		tag := rest[0]
		n, w := binary.Uvarint(rest[1:])
		if w <= 0 || n > uint64(len(rest)-1-w) {
			return meta{}, errors.New("truncated field")
		}
		field := rest[1+w : 1+w+int(n)]
		rest = rest[1+w+int(n):]
		switch {
		case tag == metaFieldID && len(field) == len(m.id):
			copy(m.id[:], field)
			ids++
		case tag == metaFieldID:
			return meta{}, errors.New("malformed database id")
		case tag == metaFieldProbe && len(field) > 0:
			m.probed, m.deletes = true, field[0] == 1
		case tag < 128:
			return meta{}, fmt.Errorf("%w: field %d", cell.ErrFormat, tag)
		}
	}
	if ids != 1 {
		return meta{}, fmt.Errorf("%d database ids", ids)
	}
	return m, nil
}

// Errors of handles that may not do what they are asked to.
var (
	// ErrReadOnly: nothing may be written, by this transaction or handle.
	ErrReadOnly = errors.New("read only: nothing may be written")
	// ErrNoDatabase: there is no database, and none may be created.
	ErrNoDatabase = errors.New("no such database")
)

// ReadOnly reports whether nothing may be written.
func (s *Store) ReadOnly() bool { return s.readOnly }

// sealed is a backend that sends no write or delete, whoever asks for it: what is not meant to
// be written in the first place is stopped here.
type sealed struct{ backend.Backend }

// Put does not write, and says so.
func (sealed) Put(
	_ context.Context, name string, _ []byte, _ backend.Condition,
) (backend.Stamp, error) {
	return backend.Stamp{}, refuse("put", name)
}

// Delete does not remove, and says so.
func (sealed) Delete(_ context.Context, name string, _ backend.Version) error {
	return refuse("delete", name)
}

// refuse is the error of a write that was not sent, and must not be tried again.
func refuse(call, name string) error {
	return fmt.Errorf("%s %q: %w: %w", call, name, ErrReadOnly, backend.ErrDenied)
}

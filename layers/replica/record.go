package replica

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
)

// The stored form. A copy of another format is thrown away: with any change to what follows,
// format changes.
//
//	h                              the header: format, and what the copy is of
//	s                              the status
//	r, collection (2 bytes), key   a record
//	v, collection (2 bytes), key   the value of a record, if that is large
//	l, sequence number (8 bytes)   an entry of the log: flags, collection (2 bytes), key
//
// A record is flags, state (16 bytes), version (16), when it expires (8; nanoseconds since 1970, 0
// for never), the sequence number of its entry (8), and the value, unless that is large. Numbers
// are big-endian.
const (
	format = 1

	keyHeader = 'h'
	keyStatus = 's'
	keyRecord = 'r'
	keyLarge  = 'v'
	keyLog    = 'l'

	collectionSize = 2
	cellHead       = 1 + collectionSize
	logKeySize     = 1 + 8
	recordHead     = 1 + 16 + 16 + 8 + 8

	// largeMin is the size of the smallest value that is kept beside its record, in bytes, so that
	// a pass, which reads all records, does not read it.
	largeMin = 2 << 10

	flagLarge   = 1 // of a record
	flagDeleted = 1 // of an entry
)

var errRecord = fmt.Errorf("%w: a record is not what one can be", errDamage)

// cellKey is the key of a record, or of its large value, appended to b.
func cellKey(b []byte, kind byte, collection int, key []byte) []byte {
	b = binary.BigEndian.AppendUint16(append(b, kind), uint16(collection))
	return append(b, key...)
}

func logKey(seq uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{keyLog}, seq)
}

// record is what is kept of a key.
type record struct {
	large   bool
	state   strictkv.State
	version [16]byte
	expires int64
	seq     uint64
	value   []byte // nil if it is large
}

func (r *record) encode() []byte {
	b := make([]byte, 0, recordHead+len(r.value))
	flags := byte(0)
	if r.large {
		flags = flagLarge
	}
	b = append(append(append(b, flags), r.state[:]...), r.version[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.expires))
	b = binary.BigEndian.AppendUint64(b, r.seq)
	if r.large {
		return b
	}
	return append(b, r.value...)
}

// decode makes r what b says. The value stays a part of b.
func (r *record) decode(b []byte) error {
	if len(b) < recordHead || b[0] > flagLarge {
		return errRecord
	}
	r.large = b[0] == flagLarge
	copy(r.state[:], b[1:])
	copy(r.version[:], b[17:])
	r.expires = int64(binary.BigEndian.Uint64(b[33:]))
	r.seq = binary.BigEndian.Uint64(b[41:])
	r.value = b[recordHead:]
	if r.expires < 0 || r.large && len(r.value) > 0 {
		return errRecord
	}
	return nil
}

// due reports whether the value has expired.
func (r *record) due(now time.Time) bool {
	return r.expires != 0 && r.expires <= now.UnixNano()
}

// instant is a time in nanoseconds since 1970; 0 is none.
func instant(nanoseconds int64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds)
}

func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// versionOf turns a Version into bytes, whose text is their hexadecimal form.
func versionOf(v strictkv.Version) (b [16]byte) {
	_, _ = hex.Decode(b[:], []byte(v.String())) // zero stays so
	return b
}

func versionFrom(b [16]byte) (strictkv.Version, error) {
	if b == ([16]byte{}) {
		return strictkv.Version{}, nil
	}
	return strictkv.ParseVersion(hex.EncodeToString(b[:]))
}

// entry is one of the log.
type entry struct {
	deleted    bool
	collection int
	key        []byte
}

func (e *entry) encode() []byte {
	flags := byte(0)
	if e.deleted {
		flags = flagDeleted
	}
	return cellKey(nil, flags, e.collection, e.key)
}

func (e *entry) decode(b []byte) error {
	if len(b) <= cellHead || b[0] > flagDeleted {
		return errRecord
	}
	e.deleted = b[0] == flagDeleted
	e.collection = int(binary.BigEndian.Uint16(b[1:]))
	e.key = b[cellHead:]
	return nil
}

// status is how far the copy is.
type status struct {
	// complete says that a whole pass has been applied; torn that a block of Instant has been in
	// part, so that the copy is at no instant.
	complete, torn bool
	// seen is when the last whole pass began, and at the last instant, in nanoseconds since 1970.
	seen, at int64
	// last is the last entry's sequence number, trimmed that of the last one that was trimmed.
	last, trimmed uint64
	// entries counts those of the log.
	entries uint64
	// generation counts how often the copy has been opened. It is the higher half of the sequence
	// numbers that are given since.
	generation uint64
}

const statusSize = 2 + 6*8

func (s *status) encode() []byte {
	b := make([]byte, 2, statusSize)
	for i, is := range []bool{s.complete, s.torn} {
		if is {
			b[i] = 1
		}
	}
	for _, n := range []uint64{uint64(s.seen), uint64(s.at), s.last, s.trimmed, s.entries,
		s.generation} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

func (s *status) decode(b []byte) error {
	if len(b) != statusSize {
		return fmt.Errorf("status: %w", errRecord)
	}
	s.complete, s.torn = b[0] == 1, b[1] == 1
	n := func(i int) uint64 { return binary.BigEndian.Uint64(b[2+8*i:]) }
	s.seen, s.at, s.last, s.trimmed, s.entries = int64(n(0)), int64(n(1)), n(2), n(3), n(4)
	s.generation = n(5)
	return nil
}

// header says what a copy is of.
type header struct {
	database []byte // its identity
	mode     Mode
	paths    [][]byte // of the collections, encoded, in order
}

func (h *header) encode() []byte {
	b := []byte{format, byte(h.mode)}
	for _, part := range append([][]byte{h.database}, h.paths...) {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}

// pathOf is the names of a collection, in one.
func pathOf(c *strictkv.Collection) []byte {
	var b []byte
	for _, name := range c.Path() {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(name))), name...)
	}
	return b
}

// seqOf is the sequence number in the key of an entry.
func seqOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[1:]) }

// incarnationSize is that of what a copy draws when it is made, which its header ends with.
const incarnationSize = 8

// splitHeader takes a stored header apart; what fails is no header.
func splitHeader(b []byte) (head []byte, incarnation [incarnationSize]byte, ok bool) {
	if len(b) < incarnationSize {
		return nil, incarnation, false
	}
	head, tail := b[:len(b)-incarnationSize], b[len(b)-incarnationSize:]
	copy(incarnation[:], tail)
	return bytes.Clone(head), incarnation, true
}

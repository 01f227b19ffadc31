// Package table is the format of a snapshot's files: sorted entries in blocks with checksums,
// blocks in segments with indexes, segments in a file whose name is a hash of all of it.
// docs/snapshot.md describes it byte by byte.
package table

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/strictkv/strictkv/backend"
)

// The errors of this package.
var (
	// ErrCorrupt: bytes are not as they were written. Don't retry.
	ErrCorrupt = backend.ErrCorrupt
	// ErrFormat: the file was written by a newer version. Don't retry.
	ErrFormat = errors.New("snapshot of a newer format")
	// ErrEntry: an entry that no file can hold. Don't retry.
	ErrEntry = fmt.Errorf("no entry of a snapshot: %w", backend.ErrInvalid)
	// ErrOrder: an entry out of order. Don't retry.
	ErrOrder = errors.New("out of order")
)

// Source gives the bytes of a file's segments. It may be called concurrently.
type Source interface {
	// Bytes returns n bytes of a segment from an offset in it, which stay as they are until Close.
	// They are checked if they are known to be what was written.
	Bytes(ctx context.Context, s *Segment, offset, n int64) (data []byte, checked bool, err error)
	// Close ends the use of all bytes.
	Close() error
}

// File is an open file.
type File struct {
	// Name is the file's.
	Name Sum
	Meta
	// Size is in bytes; Entries counts all entries, and Deletes those that are deletions.
	Size, Entries, Deletes int64

	src  Source
	tail []byte
	top  block
	// mapped is the file in memory, and seen has a bit for each block of it that was checked. Both
	// are nil if a block must be read and checked each time.
	mapped []byte
	seen   []atomic.Uint64
	closed atomic.Bool
}

// TailSize tells from the last bytes of a file, as many as FooterSize or more, how many bytes what
// New wants as the tail has.
func TailSize(end []byte) (int64, error) {
	if len(end) < footerSize {
		return 0, fmt.Errorf("%w: it has %d bytes", ErrCorrupt, len(end))
	}
	f, err := parseFooter(end[len(end)-footerSize:])
	if err != nil {
		return 0, err
	}
	if f.topLength < blockTail || f.topLength > TailMax {
		return 0, fmt.Errorf("%w: an index of %d bytes", ErrCorrupt, f.topLength)
	}
	return f.topLength + FooterSize, nil
}

// FooterSize is how many bytes TailSize wants.
const FooterSize = int64(footerSize)

// New opens a file with a tail, which must stay as it is. It closes the source if that fails.
func New(tail []byte, src Source) (*File, error) {
	f, err := newFile(tail, src)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return f, nil
}

func newFile(tail []byte, src Source) (*File, error) {
	n, err := TailSize(tail)
	if err != nil {
		return nil, err
	}
	if n != int64(len(tail)) {
		return nil, fmt.Errorf("%w: a tail of %d bytes, not %d", ErrCorrupt, n, len(tail))
	}
	foot, err := parseFooter(tail[n-FooterSize:])
	if err != nil {
		return nil, err
	}
	raw := tail[:foot.topLength]
	if err := checkBlock(raw); err != nil {
		return nil, err
	}
	f := &File{
		Name: sha256.Sum256(tail), Meta: foot.Meta, Size: foot.top + n,
		Entries: foot.entries, Deletes: foot.deletes, src: src, tail: tail,
	}
	if f.top, err = parseBlock(raw); err != nil {
		return nil, err
	}
	if foot.blocks > foot.top/blockTail {
		return nil, fmt.Errorf("%w: %d blocks in %d bytes", ErrCorrupt, foot.blocks, foot.top)
	}
	if m, ok := src.(*mappedSource); ok {
		if f.Size != int64(len(m.data)) { // before memory is taken for as many blocks as it says
			return nil, fmt.Errorf("%w: it has %d bytes, not %d", ErrCorrupt, len(m.data), f.Size)
		}
		f.mapped, f.seen = m.data, make([]atomic.Uint64, foot.blocks/64+1)
	}
	return f, nil
}

// Close closes the source. Nothing that came from the file may be used any more. A second one does
// nothing: what is mapped at the same place by then may be another file.
func (f *File) Close() error {
	if f.closed.Swap(true) {
		return nil
	}
	return f.src.Close()
}

// Tail is what follows the segments.
func (f *File) Tail() []byte { return f.tail }

// Segments is how many segments the file has.
func (f *File) Segments() int { return f.top.n }

// Segment is the i-th segment.
func (f *File) Segment(i int) (Segment, error) {
	e, err := f.top.entry(i)
	if err != nil {
		return Segment{}, err
	}
	s, ok := parseSegment(e.Value)
	if !ok || s.Offset+s.Length > f.Size-int64(len(f.tail)) {
		return Segment{}, fmt.Errorf("%w: segment %d of %x", ErrCorrupt, i, f.Name)
	}
	return s, nil
}

// Raw returns the bytes of the i-th segment, which are not checked.
func (f *File) Raw(ctx context.Context, i int) (Segment, []byte, error) {
	s, err := f.Segment(i)
	if err != nil {
		return s, nil, err
	}
	raw, _, err := f.src.Bytes(ctx, &s, 0, s.Length)
	return s, raw, err
}

// block returns a block that has been checked.
func (f *File) block(ctx context.Context, s *Segment, at place) (block, error) {
	var raw []byte
	checked := false
	if f.mapped != nil {
		from := s.Offset + at.offset
		raw = f.mapped[from : from+at.length]
	} else {
		var err error
		segment := *s // what is given to an interface goes to the heap
		if raw, checked, err = f.src.Bytes(ctx, &segment, at.offset, at.length); err != nil {
			return block{}, err
		}
	}
	if !checked && !f.wasSeen(at.ordinal) {
		if err := checkBlock(raw); err != nil {
			return block{}, fmt.Errorf("%w: at %d of %x", err, s.Offset+at.offset, f.Name)
		}
		f.see(at.ordinal)
	}
	return parseBlock(raw)
}

func (f *File) wasSeen(ordinal int64) bool {
	i := ordinal / 64
	return i < int64(len(f.seen)) && f.seen[i].Load()&(1<<(ordinal%64)) != 0
}

func (f *File) see(ordinal int64) {
	if i := ordinal / 64; i < int64(len(f.seen)) {
		f.seen[i].Or(1 << (ordinal % 64))
	}
}

// place is where a block is in its segment.
type place struct{ offset, length, ordinal int64 }

func (s *Segment) indexPlace() place { return place{s.Length - s.index, s.index, s.ordinal} }

// blockPlace is where the index of a segment says that its i-th block is.
func blockPlace(index *block, s *Segment, i int) (place, error) {
	e, err := index.entry(i)
	if err != nil {
		return place{}, err
	}
	offset, w := binary.Uvarint(e.Value)
	if w <= 0 {
		return place{}, fmt.Errorf("%w: entry %d of an index", ErrCorrupt, i)
	}
	length, v := binary.Uvarint(e.Value[w:])
	end := uint64(s.Length - s.index)
	if v <= 0 || w+v != len(e.Value) || offset > end || length > end-offset {
		return place{}, fmt.Errorf("%w: entry %d of an index", ErrCorrupt, i)
	}
	return place{int64(offset), int64(length), s.ordinal + 1 + int64(i)}, nil
}

// before is the last entry whose key is not greater; less than 0 if there is none.
func (b *block) before(key []byte) int {
	i, equal := b.search(key)
	if !equal {
		i--
	}
	return i
}

// Find returns the entry of a key, which may be a deletion, without its key, and whether there is
// one. It takes no memory if the file is mapped.
func (f *File) Find(ctx context.Context, key []byte) (e Entry, found bool, err error) {
	i := f.top.before(key)
	if i < 0 {
		return Entry{}, false, nil
	}
	s, err := f.Segment(i)
	if err != nil {
		return Entry{}, false, err
	}
	index, err := f.block(ctx, &s, s.indexPlace())
	if err != nil {
		return Entry{}, false, err
	}
	j := index.before(key)
	if j < 0 {
		return Entry{}, false, nil
	}
	at, err := blockPlace(&index, &s, j)
	if err != nil {
		return Entry{}, false, err
	}
	b, err := f.block(ctx, &s, at)
	if err != nil {
		return Entry{}, false, err
	}
	k, found := b.search(key)
	if !found {
		return Entry{}, false, nil
	}
	e, err = b.entry(k)
	e.Key = nil
	return e, err == nil, err
}

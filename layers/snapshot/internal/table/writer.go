package table

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"
)

// Sizes that the writer aims at. Files that were written with others can be read.
const (
	// blockSize is what a block has at most, in bytes, unless one entry alone has more: a page.
	blockSize = 4096
	// segmentSize is what segments have on average, and segmentMin and segmentMax bound them, but
	// that the last may be smaller, and one that ends with a large value larger.
	segmentSize = 1 << 20
	segmentMin  = segmentSize / 4
	segmentMax  = segmentSize * 4
)

// Sum is a SHA-256.
type Sum = [sha256.Size]byte

// Meta is what the footer of a file tells beside its entries.
type Meta struct {
	// Base is the name of the file that this is a layer on; zero is none.
	Base Sum
	// Length is how many keys have a value, those of the bases included.
	Length int64
	// Instant is when what is in the file was so; zero if that is not told here.
	Instant time.Time
	// ItemWise says that each entry was so at an instant of its own, up to Instant.
	ItemWise bool
}

// Writer makes a file of entries that come in the order of their keys. It keeps a segment in
// memory.
//
// Where a segment ends is decided by the entries in it alone, mostly by the last one: so two files
// that have a range in common have most segments of it in common.
type Writer struct {
	sink    func(segment []byte, sum Sum) error
	block   blockWriter
	index   blockWriter // of the segment
	top     blockWriter
	segment []byte
	arena   []byte // keys and values of the block
	last    []byte
	offset  int64 // of the segment
	ordinal int64 // of the segment's index
	content int   // bytes of keys and values in the segment
	blocks  int64 // in the segment
	entries int64
	deletes int64
}

// NewWriter returns a Writer that gives each segment, in their order, to sink, which must not keep
// the bytes.
func NewWriter(sink func(segment []byte, sum Sum) error) *Writer { return &Writer{sink: sink} }

// Add adds an entry. Errors: ErrEntry, ErrOrder if its key is not greater than the one before, and
// the sink's.
func (w *Writer) Add(e Entry) error {
	if err := e.Check(); err != nil {
		return err
	}
	if w.entries > 0 && bytes.Compare(e.Key, w.last) <= 0 {
		return fmt.Errorf("%w: %.100q after %.100q", ErrOrder, e.Key, w.last)
	}
	size := len(e.Key) + len(e.Value) + entryOverhead
	if len(w.block.entries) > 0 && w.block.size+size > blockSize-blockTail {
		w.endBlock()
	}
	w.last = append(w.last[:0], e.Key...)
	// A new array leaves those before, which entries point to, as they are.
	at := len(w.arena)
	w.arena = append(append(w.arena, e.Key...), e.Value...)
	mid := at + len(e.Key)
	w.block.add(Entry{w.arena[at:mid:mid], w.arena[mid:], e.Expires, e.Deleted})
	w.entries++
	if e.Deleted {
		w.deletes++
	}
	if w.content += size; w.cuts(e.Key, size) {
		return w.endSegment()
	}
	return nil
}

// cuts reports whether a segment ends with an entry: with a probability that makes segments have
// their size on average, decided by its key.
func (w *Writer) cuts(key []byte, size int) bool {
	if w.content < segmentMin {
		return false
	}
	chance := uint64(size) << 32 / (segmentSize - segmentMin)
	return w.content >= segmentMax || scatter(key)>>32 < chance
}

// scatter is a number that a key decides, and hardly another one: FNV-1a, and the last steps of
// MurmurHash3, without which keys that follow each other have numbers that do so too.
func scatter(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range key {
		h = (h ^ uint64(b)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func (w *Writer) endBlock() {
	first := bytes.Clone(w.block.entries[0].Key)
	start := len(w.segment)
	w.segment = w.block.appendTo(w.segment)
	value := binary.AppendUvarint(nil, uint64(start))
	value = binary.AppendUvarint(value, uint64(len(w.segment)-start))
	w.index.add(Entry{Key: first, Value: value})
	w.arena = w.arena[:0]
	w.blocks++
}

func (w *Writer) endSegment() error {
	if len(w.block.entries) > 0 {
		w.endBlock()
	}
	if w.blocks == 0 {
		return nil
	}
	first := w.index.entries[0].Key
	start := len(w.segment)
	w.segment = w.index.appendTo(w.segment)
	s := Segment{
		Offset: w.offset, Length: int64(len(w.segment)), index: int64(len(w.segment) - start),
		ordinal: w.ordinal, Sum: sha256.Sum256(w.segment),
	}
	w.top.add(Entry{Key: first, Value: s.append(nil)})
	if err := w.sink(w.segment, s.Sum); err != nil {
		return err
	}
	w.offset += s.Length
	w.ordinal += 1 + w.blocks
	w.segment, w.content, w.blocks = w.segment[:0], 0, 0
	return nil
}

// Finish ends the last segment, and returns what follows the segments in the file: an index of
// them, and the footer. The name of the file is its sum, which is one of all the file's content, as
// the index has the sums of the segments. A Length below zero stands for the number of entries.
func (w *Writer) Finish(m Meta) (tail []byte, name Sum, err error) {
	if err := w.endSegment(); err != nil {
		return nil, Sum{}, err
	}
	if m.Length < 0 {
		m.Length = w.entries
	}
	tail = w.top.appendTo(nil)
	f := footer{
		Meta: m, top: w.offset, topLength: int64(len(tail)), blocks: w.ordinal,
		entries: w.entries, deletes: w.deletes,
	}
	tail = f.append(tail)
	return tail, sha256.Sum256(tail), nil
}

// Entries is how many entries have been added.
func (w *Writer) Entries() int64 { return w.entries }

// Segment is where a segment is in its file, and its sum.
type Segment struct {
	Offset, Length int64
	Sum            Sum

	index   int64 // length of the index, which is the last block
	ordinal int64 // number of the index among the blocks of the file; its blocks follow
}

const segmentEntrySize = 4*8 + sha256.Size

func (s *Segment) append(buf []byte) []byte {
	for _, x := range []int64{s.Offset, s.Length, s.index, s.ordinal} {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(x))
	}
	return append(buf, s.Sum[:]...)
}

// parseSegment reads an entry of the top index.
func parseSegment(value []byte) (s Segment, ok bool) {
	if len(value) != segmentEntrySize {
		return s, false
	}
	for i, x := range []*int64{&s.Offset, &s.Length, &s.index, &s.ordinal} {
		*x = int64(binary.LittleEndian.Uint64(value[8*i:]))
	}
	copy(s.Sum[:], value[4*8:])
	ok = s.Offset >= 0 && s.index > 0 && s.index <= s.Length && s.ordinal >= 0 &&
		s.Offset+s.Length > s.Offset
	return s, ok
}

// footer is the end of a file, of a fixed size.
type footer struct {
	Meta
	top, topLength, blocks, entries, deletes int64
}

const (
	magic      = "SKVSNAP1"
	footerSize = 7*8 + sha256.Size + 4 + crcSize + len(magic)
	// TailMax bounds what is read to open a file: some 4 million segments.
	TailMax = 1 << 30
)

const flagItemWise = 1

func (f *footer) append(buf []byte) []byte {
	start := len(buf)
	instant := int64(0)
	if !f.Instant.IsZero() {
		instant = f.Instant.UnixNano()
	}
	for _, x := range []int64{
		f.top, f.topLength, f.blocks, f.entries, f.deletes, f.Length, instant,
	} {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(x))
	}
	buf = append(buf, f.Base[:]...)
	flags := uint32(0)
	if f.ItemWise {
		flags = flagItemWise
	}
	buf = binary.LittleEndian.AppendUint32(buf, flags)
	buf = binary.LittleEndian.AppendUint32(buf, crc32.Checksum(buf[start:], castagnoli))
	return append(buf, magic...)
}

func parseFooter(raw []byte) (f footer, err error) {
	if len(raw) != footerSize || string(raw[footerSize-len(magic):]) != magic {
		return f, fmt.Errorf("%w: it does not end as a snapshot does", ErrCorrupt)
	}
	body := raw[:footerSize-len(magic)-crcSize]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(raw[len(body):]) {
		return f, fmt.Errorf("%w: the footer's checksum does not match", ErrCorrupt)
	}
	var instant int64
	for i, x := range []*int64{
		&f.top, &f.topLength, &f.blocks, &f.entries, &f.deletes, &f.Length, &instant,
	} {
		if *x = int64(binary.LittleEndian.Uint64(body[8*i:])); *x < 0 {
			return f, fmt.Errorf("%w: the footer has a negative number", ErrCorrupt)
		}
	}
	if instant != 0 {
		f.Instant = time.Unix(0, instant)
	}
	copy(f.Base[:], body[7*8:])
	flags := binary.LittleEndian.Uint32(body[7*8+sha256.Size:])
	if flags&^flagItemWise != 0 {
		return f, fmt.Errorf("%w: flags %#x", ErrFormat, flags)
	}
	f.ItemWise = flags&flagItemWise != 0
	return f, nil
}

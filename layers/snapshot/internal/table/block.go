package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"
)

// Limits of an entry.
const (
	// KeyMax is the length of the longest key, in bytes.
	KeyMax = 4096
	// ValueMax is the size of the largest value, in bytes: 64 MiB.
	ValueMax = 64 << 20
)

// Entry is a key with its value, or with the news that it has none any more.
type Entry struct {
	Key, Value []byte
	// Expires is when the value expires, in nanoseconds since 1970; 0 is never.
	Expires int64
	// Deleted says that the key has no value, whatever the base of the file has.
	Deleted bool
}

// Check refuses what no file can hold.
func (e Entry) Check() error {
	switch {
	case len(e.Key) == 0 || len(e.Key) > KeyMax:
		return fmt.Errorf("%w: a key of %d bytes: want 1 to %d", ErrEntry, len(e.Key), KeyMax)
	case len(e.Value) > ValueMax:
		return fmt.Errorf("%w: a value of %d bytes: want %d at most", ErrEntry, len(e.Value),
			ValueMax)
	case e.Expires < 0 || e.Expires > 0 && e.Deleted || len(e.Value) > 0 && e.Deleted:
		return fmt.Errorf("%w: a deletion with a value, or an end before 1970", ErrEntry)
	}
	return nil
}

// Time is when the value expires; the zero time is never.
func (e Entry) Time() time.Time {
	if e.Expires == 0 {
		return time.Time{}
	}
	return time.Unix(0, e.Expires)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	crcSize    = 4
	blockTail  = 2 + 4 + crcSize // length of the prefix, number of entries, checksum
	wideOffset = 1 << 31         // set in the number: offsets have 4 bytes, not 2
	narrowMax  = 1 << 16

	flagDeleted = 1
	flagExpires = 2
	flagBits    = 2
)

// block is a sorted run of entries, in which each is a restart point: a key is found by bisection.
//
//	entries | offsets of them | prefix of all keys | its length (2) | their number (4) | CRC32C
//
// (4)
//
// An entry is the length of its key behind the prefix, that of its value with two flags, when it
// expires if the flag says so, the key behind the prefix, and the value.
type block struct {
	data    []byte // entries
	offsets []byte
	prefix  []byte
	n       int
	wide    bool
}

// parseBlock takes a block apart. The checksum is the caller's matter, but nothing that the bytes
// say makes this or any method panic.
func parseBlock(raw []byte) (b block, err error) {
	if len(raw) < blockTail {
		return b, fmt.Errorf("%w: a block of %d bytes", ErrCorrupt, len(raw))
	}
	tail := raw[len(raw)-blockTail:]
	prefix := int(binary.LittleEndian.Uint16(tail))
	n := binary.LittleEndian.Uint32(tail[2:])
	b.wide, b.n = n&wideOffset != 0, int(n&^wideOffset)
	offsets := len(raw) - blockTail - prefix - b.n*b.offsetSize()
	if offsets < 0 || b.n > len(raw) {
		return block{}, fmt.Errorf("%w: a block of %d bytes with %d entries", ErrCorrupt,
			len(raw), b.n)
	}
	end := len(raw) - blockTail
	b.data, b.offsets, b.prefix = raw[:offsets], raw[offsets:end-prefix], raw[end-prefix:end]
	return b, nil
}

// checkBlock compares a block's bytes with their checksum.
func checkBlock(raw []byte) error {
	if len(raw) < blockTail {
		return fmt.Errorf("%w: a block of %d bytes", ErrCorrupt, len(raw))
	}
	body, sum := raw[:len(raw)-crcSize], raw[len(raw)-crcSize:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(sum) {
		return fmt.Errorf("%w: a block's checksum does not match", ErrCorrupt)
	}
	return nil
}

func (b *block) offsetSize() int {
	if b.wide {
		return 4
	}
	return 2
}

// rest is where an entry begins, and all behind it; nothing if its offset is beyond the end.
func (b *block) rest(i int) []byte {
	at := 0
	if b.wide {
		at = int(binary.LittleEndian.Uint32(b.offsets[4*i:]))
	} else {
		at = int(binary.LittleEndian.Uint16(b.offsets[2*i:]))
	}
	return b.data[min(at, len(b.data)):]
}

// suffix is an entry's key behind the prefix; false if it is malformed.
func (b *block) suffix(i int) ([]byte, bool) {
	p := b.rest(i)
	if len(p) > 2 && p[0] < 0x80 && p[1] < 0x80 && p[1]&flagExpires == 0 { // as most are
		if n := int(p[0]); 2+n <= len(p) {
			return p[2 : 2+n], true
		}
		return nil, false
	}
	var e Entry
	ok := splitEntry(p, &e)
	return e.Key, ok
}

// entry is the entry at i, of which Key has what is behind the prefix.
func (b *block) entry(i int) (e Entry, err error) {
	err = b.into(&e, i)
	return e, err
}

// into is entry for what is there already.
func (b *block) into(e *Entry, i int) error {
	if !splitEntry(b.rest(i), e) {
		return fmt.Errorf("%w: entry %d of a block is malformed", ErrCorrupt, i)
	}
	return nil
}

// splitEntry takes an entry apart that begins at p.
func splitEntry(p []byte, e *Entry) bool {
	n, w := uvarint(p)
	if w <= 0 {
		return false
	}
	p = p[w:]
	size, w := uvarint(p)
	if w <= 0 {
		return false
	}
	p = p[w:]
	if e.Expires = 0; size&flagExpires != 0 {
		if len(p) < 8 {
			return false
		}
		e.Expires, p = int64(binary.LittleEndian.Uint64(p)), p[8:]
	}
	e.Deleted, size = size&flagDeleted != 0, size>>flagBits
	if n > KeyMax || size > ValueMax || uint64(len(p)) < n+size {
		return false
	}
	e.Key, e.Value = p[:n:n], p[n:n+size:n+size]
	return true
}

// uvarint is binary.Uvarint, quicker for what most entries have.
func uvarint(p []byte) (uint64, int) {
	if len(p) >= 2 {
		if p[0] < 0x80 {
			return uint64(p[0]), 1
		}
		if p[1] < 0x80 {
			return uint64(p[0]&0x7f) | uint64(p[1])<<7, 2
		}
	}
	return binary.Uvarint(p)
}

// search is the place of the first entry with a key that is not less, and whether that is equal.
func (b *block) search(key []byte) (at int, equal bool) {
	n := min(len(key), len(b.prefix))
	switch c := bytes.Compare(key[:n], b.prefix); {
	case c < 0: // also a key that is a beginning of the prefix
		return 0, false
	case c > 0:
		return b.n, false
	}
	key = key[n:]
	lo, hi := 0, b.n
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		s, ok := b.suffix(mid)
		switch c := bytes.Compare(s, key); {
		case !ok || c > 0:
			hi = mid
		case c < 0:
			lo = mid + 1
		default:
			return mid, true
		}
	}
	return lo, false
}

// blockWriter makes a block.
type blockWriter struct {
	entries []Entry
	size    int // of the entries, without the prefix taken away
}

// add takes an entry, whose bytes must stay until finish.
func (w *blockWriter) add(e Entry) {
	w.entries = append(w.entries, e)
	w.size += len(e.Key) + len(e.Value) + entryOverhead
}

// entryOverhead is about what an entry takes beside key and value.
const entryOverhead = 6

// appendTo appends the block to buf, and empties the writer.
func (w *blockWriter) appendTo(buf []byte) []byte {
	prefix := 0
	if n := len(w.entries); n > 0 { // they are sorted
		prefix = common(w.entries[0].Key, w.entries[n-1].Key)
	}
	start := len(buf)
	offsets := make([]uint32, 0, len(w.entries))
	for _, e := range w.entries {
		offsets = append(offsets, uint32(len(buf)-start))
		buf = appendEntry(buf, e, prefix)
	}
	n, wide := uint32(len(w.entries)), false
	if len(offsets) > 0 && offsets[len(offsets)-1] >= narrowMax {
		n, wide = n|wideOffset, true
	}
	for _, o := range offsets {
		if wide {
			buf = binary.LittleEndian.AppendUint32(buf, o)
		} else {
			buf = binary.LittleEndian.AppendUint16(buf, uint16(o))
		}
	}
	if len(w.entries) > 0 {
		buf = append(buf, w.entries[0].Key[:prefix]...)
	}
	buf = binary.LittleEndian.AppendUint16(buf, uint16(prefix))
	buf = binary.LittleEndian.AppendUint32(buf, n)
	w.entries, w.size = w.entries[:0], 0
	return binary.LittleEndian.AppendUint32(buf, crc32.Checksum(buf[start:], castagnoli))
}

func appendEntry(buf []byte, e Entry, prefix int) []byte {
	size := uint64(len(e.Value)) << flagBits
	if e.Deleted {
		size |= flagDeleted
	}
	if e.Expires != 0 {
		size |= flagExpires
	}
	buf = binary.AppendUvarint(buf, uint64(len(e.Key)-prefix))
	buf = binary.AppendUvarint(buf, size)
	if e.Expires != 0 {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(e.Expires))
	}
	return append(append(buf, e.Key[prefix:]...), e.Value...)
}

// common is how many bytes two keys begin with that are equal.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

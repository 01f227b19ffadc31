package recordlog

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
)

// The stored format, in full in docs/format.md. A segment is its head, and records to its end:
//
//	magic, version, zeros
//	checksum of the rest of the head, checksum of the body, lengths; key, version, data
//
// The head has a checksum of its own, so that a log can be opened without reading the data.
const (
	magic         = "SKVL"
	formatVersion = 1
	segmentHead   = 8
	recordHead    = 16
	textMax       = math.MaxUint16 // bytes of a key, and of a version
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segmentStart is how a segment begins.
func segmentStart() []byte { return append([]byte(magic), formatVersion, 0, 0, 0) }

// head is what precedes a record's bytes.
type head struct {
	sum          uint32 // of the body
	data         uint32 // bytes
	key, version uint16 // bytes
}

func (h head) body() int64 { return int64(h.key) + int64(h.version) + int64(h.data) }

// size is what the record takes in a segment.
func (h head) size() int64 { return recordHead + h.body() }

// sizeOf is what a record takes in a segment.
func sizeOf(key, version string, data []byte) int64 {
	return recordHead + int64(len(key)) + int64(len(version)) + int64(len(data))
}

// appendRecord appends a record, whose parts are within their limits.
func appendRecord(b []byte, key, version string, data []byte) []byte {
	at := len(b)
	b = append(b, make([]byte, recordHead)...)
	b = append(b, key...)
	b = append(b, version...)
	b = append(b, data...)
	h := b[at : at+recordHead]
	binary.LittleEndian.PutUint32(h[4:], crc32.Checksum(b[at+recordHead:], castagnoli))
	binary.LittleEndian.PutUint32(h[8:], uint32(len(data)))
	binary.LittleEndian.PutUint16(h[12:], uint16(len(key)))
	binary.LittleEndian.PutUint16(h[14:], uint16(len(version)))
	binary.LittleEndian.PutUint32(h, crc32.Checksum(h[4:], castagnoli))
	return b
}

// parseHead returns the head that b begins with, unless it is damaged or there is none.
func parseHead(b []byte) (h head, ok bool) {
	if len(b) < recordHead ||
		binary.LittleEndian.Uint32(b) != crc32.Checksum(b[4:recordHead], castagnoli) {
		return head{}, false
	}
	return head{
		sum: binary.LittleEndian.Uint32(b[4:]), data: binary.LittleEndian.Uint32(b[8:]),
		key: binary.LittleEndian.Uint16(b[12:]), version: binary.LittleEndian.Uint16(b[14:]),
	}, true
}

// decode returns the record that b is, unless it is damaged. The data share b's bytes.
func decode(b []byte) (key, version string, data []byte, ok bool) {
	h, ok := parseHead(b)
	if !ok || h.size() != int64(len(b)) || !h.matches(b[recordHead:]) {
		return "", "", nil, false
	}
	b = b[recordHead:]
	versionEnd := int(h.key) + int(h.version)
	return string(b[:h.key]), string(b[h.key:versionEnd]), b[versionEnd:], true
}

// matches reports whether the bytes are the body that was written.
func (h head) matches(body []byte) bool { return crc32.Checksum(body, castagnoli) == h.sum }

// walk goes through the records of a segment of size bytes, up to the first head that is damaged
// or tells of more bytes than there are, and returns where the last good record ends; 0 if the
// segment's own head is not as it should be. With bodies it passes over records whose bodies are
// damaged, and counts them; without, it does not read those. The key is each's until it returns.
func walk(
	r io.ReaderAt, size int64, bodies bool, each func(key []byte, offset, size int64),
) (end, damaged int64) {
	w := window{r: r, size: size}
	if b := w.bytes(0, segmentHead); string(b) != string(segmentStart()) {
		return 0, 0
	}
	end = segmentHead
	for at := end; ; {
		h, ok := parseHead(w.bytes(at, recordHead))
		if !ok || at+h.size() > size {
			return end, damaged
		}
		if !bodies || h.matches(w.bytes(at+recordHead, h.body())) {
			key := w.bytes(at+recordHead, int64(h.key))
			if len(key) < int(h.key) {
				return end, damaged
			}
			each(key, at, h.size())
			end = at + h.size()
		} else {
			damaged++
		}
		at += h.size()
	}
}

// windowSize is how much of a file is read at once, in bytes.
const windowSize = 32 << 10

// window is the part of a file that was read last.
type window struct {
	r    io.ReaderAt
	size int64 // of the file
	at   int64
	held []byte
	room []byte
}

// bytes returns n bytes, or nil if there are less, or they can't be read.
func (w *window) bytes(at, n int64) []byte {
	if at+n > w.size {
		return nil
	}
	if at < w.at || at+n > w.at+int64(len(w.held)) {
		take := min(max(n, windowSize), w.size-at)
		if int64(len(w.room)) < take {
			w.room = make([]byte, take)
		}
		got, err := w.r.ReadAt(w.room[:take], at)
		if err != nil && int64(got) < n {
			w.held = nil
			return nil
		}
		w.at, w.held = at, w.room[:got]
	}
	return w.held[at-w.at : at-w.at+n]
}

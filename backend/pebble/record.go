package pebble

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/strictkv/strictkv/backend"
)

// Keys of the engine are an object's name behind keyObject, or the id of a file behind keyFile.
// Of a file, the value is empty. The value of an object, integers in big endian:
//
//	0   1 byte   kind: inline, or in a file
//	1   16 bytes the version
//	17  int64    time of the write, in nanoseconds since 1970: no more than stampMax before it
//	             took effect
//	25           inline: the data
//	25  16 bytes in a file: its id
//	41  uint64   length of the data
//	49  uint32   CRC32C of the data
//
// The engine has checksums of all that.
const (
	keyFile   = 'f'
	keyObject = 'o'

	kindInline = 1
	kindFile   = 2

	headerSize = 25
	fileSize   = 53
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// version is that of a state, and the id of a file.
type version [16]byte

// text is the version as others see it.
func (v version) text() backend.Version {
	var b [2 * len(v)]byte
	hex.Encode(b[:], v[:])
	return backend.Version(b[:])
}

// is reports whether the version is the one that was told.
func (v version) is(told backend.Version) bool {
	var b [2 * len(v)]byte
	hex.Encode(b[:], v[:])
	return string(b[:]) == string(told)
}

// record is the value of an object.
type record struct {
	kind     byte
	version  version
	modified time.Time
	data     []byte // inline
	file     content
}

// content is what is in a file of its own.
type content struct {
	id   version
	size int64 // in bytes
	sum  uint32
}

// state is what the object is at.
func (r *record) state() state {
	s := state{version: r.version}
	if r.kind == kindFile {
		file := r.file
		s.file = &file
	}
	return s
}

// size is that of the data, in bytes.
func (r *record) size() int64 {
	if r.kind == kindFile {
		return r.file.size
	}
	return int64(len(r.data))
}

// length is that of the value, in bytes.
func (r *record) length() int {
	if r.kind == kindFile {
		return fileSize
	}
	return headerSize + len(r.data)
}

// put writes the value to b, which has its length.
func (r *record) put(b []byte) {
	b[0] = r.kind
	copy(b[1:], r.version[:])
	binary.BigEndian.PutUint64(b[17:], uint64(r.modified.UnixNano()))
	if r.kind == kindInline {
		copy(b[headerSize:], r.data)
		return
	}
	copy(b[headerSize:], r.file.id[:])
	binary.BigEndian.PutUint64(b[41:], uint64(r.file.size))
	binary.BigEndian.PutUint32(b[49:], r.file.sum)
}

// parse is the inverse of put. The data are a part of b.
func (r *record) parse(b []byte) error {
	if len(b) < headerSize {
		return errors.New("less than a header")
	}
	r.kind = b[0]
	r.version = version(b[1:17])
	r.modified = time.Unix(0, int64(binary.BigEndian.Uint64(b[17:])))
	switch {
	case r.kind == kindInline:
		r.data = b[headerSize:]
	case r.kind == kindFile && len(b) == fileSize:
		r.file = content{
			version(b[headerSize:]), int64(binary.BigEndian.Uint64(b[41:])),
			binary.BigEndian.Uint32(b[49:]),
		}
	default:
		return fmt.Errorf("%d bytes of kind %d, which this program does not know", len(b), r.kind)
	}
	return nil
}

// objectKey is the engine's key of an object.
func objectKey(name string) []byte {
	b := make([]byte, 1+len(name))
	b[0] = keyObject
	copy(b[1:], name)
	return b
}

// fileKey is the engine's key of a file.
func fileKey(id version) []byte { return append([]byte{keyFile}, id[:]...) }

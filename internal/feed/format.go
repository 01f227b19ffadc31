package feed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/strictkv/strictkv/internal/keyspace"
)

// An object of hints: magic, format version, fields as in a cell, checksum.
const (
	magic   = "SKVF"
	version = 1
	// fieldNames are the names in ascending order, each as the length of what it begins with of
	// the name before, that of the rest, and the rest.
	fieldNames = 1
	// fieldMissed, which is empty, says that there are others.
	fieldMissed = 2
	// fieldBefore is the time of the object with the number before, be it that it was given up, in
	// nanoseconds since 1970.
	fieldBefore = 3
	// fieldIgnored is the least that a reader may pass over.
	fieldIgnored = 128
	checksum     = 4
)

// Limits of an object.
const (
	// namesMax is how many names it has: what a handle can load in some seconds.
	namesMax = 1 << 14
	// nameBytesMax is how many bytes these have together.
	nameBytesMax = 1 << 20
	// objectMax is the size of the largest one, in bytes, that is decoded.
	objectMax = 2 << 20
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	errFormat = errors.New("of another format")
	errObject = errors.New("damaged")
)

// content is what an object holds.
type content struct {
	Hints
	// before is fieldBefore; 0 if the object is the first.
	before int64
}

// encode makes the object. It sorts the names.
func encode(h content) []byte {
	slices.Sort(h.Names)
	var list []byte
	before := ""
	for _, name := range h.Names {
		n := shared(before, name)
		list = binary.AppendUvarint(list, uint64(n))
		list = binary.AppendUvarint(list, uint64(len(name)-n))
		list = append(list, name[n:]...)
		before = name
	}
	b := append([]byte(magic), version)
	if len(list) > 0 {
		b = append(b, fieldNames)
		b = binary.AppendUvarint(b, uint64(len(list)))
		b = append(b, list...)
	}
	if h.Missed {
		b = append(b, fieldMissed, 0)
	}
	if h.before > 0 {
		b = binary.LittleEndian.AppendUint64(append(b, fieldBefore, 8), uint64(h.before))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// shared is the length of what both begin with.
func shared(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// decode is the inverse of encode. Every name is that of a cell.
func decode(b []byte) (content, error) {
	head := len(magic) + 1
	switch {
	case len(b) > objectMax, len(b) < head+checksum, string(b[:len(magic)]) != magic:
		return content{}, fmt.Errorf("%w: not hints", errFormat)
	case b[len(magic)] != version:
		return content{}, fmt.Errorf("%w: version %d, supported %d",
			errFormat, b[len(magic)], version)
	}
	body, sum := b[:len(b)-checksum], binary.LittleEndian.Uint32(b[len(b)-checksum:])
	if crc32.Checksum(body, castagnoli) != sum {
		return content{}, fmt.Errorf("%w: wrong checksum", errObject)
	}
	var h content
	last := byte(0)
	for rest := body[head:]; len(rest) > 0; {
		tag := rest[0]
		field, more, ok := bytesOf(rest[1:])
		if !ok || tag < last || tag == last && tag < fieldIgnored {
			return content{}, fmt.Errorf("%w: field %d", errObject, tag)
		}
		rest, last = more, tag
		var err error
		switch {
		case tag == fieldNames:
			h.Names, err = decodeNames(field)
		case tag == fieldMissed && len(field) == 0:
			h.Missed = true
		case tag == fieldBefore && len(field) == 8:
			h.before = int64(binary.LittleEndian.Uint64(field))
		case tag < fieldIgnored:
			err = fmt.Errorf("%w: field %d", errFormat, tag)
		}
		if err != nil {
			return content{}, err
		}
	}
	return h, nil
}

// bytesOf splits off what has its length before it.
func bytesOf(b []byte) (head, rest []byte, ok bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return nil, nil, false
	}
	return b[w : w+int(n)], b[w+int(n):], true
}

func decodeNames(b []byte) ([]string, error) {
	var list []string
	before, size := "", 0
	for len(b) > 0 {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(before)) {
			return nil, fmt.Errorf("%w: a name's beginning", errObject)
		}
		rest, more, ok := bytesOf(b[w:])
		if !ok {
			return nil, fmt.Errorf("%w: a name's end", errObject)
		}
		name := before[:n] + string(rest)
		if _, _, err := keyspace.ParseCell(name); err != nil || name <= before {
			return nil, fmt.Errorf("%w: the name %q", errObject, name)
		}
		if size += len(name); size > nameBytesMax || len(list) == namesMax {
			return nil, fmt.Errorf("%w: more than %d names, or %d bytes of them",
				errObject, namesMax, nameBytesMax)
		}
		list, before, b = append(list, name), name, more
	}
	return list, nil
}

package keys

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/strictkv/strictkv"
)

const (
	// NameMax is how long a key, or the name of an element, may be, in bytes.
	NameMax = 64 << 10
	// plainMax is how long one may be to stand for itself.
	plainMax = 256

	// What the names of keys and elements begin with that don't stand for themselves. Nothing that
	// does begins so.
	hashed    = 0x00 // then the SHA-256 of the name
	ownerName = 0x01
	firstByte = 0x02
)

// store is the key that a name is stored under, and the name itself if it must be stored in front
// of the value: empty and long names, and those that begin with a byte that is taken, are hashed.
func store(name []byte) (key, named []byte) {
	if n := len(name); n > 0 && n <= plainMax && name[0] >= firstByte {
		return name, nil
	}
	sum := sha256.Sum256(name)
	if name == nil {
		name = []byte{}
	}
	return append([]byte{hashed}, sum[:]...), name
}

// plain reports whether a stored key is the name itself.
func plain(key []byte) bool { return key[0] >= firstByte }

// Prefix is the range of stored keys in which those are whose plain names begin with p. Hashed ones
// are in Hashed.
func Prefix(p []byte) strictkv.Range {
	switch {
	case len(p) == 0:
		return strictkv.Range{From: []byte{firstByte}}
	case p[0] < firstByte: // none
		return strictkv.Range{From: []byte{firstByte}, To: []byte{firstByte}}
	}
	return strictkv.Prefix(p[:min(len(p), plainMax)])
}

// Hashed is the range of the stored keys that are hashes.
func Hashed() strictkv.Range { return strictkv.Prefix([]byte{hashed}) }

// appendName writes a name in front of a value.
func appendName(to, name []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(name))), name...)
}

// cutName takes what appendName has written off a value.
func cutName(value []byte) (name, rest []byte, err error) {
	n, used := binary.Uvarint(value)
	if used <= 0 || n > uint64(len(value)-used) {
		return nil, nil, damaged("cut short")
	}
	end := used + int(n)
	return value[used:end:end], value[end:], nil
}

package fields

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/strictkv/strictkv"
)

// The key of an element: firstByte, the place of its name, a byte that tells what follows: the
// name, or the SHA-256 of a long one, which is in front of the value then.
const (
	firstByte = 0x02
	placeLen  = 6
	formAt    = 1 + placeLen
	nameAt    = formAt + 1

	whole  = 0x00
	hashed = 0x01

	// wholeMax is how long a name may be that stands for itself.
	wholeMax = 256 - nameAt
	// places is how many there are.
	places = 1 << (8 * placeLen)
)

// element is the key and the value under which a pair is stored.
func element(p Pair) (key, value []byte) {
	key = elementKey(p.Name)
	if key[formAt] == hashed {
		return key, append(appendBytes(nil, p.Name), p.Value...)
	}
	return key, p.Value
}

func elementKey(name []byte) []byte {
	sum := sha256.Sum256(name)
	key := append([]byte{firstByte}, sum[:placeLen]...)
	if len(name) > wholeMax {
		return append(append(key, hashed), sum[:]...)
	}
	return append(append(key, whole), name...)
}

// elementPair is the pair of an element. Without a value its name is nil if that is a long one.
func elementPair(key, value []byte) (Pair, error) {
	if len(key) < nameAt || key[0] != firstByte || key[formAt] > hashed {
		return Pair{}, damaged("key of an element")
	}
	if key[formAt] == whole {
		return Pair{key[nameAt:], value}, nil
	}
	if value == nil {
		return Pair{}, nil
	}
	name, value, err := cutBytes(value)
	if err == nil && !bytes.Equal(key, elementKey(name)) {
		err = damaged("an element with another's name")
	}
	return Pair{name, value}, err
}

// elementValue is the value of an element.
func elementValue(key, stored []byte) ([]byte, error) {
	p, err := elementPair(key, stored)
	if p.Value == nil {
		p.Value = []byte{}
	}
	return p.Value, err
}

// placeOf is the place of a name.
func placeOf(name []byte) uint64 {
	sum := sha256.Sum256(name)
	return number(sum[:placeLen])
}

// keyPlace is the place of the name of an element.
func keyPlace(key []byte) uint64 { return number(key[1:formAt]) }

func number(place []byte) uint64 {
	var n [8]byte
	copy(n[8-placeLen:], place)
	return binary.BigEndian.Uint64(n[:])
}

// from are all elements from a place on.
func from(place uint64) strictkv.Range {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], place)
	r := strictkv.Prefix([]byte{firstByte})
	r.From = append([]byte{firstByte}, n[8-placeLen:]...)
	return r
}

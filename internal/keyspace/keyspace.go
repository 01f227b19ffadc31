// Package keyspace is the only place that makes or parses object names.
//
// The objects of one database:
//
//	<db>/meta                        format version and database id
//	<db>/=<key>                      the cell of a key
//	<db>/*<key>.<32 hex>             an external value of that key, by its id
//	<db>/+<name>/                    the folder of a collection, which holds
//	<db>/+<name>/=<key>                its cells,
//	<db>/+<name>/*<key>.<32 hex>       their external values,
//	<db>/+<name>/+<name>/...           and the folders of its collections
//	<db>/clock.<32 hex>              a sweep's question for the store's time
//	<db>/feed/<time>.<32 hex>.<number> hints for followers: what a handle has written
//	<db>/lost/<32 hex>/<name>        what a check has moved aside
//
// Keys and names are encoded as encode.go says. No encoded name contains a
// slash, so listing a folder with the delimiter "/" rolls up its collections, and
// '*', '+' and '=' keep the three kinds of entries apart, in this order.
//
// Within the engine, names are relative to the database's Prefix.
package keyspace

import (
	"errors"
	"fmt"
	"strings"
)

// Limits in bytes.
const (
	// NameMax is the longest name of an object that every store accepts.
	NameMax = 1024
	// CellMax is the longest full name of a cell, the database included. It
	// leaves room for what the names of its external values have more: a dot, the
	// attempt in 32 hexadecimal digits, and one to spare.
	CellMax = NameMax - 34
	// KeyMax is the longest key, and the longest name of a collection.
	KeyMax = 512
	// DatabaseMax is the longest name of a database.
	DatabaseMax = 64
)

// Meta is the object that tells a database's format version and id.
const Meta = "meta"

const (
	cellKind       = '='
	collectionKind = '+'
	separator      = '/'
)

// ErrInvalidKey is matched by every *KeyError.
var ErrInvalidKey = errors.New("invalid key")

// KeyError reports a key, or the name of a collection, that is empty or too long.
// It matches ErrInvalidKey.
type KeyError struct {
	// Len and Limit are in bytes.
	Len, Limit int
	// What names the offender: the key, the collection's name, or the full name
	// of the key's object.
	What string
}

// Error names the offender, its length and the limit.
func (e *KeyError) Error() string {
	if e.Len == 0 {
		return fmt.Sprintf("%v: the %s is empty; 1 to %d bytes are allowed",
			ErrInvalidKey, e.What, e.Limit)
	}
	return fmt.Sprintf("%v: the %s has %d bytes; at most %d are allowed",
		ErrInvalidKey, e.What, e.Len, e.Limit)
}

// Is makes the error match ErrInvalidKey.
func (e *KeyError) Is(target error) bool { return target == ErrInvalidKey }

const (
	whatKey  = "key"
	whatName = "collection name"
	whatFull = "object name (database, collections and key together, encoded)"
)

func checkLen(b []byte, what string) error {
	if len(b) == 0 || len(b) > KeyMax {
		return &KeyError{Len: len(b), Limit: KeyMax, What: what}
	}
	return nil
}

// CheckDatabase reports whether name can name a database: 1 to 64 of the characters
// a-z A-Z 0-9 . _ - of which the last is not a dot, since some stores drop the
// dots at the end of a path segment.
func CheckDatabase(name string) error {
	if name == "" || len(name) > DatabaseMax {
		return fmt.Errorf("database name %q: %d bytes; 1 to %d are allowed",
			name, len(name), DatabaseMax)
	}
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		digit := r >= '0' && r <= '9'
		if !letter && !digit && !strings.ContainsRune("._-", r) {
			return fmt.Errorf("database name %q: only a-z A-Z 0-9 . _ - are allowed, not %q",
				name, r)
		}
	}
	if strings.HasSuffix(name, ".") {
		return fmt.Errorf("database name %q: ends with a dot", name)
	}
	return nil
}

// Prefix is the beginning of the names of all objects of a database.
func Prefix(db string) string { return db + string(separator) }

// Kind is what an object is.
type Kind uint8

// The kinds of objects.
const (
	// OtherKind is that of clocks, probes, what was moved aside, and what is none of ours.
	OtherKind Kind = iota
	// CellKind, ValueKind and MetaKind are those of cells, external values, and Meta.
	CellKind
	ValueKind
	MetaKind
	// HintKind is that of hints for followers.
	HintKind
)

// KindOf is the kind of the object that has a name, provided that it is one of ours.
func KindOf(name string) Kind {
	last := name[strings.LastIndexByte(name, separator)+1:]
	switch {
	case strings.HasPrefix(name, Hints):
		return HintKind
	case IsLost(name) || last == "":
		return OtherKind
	case last[0] == cellKind:
		return CellKind
	case last[0] == valueKind:
		return ValueKind
	case name == Meta:
		return MetaKind
	}
	return OtherKind
}

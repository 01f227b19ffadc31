package keyspace

import (
	"fmt"
	"strings"
)

// Path is the folder of a collection, relative to the database's prefix. The
// empty Path is the database itself; every other ends with a slash.
type Path string

// Collection returns the folder of the collection with the name, 1 to 512 bytes of
// anything, within p. A name of another length is a *KeyError.
//
// A listing yields the collections of a folder in the order of their encoded names
// with the slash behind them, which is not that of the names themselves where one
// is the beginning of another: "a-" comes before "a", as '-' is less than '/'.
func (p Path) Collection(name []byte) (Path, error) {
	if err := checkLen(name, whatName); err != nil {
		return "", err
	}
	var buf [NameMax]byte
	b := append(append(buf[:0], p...), collectionKind)
	return Path(append(appendName(b, name), separator)), nil
}

// Cell returns the name of the key's cell, relative to the prefix of db. Within a
// folder the names of cells have the order of their keys. A key that is empty or
// longer than 512 bytes, or whose full name is longer than CellMax, is a *KeyError.
func (p Path) Cell(db string, key []byte) (string, error) {
	var buf [NameMax]byte
	b, err := p.AppendCell(buf[:0], db, key)
	return string(b), err
}

// AppendCell appends what Cell returns to b, which is returned as it was with an error. With
// room for NameMax bytes it allocates nothing.
func (p Path) AppendCell(b []byte, db string, key []byte) ([]byte, error) {
	if err := checkLen(key, whatKey); err != nil {
		return b, err
	}
	n := append(append(b, p...), cellKind)
	n = appendName(n, key)
	if full := len(db) + len("/") + len(n) - len(b); full > CellMax {
		return b, &KeyError{Len: full, Limit: CellMax, What: whatFull}
	}
	return n, nil
}

// Cells is what the names of all cells of p begin with.
func (p Path) Cells() string { return string(p) + string(cellKind) }

// Folders is what the folders of all collections directly within p begin with.
func (p Path) Folders() string { return string(p) + string(collectionKind) }

// Key returns the key of a cell in p, given the cell's name. The name must begin
// with p.Cells(), and be one that Cell makes.
func (p Path) Key(name string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(name, string(p))
	if !ok || encoded == "" || encoded[0] != cellKind {
		return nil, fmt.Errorf("object name %q: not a cell in %q", name, string(p))
	}
	key, err := decodeName(encoded[1:])
	if err != nil {
		return nil, fmt.Errorf("object name %q: %w", name, err)
	}
	return key, nil
}

// ParseCell is the inverse of Path.Cell. It accepts no name that Cell would not
// make, apart from the limit on full names.
func ParseCell(name string) (p Path, key []byte, err error) {
	p = Path(name[:strings.LastIndexByte(name, separator)+1])
	for rest := string(p); rest != ""; {
		end := strings.IndexByte(rest, separator) + 1
		if _, err := SplitCollection(rest[:end]); err != nil {
			return "", nil, fmt.Errorf("object name %q: %w", name, err)
		}
		rest = rest[end:]
	}
	if key, err = p.Key(name); err != nil {
		return "", nil, err
	}
	return p, key, nil
}

// Names are those of the collection, and of those around it, outermost first.
func (p Path) Names() ([][]byte, error) {
	var names [][]byte
	for rest := string(p); rest != ""; {
		end := strings.IndexByte(rest, separator) + 1
		name, err := SplitCollection(rest[:end])
		if err != nil {
			return nil, err
		}
		names, rest = append(names, name), rest[end:]
	}
	return names, nil
}

// SplitCollection returns the name of the collection whose folder is prefix, as a
// listing shows it. Of a nested one that is the last name.
func SplitCollection(prefix string) (name []byte, err error) {
	folder, ok := strings.CutSuffix(prefix, string(separator))
	folder = folder[strings.LastIndexByte(folder, separator)+1:]
	if !ok || folder == "" || folder[0] != collectionKind {
		return nil, fmt.Errorf("folder %q: not that of a collection", prefix)
	}
	if name, err = decodeName(folder[1:]); err != nil {
		return nil, fmt.Errorf("folder %q: %w", prefix, err)
	}
	return name, nil
}

package keyspace

import (
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	valueKind = '*'
	// idDigits is the length of an id in hexadecimal.
	idDigits = 32
	clock    = "clock."
)

// Value returns the name of an external value of the key whose cell has that name. The
// id, in 32 hexadecimal digits, tells it from the key's other values.
func Value(cell, id string) string {
	i := strings.LastIndexByte(cell, separator) + 1
	return cell[:i] + string(valueKind) + cell[i+1:] + "." + id
}

// ParseValue is the inverse of Value. It accepts no name that Value would not make of
// the name of a cell.
func ParseValue(name string) (cell, id string, err error) {
	i := strings.LastIndexByte(name, separator) + 1
	cut := len(name) - idDigits - 1
	if cut <= i || name[i] != valueKind || name[cut] != '.' || !isID(name[cut+1:]) {
		return "", "", fmt.Errorf("object name %q: not an external value", name)
	}
	cell = name[:i] + string(cellKind) + name[i+1:cut]
	if _, _, err := ParseCell(cell); err != nil {
		return "", "", fmt.Errorf("object name %q: not an external value: %w", name, err)
	}
	return cell, name[cut+1:], nil
}

// Clock returns the name of an object that a sweep writes to learn the store's time.
func Clock(id string) string { return clock + id }

// IsClock tells whether the name is one that Clock makes.
func IsClock(name string) bool {
	id, ok := strings.CutPrefix(name, clock)
	return ok && isID(id)
}

func isID(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(s) == idDigits && hex.EncodeToString(b) == s
}

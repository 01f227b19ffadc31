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
	// probeMarks are in byte order, and in that of no alphabet.
	probeMarks = "A_az"
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

// Probes returns the names, in byte order, of the objects by which Open learns what the
// store can.
func Probes(id string) [len(probeMarks)]string {
	var names [len(probeMarks)]string
	for i := range names {
		names[i] = Clock(id) + "." + probeMarks[i:i+1]
	}
	return names
}

// IsClock tells whether the name is one that Clock or Probes makes: that of an object which
// is removed by who made it, or else by a sweep.
func IsClock(name string) bool {
	rest, ok := strings.CutPrefix(name, clock)
	id, mark, probe := strings.Cut(rest, ".")
	return ok && isID(id) && (!probe || len(mark) == 1 && strings.Contains(probeMarks, mark))
}

func isID(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(s) == idDigits && hex.EncodeToString(b) == s
}

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
	lost     = "lost/"
	// probeMarks are in byte order, and in that of no alphabet.
	probeMarks = "A_az"
)

// Value returns the name of an external value of the key whose cell has that name. The
// id, in 32 hexadecimal digits, tells it from the key's other values.
func Value(cell, id string) string {
	return Values(cell) + id
}

// Values is what the names of all external values of the key begin with whose cell has that
// name.
func Values(cell string) string {
	i := strings.LastIndexByte(cell, separator) + 1
	return cell[:i] + string(valueKind) + cell[i+1:] + "."
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

// IsClock reports whether the name is one that Clock or Probes makes: that of an object which
// is removed by who made it, or else by a sweep.
func IsClock(name string) bool {
	rest, ok := strings.CutPrefix(name, clock)
	id, mark, probe := strings.Cut(rest, ".")
	return ok && isID(id) && (!probe || len(mark) == 1 && strings.Contains(probeMarks, mark))
}

// Lost returns the name under which a copy of an object is kept that had to go, given the
// database. The id, in 32 hexadecimal digits, tells it from other copies. Of a name that leaves
// no room for that the end is cut off.
func Lost(db, name, id string) string {
	full := lost + id + string(separator) + name
	if most := NameMax - len(Prefix(db)); len(full) > most {
		full = strings.TrimRight(full[:most], "./")
	}
	return full
}

// IsLost reports whether the name is one that Lost makes. Nobody but a person removes such an
// object.
func IsLost(name string) bool { return strings.HasPrefix(name, lost) }

func isID(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(s) == idDigits && hex.EncodeToString(b) == s
}

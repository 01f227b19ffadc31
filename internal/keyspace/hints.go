package keyspace

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	// Hints is what the names of all objects of hints begin with.
	Hints = "feed/"
	// timeDigits and numberDigits are the lengths of a hint's time and number, in hexadecimal.
	timeDigits   = 16
	numberDigits = 8
)

// Hint is the name of an object of hints, in its parts. Names have the order of their times.
type Hint struct {
	// Time is when it was written, as its writer believes: in nanoseconds since 1970, not
	// negative.
	Time int64
	// Handle is the id of its writer, in 32 hexadecimal digits, and Number that of the object
	// among those of the writer.
	Handle string
	Number uint32
}

// Name is the name.
func (h Hint) Name() string {
	return fmt.Sprintf("%s%0*x.%s.%0*x",
		Hints, timeDigits, h.Time, h.Handle, numberDigits, h.Number)
}

// ParseHint is the inverse of Hint.Name. It accepts no other name.
func ParseHint(name string) (Hint, error) {
	parts := strings.Split(strings.TrimPrefix(name, Hints), ".")
	var h Hint
	if len(parts) == 3 && isID(parts[1]) {
		at, aerr := strconv.ParseUint(parts[0], 16, 64)
		number, nerr := strconv.ParseUint(parts[2], 16, 32)
		if aerr == nil && nerr == nil && at <= math.MaxInt64 {
			h = Hint{int64(at), parts[1], uint32(number)}
		}
	}
	if h.Handle == "" || h.Name() != name {
		return Hint{}, fmt.Errorf("object name %q: not an object of hints", name)
	}
	return h, nil
}

// HintsFrom is less than the names of all hints of a time and later ones, and greater than those
// of earlier ones.
func HintsFrom(at int64) string { return fmt.Sprintf("%s%0*x", Hints, timeDigits, max(at, 0)) }

// IsHint reports whether the name is one that Hint.Name makes. Such an object is removed by who
// made it, or else by a sweep.
func IsHint(name string) bool {
	if !strings.HasPrefix(name, Hints) {
		return false
	}
	_, err := ParseHint(name)
	return err == nil
}

package fields

import "testing"

// Small lowers the limits of small values until the test ends.
func Small(t testing.TB, bytes, elements int) {
	oldMax, oldElements := smallMax, smallElements
	smallMax, smallElements = bytes, elements
	t.Cleanup(func() { smallMax, smallElements = oldMax, oldElements })
}

package listcmd

import "testing"

// Small lowers the limits of small lists until the test ends.
func Small(t *testing.T, bytes, elements int) {
	oldMax, oldElements := smallMax, smallElements
	smallMax, smallElements = bytes, elements
	t.Cleanup(func() { smallMax, smallElements = oldMax, oldElements })
}

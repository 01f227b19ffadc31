package zsetcmd

import "testing"

// Small lowers the limits of small sets, and of nodes, until the test ends.
func Small(t *testing.T, elements, node int) {
	oldElements, oldNode := smallElements, nodeMax
	smallElements, nodeMax = elements, node
	t.Cleanup(func() { smallElements, nodeMax = oldElements, oldNode })
}

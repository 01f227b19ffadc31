//go:build race

package tuple_test

// slower is by how much less the tests of order do under the race detector, which has nothing to
// find in them.
const slower = 20

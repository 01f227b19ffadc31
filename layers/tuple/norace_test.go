//go:build !race

package tuple_test

const slower = 1

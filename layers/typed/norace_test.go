//go:build !race

package typed_test

const slower = 1

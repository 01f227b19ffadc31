//go:build !race

package model

// raced says that the race detector is on.
const raced = false

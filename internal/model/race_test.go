//go:build race

package model

// raced says that the race detector is on, which takes ten times as long, and has little to find.
const raced = true

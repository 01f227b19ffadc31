//go:build race

package main

// slower is by how much the race detector makes fewer.
const slower = 10

package sample

import "testing"

func TestTally(t *testing.T) {
	var tally Tally
	if !tally.Add(false, 0, -10) || tally.N != 0 {
		t.Fatal("none is positive")
	}
	if tally.Add(false, -1, 0, 1, 9, 10, 11) || tally != (Tally{4, 2}) {
		t.Fatal("positive ones", tally)
	}
	if tally.Add(true, -9, -10, 0) || tally != (Tally{7, 3}) {
		t.Fatal("all", tally)
	}
}

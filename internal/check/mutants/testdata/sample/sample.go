// Package sample has a place for each kind of mutant.
package sample

import "fmt"

// Tally counts.
type Tally struct{ N, Large int }

// Add counts those of some numbers that are positive, or all.
func (t *Tally) Add(all bool, numbers ...int) (none bool) {
	for _, n := range numbers {
		if !all && n <= 0 {
			continue
		}
		t.N++
		if n > 9 || n < -9 {
			t.Large += 1
		}
	}
	t.check()
	if t.N == 0 {
		return true
	}
	return false
}

func (t *Tally) check() {
	if t.Large > t.N {
		panic(fmt.Sprint("impossible: ", t))
	}
}

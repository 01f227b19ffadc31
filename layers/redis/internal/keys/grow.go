package keys

import (
	"iter"

	"github.com/strictkv/strictkv"
)

// MovesMax is how many elements one transaction moves from the bodies of values to where large
// ones have them. A transaction can write these besides WritesMax others; and the fewer keys one
// writes, the less do their cells note of it.
const MovesMax = 64

// Moves returns how many of n elements may be moved now: what the transaction has not moved yet of
// MovesMax. They count as moved.
func (t *Tx) Moves(n int) int {
	n = min(n, MovesMax-*t.moved)
	*t.moved += n
	return n
}

// Range yields the elements within a range of names, in their order. It is for names that all stand
// for themselves: with 1 to 256 bytes, the first of them above 1.
func (x *Elements) Range(r strictkv.Range) iter.Seq2[Element, error] {
	return func(yield func(Element, error) bool) {
		for item, err := range x.t.tx.Scan(x.in, r) {
			if !yield(Element{item.Key, item.Value}, err) || err != nil {
				return
			}
		}
	}
}

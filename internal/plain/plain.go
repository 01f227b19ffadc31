// Package plain judges what programs print: it must be legible in a terminal of 80 columns,
// and in a file that a pipe leads to.
package plain

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	columnsMax = 80
	tabStop    = 8
)

// Check returns an error that names the first line of text which is wider than a terminal, or
// has a control character (tabs apart): those move a cursor that a pipe does not have.
func Check(text string) error {
	for i, line := range strings.Split(text, "\n") {
		if at := strings.IndexFunc(line, moves); at >= 0 {
			return fmt.Errorf("line %d has a control character: %q", i+1, line)
		}
		if n := width(line); n > columnsMax {
			return fmt.Errorf("line %d has %d columns, at most %d fit: %q",
				i+1, n, columnsMax, line)
		}
	}
	return nil
}

func moves(r rune) bool { return r != '\t' && unicode.IsControl(r) }

// width is the number of columns of a line.
func width(line string) (n int) {
	for _, r := range line {
		if r == '\t' {
			n += tabStop - n%tabStop
			continue
		}
		n++
	}
	return n
}

package report

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

const (
	indent = "  "
	gap    = "  "
)

// column is one of a table on a terminal.
type column struct {
	at    int // the index of its field
	name  string
	width int
	left  bool // texts are at the left, numbers at the right
}

// Table writes an empty line, and the rows as aligned text for a terminal. A column with the
// tag show:"nonzero" is left out if it is zero in all rows. A field with show:"title" is no
// column: its text stands above those of the rows that have it.
func Table[T any](w io.Writer, rows []T) error {
	names, cells, used := grid(rows, inDocuments, onTerminals)
	title := -1
	var columns []column
	for at, name := range names {
		field := reflect.TypeFor[T]().Field(at)
		switch {
		case field.Tag.Get("show") == "title":
			title = at
		case used[at]:
			c := column{at, name, utf8.RuneCountInString(name), field.Type.Kind() == reflect.String}
			for _, line := range cells {
				c.width = max(c.width, utf8.RuneCountInString(line[at]))
			}
			columns = append(columns, c)
		}
	}
	var b strings.Builder
	fmt.Fprintln(&b)
	writeLine(&b, columns, names)
	above := ""
	for _, line := range cells {
		if title >= 0 && line[title] != above {
			above = line[title]
			fmt.Fprintln(&b, above)
		}
		writeLine(&b, columns, line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeLine(b *strings.Builder, columns []column, cells []string) {
	var line strings.Builder
	line.WriteString(indent)
	for i, c := range columns {
		if i > 0 {
			line.WriteString(gap)
		}
		pad := strings.Repeat(" ", c.width-utf8.RuneCountInString(cells[c.at]))
		if c.left {
			line.WriteString(cells[c.at] + pad)
		} else {
			line.WriteString(pad + cells[c.at])
		}
	}
	fmt.Fprintln(b, strings.TrimRight(line.String(), " "))
}

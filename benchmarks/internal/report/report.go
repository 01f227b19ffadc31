// Package report writes the results of benchmarks: rows of one type of struct, whose fields
// are numbers and texts, named by their json tags, or in tables by the tag "column", which on
// terminals yields to the tag "short".
package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// The tags that name columns.
const (
	inDocuments = "column"
	onTerminals = "short"
)

// digits is how many significant ones tables have; files have all.
const digits = 4

// Failed is the format of a line with the number of transactions that did not end well.
const Failed = "%d transactions FAILED: in doubt, or refused for too long.\n"

// Markdown writes the rows as a table of a document, without the columns that Table leaves out.
func Markdown[T any](w io.Writer, rows []T) error {
	names, cells, used := grid(rows, inDocuments)
	rule := make([]string, len(names))
	for c := range names {
		rule[c] = "---"
		if k := reflect.TypeFor[T]().Field(c).Type.Kind(); k != reflect.String {
			rule[c] = "---:"
		}
	}
	for _, line := range append([][]string{names, rule}, cells...) {
		for c := range names {
			if used[c] {
				fmt.Fprint(w, "| ", line[c], " ")
			}
		}
		if _, err := fmt.Fprintln(w, "|"); err != nil {
			return err
		}
	}
	return nil
}

// grid is what a table shows of the rows, and of which columns; the last of the tags that a
// field has names its column.
func grid[T any](rows []T, keys ...string) (names []string, cells [][]string, used []bool) {
	names = columns[T]()
	for c := range names {
		for _, key := range keys {
			if title, ok := reflect.TypeFor[T]().Field(c).Tag.Lookup(key); ok {
				names[c] = title
			}
		}
	}
	cells, used = make([][]string, len(rows)), make([]bool, len(names))
	for c := range names {
		used[c] = reflect.TypeFor[T]().Field(c).Tag.Get("show") != "nonzero"
	}
	for r := range rows {
		v := reflect.ValueOf(rows[r])
		for c := range names {
			cells[r] = append(cells[r], text(v.Field(c), digits))
			used[c] = used[c] || !v.Field(c).IsZero()
		}
	}
	return names, cells, used
}

// CSV writes the rows, below a line of names.
func CSV[T any](w io.Writer, rows []T) error {
	out := csv.NewWriter(w)
	lines := [][]string{columns[T]()}
	for r := range rows {
		v := reflect.ValueOf(rows[r])
		var line []string
		for c := range v.NumField() {
			line = append(line, text(v.Field(c), -1))
		}
		lines = append(lines, line)
	}
	return out.WriteAll(lines)
}

// JSON writes the rows as an array, one row to a line.
func JSON[T any](w io.Writer, rows []T) error {
	var b strings.Builder
	for r := range rows {
		line, err := json.Marshal(rows[r])
		if err != nil {
			return fmt.Errorf("encode row %d: %w", r, err)
		}
		b.WriteString([]string{"[\n", ",\n"}[min(r, 1)])
		b.Write(line)
	}
	if len(rows) == 0 {
		b.WriteString("[")
	}
	b.WriteString("\n]\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Output says where results go.
type Output struct {
	// Table gets them as text.
	Table io.Writer
	// Base is the name of the files that get them, without extension; empty: none.
	Base string
}

// Flag defines the flag for Base.
func (o *Output) Flag(f *flag.FlagSet) {
	f.StringVar(&o.Base, "out", "", "write all figures to this path, with .csv and .json added")
}

// Goals shows how what was measured compares with the goals, writes the runs to files, and
// puts the comparison into the document above a folder, if there is one, under the
// benchmark's name.
func Goals[R, C any](o Output, benchmark, dir string, runs []R, checks []C) error {
	if o.Base != "" {
		o.Base += "-goals"
	}
	err := errors.Join(Save(o, "-runs", runs), Show(o, "", checks))
	if err != nil || dir == "" {
		return err
	}
	return InsertTable(dir, benchmark+" goals", checks)
}

// Show writes the rows as a table, and to files as Save does.
func Show[T any](o Output, add string, rows []T) error {
	return errors.Join(Table(o.Table, rows), Save(o, add, rows))
}

// Save writes the rows to files, if there is a name for them, with what is added to it.
func Save[T any](o Output, add string, rows []T) error {
	if o.Base == "" {
		return nil
	}
	return Files(o.Base+add, rows)
}

// Files writes the rows to base.csv and base.json, in a folder that is made.
func Files[T any](base string, rows []T) error {
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		return err
	}
	for ext, write := range map[string]func(io.Writer, []T) error{"csv": CSV[T], "json": JSON[T]} {
		var b strings.Builder
		if err := write(&b, rows); err != nil {
			return err
		}
		if err := os.WriteFile(base+"."+ext, []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// columns are the names of T's fields in files.
func columns[T any]() (names []string) {
	t := reflect.TypeFor[T]()
	for c := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(c).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func text(v reflect.Value, precision int) string {
	if v.CanFloat() {
		x := v.Float()
		if precision > 0 && (x >= 1000 || x <= -1000) {
			return strconv.FormatFloat(x, 'f', 0, 64)
		}
		return strconv.FormatFloat(x, 'g', precision, 64)
	}
	return fmt.Sprint(v)
}

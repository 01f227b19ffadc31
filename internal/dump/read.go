package dump

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/strictkv/strictkv"
)

// ErrMalformed is matched by the errors about what is no row.
var ErrMalformed = errors.New("malformed")

// lineMax bounds a line of JSON: any value, each byte of which may be an escape, fits in.
const lineMax = 7 * strictkv.ValueMax

const byteOrderMark = "\ufeff" // as editors and spreadsheets begin their files

// read yields the rows of a format. An error ends it, and tells the line that it is of.
func read(r io.Reader, format string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		next, err := reader(r, format)
		for {
			var row Row
			if err == nil {
				row, err = next()
			}
			if errors.Is(err, io.EOF) || !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// reader returns a function that reads the next row.
func reader(r io.Reader, format string) (func() (Row, error), error) {
	switch format {
	case JSON:
		return jsonReader(r), nil
	case CSV:
		return csvReader(csv.NewReader(r))
	}
	return nil, unknown(format)
}

// malformed marks an error as one of a line.
func malformed(line int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("line %d: %w: %w", line, ErrMalformed, err)
}

func jsonReader(r io.Reader) func() (Row, error) {
	lines, n := bufio.NewScanner(r), 0
	lines.Buffer(nil, lineMax)
	return func() (Row, error) {
		for lines.Scan() {
			n++
			line := lines.Bytes()
			if n == 1 {
				line = bytes.TrimPrefix(line, []byte(byteOrderMark))
			}
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			row, err := decode(line)
			if err != nil && lines.Err() != nil {
				break // the line was cut
			}
			row.line = n
			return row, malformed(n, err)
		}
		if err := lines.Err(); err != nil {
			return Row{}, fmt.Errorf("line %d: %w", n+1, err)
		}
		return Row{}, io.EOF
	}
}

// surrogates finds escapes of JSON: pairs of surrogates, single ones, which it captures, others.
var surrogates = regexp.MustCompile(
	`(?i)\\u(?:d[89ab][0-9a-f]{2})\\u(?:d[c-f][0-9a-f]{2})|\\u(d[89a-f][0-9a-f]{2})|\\.`)

// decode is the row of a line of JSON. It takes none that encoding/json would change.
func decode(line []byte) (Row, error) {
	if !utf8.Valid(line) {
		return Row{}, errors.New("it is no UTF-8: bytes are for key_base64 and value_base64")
	}
	if escape := half(line); escape != nil {
		return Row{}, fmt.Errorf("%s is half of a character", escape)
	}
	var f fields
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
			err = fmt.Errorf("%s: want an object", kind.Value)
			if kind.Field != "" {
				err = fmt.Errorf("%s: %s: want text", kind.Field, kind.Value)
			}
		}
		return Row{}, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Row{}, errors.New("more stands behind the object")
	}
	return f.row()
}

// half is the first escape of a surrogate that has no other. Most lines need no look at all, and
// those with millions of escapes no list of them.
func half(line []byte) []byte {
	if !bytes.Contains(line, []byte(`\ud`)) && !bytes.Contains(line, []byte(`\uD`)) {
		return nil
	}
	for {
		at := surrogates.FindSubmatchIndex(line)
		if at == nil {
			return nil
		}
		if at[2] >= 0 { // the one that is captured
			return line[at[0]:at[1]]
		}
		line = line[at[1]:]
	}
}

func csvReader(c *csv.Reader) (func() (Row, error), error) {
	header, err := readRecord(c)
	if err != nil {
		return nil, err // an empty file has no rows
	}
	header[0] = strings.TrimPrefix(header[0], byteOrderMark)
	for i, name := range header {
		if !slices.Contains(columns, name) {
			return nil, malformed(1, fmt.Errorf("column %q: want some of %s", name,
				strings.Join(columns, ", ")))
		}
		if slices.Contains(header[:i], name) {
			return nil, malformed(1, fmt.Errorf("column %q comes twice", name))
		}
	}
	c.ReuseRecord = true
	return func() (Row, error) {
		record, err := readRecord(c)
		if err != nil {
			return Row{}, err
		}
		line, _ := c.FieldPos(0)
		var f fields
		for i, name := range header {
			if err := f.set(name, record[i]); err != nil {
				return Row{}, malformed(line, fmt.Errorf("column %s: %w", name, err))
			}
		}
		if f.Value == nil && f.ValueBase64 == nil {
			f.Value = new(string) // an empty value and none look the same
		}
		row, err := f.row()
		row.line = line
		return row, malformed(line, err)
	}, nil
}

// readRecord reads the fields of a row of CSV.
func readRecord(c *csv.Reader) ([]string, error) {
	record, err := c.Read()
	if bad := (*csv.ParseError)(nil); errors.As(err, &bad) {
		err = malformed(bad.Line, bad.Err)
	}
	return record, err
}

// set sets the field of a column, unless it is empty.
func (f *fields) set(column, s string) (err error) {
	if s == "" {
		return nil
	}
	switch column {
	case "collection":
		f.Collection = s
	case "key":
		f.Key = &s
	case "key_base64":
		f.KeyBase64, err = base64.StdEncoding.DecodeString(s)
	case "value":
		f.Value = &s
	case "value_base64":
		f.ValueBase64, err = base64.StdEncoding.DecodeString(s)
	case "expires":
		f.Expires = new(time.Time)
		*f.Expires, err = time.Parse(time.RFC3339Nano, s)
	}
	return err
}

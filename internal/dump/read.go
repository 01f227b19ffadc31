package dump

import (
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
)

// ErrMalformed is matched by the errors about what is no row.
var ErrMalformed = errors.New("malformed")

// read yields the rows of a format. An error ends it, and tells the number of the row.
func read(r io.Reader, format string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		next, err := reader(r, format)
		for n := 1; ; n++ {
			var row Row
			if err == nil {
				row, err = next()
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil && !errors.Is(err, strictkv.ErrInvalid) {
				err = fmt.Errorf("row %d: %w", n, err)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// reader returns a function that reads the next row.
func reader(r io.Reader, format string) (func() (Row, error), error) {
	switch format {
	case JSON:
		dec := json.NewDecoder(r)
		dec.DisallowUnknownFields()
		return func() (Row, error) {
			var f fields
			if err := dec.Decode(&f); errors.Is(err, io.EOF) {
				return Row{}, err
			} else if err != nil {
				return Row{}, malformed(err)
			}
			row, err := f.row()
			return row, malformed(err)
		}, nil
	case CSV:
		return csvReader(csv.NewReader(r))
	}
	return nil, unknown(format)
}

// malformed marks an error as one of the input, unless that could not be read.
func malformed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}

func csvReader(c *csv.Reader) (func() (Row, error), error) {
	header, err := c.Read()
	if err != nil {
		return nil, err // an empty file has no rows
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff") // as spreadsheets begin their files
	for _, name := range header {
		if !slices.Contains(columns, name) {
			return nil, malformed(fmt.Errorf("column %q: want some of %s", name,
				strings.Join(columns, ", ")))
		}
	}
	c.ReuseRecord = true
	return func() (Row, error) {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			return Row{}, err
		} else if err != nil {
			return Row{}, malformed(err)
		}
		var f fields
		for i, name := range header {
			if err := f.set(name, record[i]); err != nil {
				return Row{}, malformed(fmt.Errorf("column %s: %w", name, err))
			}
		}
		if f.Value == nil && f.ValueBase64 == nil {
			f.Value = new(string) // an empty value and none look the same
		}
		row, err := f.row()
		return row, malformed(err)
	}, nil
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

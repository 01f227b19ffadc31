// Package dump writes collections into files, and loads them: keys with their values as JSON
// lines, or CSV. Whatever bytes they are, they come back the same.
//
// What is text in UTF-8 is written as it is; other bytes in base64, under a name of their own:
// key_base64 for key, value_base64 for value. So is, in CSV, which has no escapes, text that a
// terminal would act on, or that readers of CSV change: control characters, carriage returns.
package dump

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/keytext"
)

// The formats.
const (
	JSON = "jsonl"
	CSV  = "csv"
)

// Row is a key with its value.
type Row struct {
	// Collection is the path of the key's, as keytext.ParsePath reads it; empty where there is one
	// for all.
	Collection string
	Key        []byte
	// Value is nil where keys alone are wanted.
	Value []byte
	// Version is the value's, for who reads it. Nobody can write it.
	Version string
	Expires time.Time

	line int // that it was read from
}

// Of is the row of an item.
func Of(collection string, item strictkv.Item) Row {
	return Row{
		Collection: collection, Key: item.Key, Value: item.Value,
		Version: item.Version.String(), Expires: item.Expires.UTC(),
	}
}

// fields are those of a Row in JSON.
type fields struct {
	Collection  string     `json:"collection,omitempty"`
	Key         *string    `json:"key,omitempty"`
	KeyBase64   []byte     `json:"key_base64,omitempty"`
	Value       *string    `json:"value,omitempty"`
	ValueBase64 []byte     `json:"value_base64,omitempty"`
	Version     string     `json:"version,omitempty"`
	Expires     *time.Time `json:"expires,omitempty"`
}

// text splits bytes into text and what is none.
func text(b []byte, is func([]byte) bool) (*string, []byte) {
	switch {
	case b == nil:
		return nil, nil
	case is(b):
		s := string(b)
		return &s, nil
	}
	return nil, b
}

// MarshalJSON encodes the row.
func (r Row) MarshalJSON() ([]byte, error) {
	f := fields{Collection: r.Collection, Version: r.Version}
	f.Key, f.KeyBase64 = text(r.Key, utf8.Valid)
	f.Value, f.ValueBase64 = text(r.Value, utf8.Valid)
	if !r.Expires.IsZero() {
		f.Expires = &r.Expires
	}
	return json.Marshal(f)
}

// row is the Row of fields that were read.
func (f fields) row() (Row, error) {
	r := Row{Collection: f.Collection, Key: f.KeyBase64, Value: f.ValueBase64, Version: f.Version}
	if f.Key != nil {
		r.Key = []byte(*f.Key)
	}
	if f.Value != nil {
		r.Value = []byte(*f.Value)
	}
	if f.Expires != nil {
		r.Expires = *f.Expires
	}
	switch {
	case (f.Key == nil) == (f.KeyBase64 == nil):
		return r, errors.New("want one of key and key_base64")
	case (f.Value == nil) == (f.ValueBase64 == nil):
		return r, errors.New("want one of value and value_base64")
	}
	return r, nil
}

// writer writes rows.
type writer interface {
	// Write writes a row.
	Write(r Row) error
	// Close writes what is left to write, and tells what could not be.
	Close() error
}

// newWriter returns a writer of a format.
func newWriter(w io.Writer, format string) (writer, error) {
	switch format {
	case JSON:
		return jsonWriter{w}, nil
	case CSV:
		return &csvWriter{w: csv.NewWriter(w)}, nil
	}
	return nil, unknown(format)
}

func unknown(format string) error {
	return fmt.Errorf("format %q: want %s or %s: %w", format, JSON, CSV, strictkv.ErrInvalid)
}

type jsonWriter struct{ w io.Writer }

func (j jsonWriter) Write(r Row) error {
	line, err := keytext.JSON(r)
	if err != nil {
		return err
	}
	_, err = j.w.Write(append(line, '\n'))
	return err
}

func (j jsonWriter) Close() error { return nil }

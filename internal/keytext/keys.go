// Package keytext is how keys are written on a command line, and shown on a terminal: as text, in
// hexadecimal digits, or as tuples. What Show returns, Parse reads as the same bytes.
//
//	alice                text, as it is
//	"a\tb\xff"           quoted, with the escapes of Go: text that would look like another form
//	0x00ff               bytes, in hexadecimal digits
//	("users", 42)        a tuple of package layers/tuple
//
// The elements of a tuple are separated by commas: "text" in quotes, bytes as 0x00ff, integers,
// floats (with a point or an exponent; float32 ends with f), nil, true, false, UUIDs as they are
// usually written, and tuples. The other elements of package tuple can be given as bytes only.
package keytext

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/strictkv/strictkv/layers/tuple"
)

// ErrSyntax is matched by the errors of Parse and ParsePath.
var ErrSyntax = errors.New("not a key")

// Parse reads a key. It matches ErrSyntax what is no text, and none of the other forms.
func Parse(s string) ([]byte, error) {
	key, rest, err := next(s, "")
	if err == nil && rest != "" {
		err = fmt.Errorf("%q is left behind its end", rest)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrSyntax, s, err)
	}
	return key, nil
}

// ParsePath reads the names of a collection and of those around it, separated by slashes. A name
// that has a slash in it is to be quoted, or given as bytes.
func ParsePath(s string) ([][]byte, error) {
	var path [][]byte
	for rest := s; ; {
		name, tail, err := next(rest, "/")
		if err == nil && len(name) == 0 {
			err = errors.New("a name of the path is empty")
		}
		if err == nil && tail != "" && tail[0] != '/' {
			err = fmt.Errorf("%q where a slash should be", tail)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: collection %q: %w", ErrSyntax, s, err)
		}
		path = append(path, name)
		if tail == "" || tail == "/" {
			return path, nil
		}
		rest = tail[1:]
	}
}

// next reads the key at the beginning of s, and returns what is behind it. Text and digits end at
// stop, if there is one.
func next(s, stop string) (key []byte, rest string, err error) {
	if strings.HasPrefix(s, "(") {
		t, rest, err := parseTuple(s, 1)
		if err != nil {
			return nil, s, err
		}
		key, err := t.Pack()
		return key, rest, err
	}
	if strings.HasPrefix(s, `"`) {
		text, rest, err := quoted(s)
		return []byte(text), rest, err
	}
	text := s
	if i := strings.Index(s, stop); stop != "" && i >= 0 {
		text, rest = s[:i], s[i:]
	}
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		key, err = hex.DecodeString(digits)
		return key, rest, err
	}
	return []byte(text), rest, nil
}

// quoted reads the quoted string at the beginning of s.
func quoted(s string) (text, rest string, err error) {
	prefix, err := strconv.QuotedPrefix(s)
	if err == nil {
		text, err = strconv.Unquote(prefix)
	}
	if err != nil {
		return "", s, errors.New("a quoted string has no end, or an escape that is none")
	}
	return text, s[len(prefix):], nil
}

// Show returns a key in the form that tells most: as text if all of it can be printed, else as a
// tuple if it is one, else as Value does.
func Show(key []byte) string {
	if plain(key) {
		return string(key)
	}
	if t, err := tuple.Unpack(key); err == nil && len(t) > 0 {
		s := showTuple(t)
		if again, err := Parse(s); err == nil && string(again) == string(key) {
			return s
		}
	}
	return Value(key)
}

// ShowPath returns the names of a collection and of those around it, as ParsePath reads them.
func ShowPath(path [][]byte) string {
	names := make([]string, len(path))
	for i, name := range path {
		names[i] = Show(name)
		if plain(name) && strings.Contains(names[i], "/") {
			names[i] = strconv.Quote(names[i])
		}
	}
	return strings.Join(names, "/")
}

// Value returns bytes as text if all of it can be printed, quoted if it is text that a terminal
// would act on, and else in hexadecimal digits.
func Value(b []byte) string {
	switch {
	case plain(b):
		return string(b)
	case utf8.Valid(b):
		return strconv.Quote(string(b))
	}
	return "0x" + hex.EncodeToString(b)
}

// plain reports whether bytes can be shown as they are, and are read as text.
func plain(b []byte) bool {
	s := string(b)
	return s != "" && utf8.Valid(b) && strings.IndexFunc(s, acts) < 0 &&
		strings.TrimSpace(s) == s && !strings.HasPrefix(s, "0x") && !strings.ContainsAny(s[:1], `("`)
}

// acts reports whether a terminal does something else with a character than to print it: with
// control characters, and those that change the direction of writing, among others.
func acts(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }

// Safe escapes what a terminal would act on, but for the ends of lines and tabs.
func Safe(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == '\n' || r == '\t' || !acts(r) {
			out.WriteString(text[:n])
		} else {
			q := strconv.Quote(text[:n])
			out.WriteString(q[1 : len(q)-1])
		}
		text = text[n:]
	}
	return out.String()
}

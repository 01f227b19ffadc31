package keytext

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/strictkv/strictkv/layers/tuple"
)

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// parseTuple reads the tuple at the beginning of s, which begins with its parenthesis, and
// returns what is behind it. It is nested in others, up to depth with itself.
func parseTuple(s string, depth int) (t tuple.Tuple, rest string, err error) {
	if depth > tuple.DepthMax {
		return nil, s, fmt.Errorf("tuples are nested deeper than %d", tuple.DepthMax)
	}
	t, rest = tuple.Tuple{}, blank(s[1:])
	for !strings.HasPrefix(rest, ")") {
		var e any
		if e, rest, err = parseElement(rest, depth); err != nil {
			return nil, s, fmt.Errorf("element %d: %w", len(t), err)
		}
		t, rest = append(t, e), blank(rest)
		tail, comma := strings.CutPrefix(rest, ",")
		if !comma && !strings.HasPrefix(rest, ")") {
			return nil, s, fmt.Errorf("no comma or parenthesis behind element %d", len(t)-1)
		}
		rest = blank(tail)
	}
	return t, rest[1:], nil
}

func blank(s string) string { return strings.TrimLeft(s, " ") }

func parseElement(s string, depth int) (e any, rest string, err error) {
	switch {
	case strings.HasPrefix(s, "("):
		return parseTuple(s, depth+1)
	case strings.HasPrefix(s, `"`):
		return quoted(s)
	}
	word, rest := s, ""
	if i := strings.IndexAny(s, ",)"); i >= 0 {
		word, rest = s[:i], s[i:]
	}
	e, err = parseWord(strings.TrimRight(word, " "))
	return e, rest, err
}

func parseWord(word string) (any, error) {
	switch word {
	case "":
		return nil, errors.New("it is empty")
	case "nil":
		return nil, nil
	case "true", "false":
		return word == "true", nil
	}
	if digits, ok := strings.CutPrefix(word, "0x"); ok {
		return hex.DecodeString(digits)
	}
	if uuid.MatchString(word) {
		var u tuple.UUID
		_, err := hex.Decode(u[:], []byte(strings.ReplaceAll(word, "-", "")))
		return u, err
	}
	if i, ok := new(big.Int).SetString(word, 10); ok {
		return i, nil
	}
	if strings.ContainsAny(word, ".e") {
		if short, ok := strings.CutSuffix(word, "f"); ok {
			f, err := strconv.ParseFloat(short, 32)
			return float32(f), err
		}
		return strconv.ParseFloat(word, 64)
	}
	return nil, fmt.Errorf("%q is neither a number nor in quotes", word)
}

// showTuple returns the tuple as parseTuple reads it, but for elements that have no form.
func showTuple(t tuple.Tuple) string {
	parts := make([]string, len(t))
	for i, e := range t {
		parts[i] = showElement(e)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func showElement(e any) string {
	switch e := e.(type) {
	case nil:
		return "nil"
	case string:
		return strconv.Quote(e)
	case []byte:
		return "0x" + hex.EncodeToString(e)
	case tuple.Tuple:
		return showTuple(e)
	case float32:
		return pointed(strconv.FormatFloat(float64(e), 'g', -1, 32)) + "f"
	case float64:
		return pointed(strconv.FormatFloat(e, 'g', -1, 64))
	case tuple.UUID:
		h := hex.EncodeToString(e[:])
		return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
	}
	return fmt.Sprint(e)
}

// pointed makes digits a float's.
func pointed(digits string) string {
	if strings.ContainsAny(digits, ".e") {
		return digits
	}
	return digits + ".0"
}

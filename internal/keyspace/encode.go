package keyspace

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
)

// The encoding of keys and collection names keeps their byte order, leaves plain
// text readable, is ASCII that every store accepts, and has a bounded growth: 512
// bytes become encodedMax at most.
//
//   - Plain bytes stand for themselves: & ' ( ) * + , - . 0-9 : @ A-Z _ ` a-z
//   - All others are escaped: a lead, then two upper-case hexadecimal digits. The
//     lead depends on the region: '!' for 00-25, ';' for 3B-3F, '^' for 5B-5E, '~'
//     for 7B-FF. The slash (2F), a region of its own, is the lead ".~~" alone.
//   - After escapesMax escapes the next byte that needs one begins the binary
//     tail: the lead of its region, then it and all that follow it in base64, with
//     an alphabet in ASCII order, without padding, unused low bits zero.
//   - A dot that would end the encoded name is followed by '!', as some stores
//     drop the dots at the end of a path segment.
//
// Why the order is kept. Let a < b be names and p their longest common beginning;
// the encoder is in the same state behind p in both. If that is within a binary
// tail, base64 in ASCII order with zero bits at the end compares as the bytes do.
// Otherwise,
//
//   - a = p: enc(a) is the beginning of enc(b), and shorter. If p ends with a dot,
//     enc(a) has one '!' more: what follows the dot in enc(b) is greater, or "!XX"
//     or a tail that begins with '!', which are longer.
//   - both go on with bytes x < y of one region: the leads are equal, both are in
//     hexadecimal or both begin a tail, and each compares as the bytes do.
//   - x and y are of different regions or plain: a lead is less than every plain
//     byte and lead above its region, and greater than every one below. The slash
//     is less than '0' and greater than '-' by its '.', and greater than a dot with
//     anything behind it: only the slash puts "~~" behind a dot, since '~' as a
//     lead is followed by a digit or a letter of base64, all less than '~'.

const (
	escapesMax = 32
	// encodedMax is the longest encoding: 32 escaped slashes, then a tail of 480
	// bytes that begins with a slash.
	encodedMax = 3*escapesMax + len(slash) + (KeyMax-escapesMax)*8/6
	slash      = ".~~"
	hexDigits  = "0123456789ABCDEF"
)

// tail is the base64 of the binary tail.
var tail = base64.NewEncoding(
	"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz",
).WithPadding(base64.NoPadding).Strict()

// leads are the leads of all bytes, empty for the plain ones.
var leads = func() (t [256]string) {
	for i := range t {
		switch b := byte(i); {
		case b <= '%':
			t[i] = "!"
		case b == '/':
			t[i] = slash
		case b >= ';' && b <= '?':
			t[i] = ";"
		case b >= '[' && b <= '^':
			t[i] = "^"
		case b >= '{':
			t[i] = "~"
		}
	}
	return t
}()

// appendName appends the encoding of name to dst.
func appendName(dst, name []byte) []byte {
	escapes := 0
	for i, b := range name {
		lead := leads[b]
		if lead == "" {
			dst = append(dst, b)
			continue
		}
		dst = append(dst, lead...)
		if escapes == escapesMax {
			return tail.AppendEncode(dst, name[i:])
		}
		escapes++
		if b != '/' {
			dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
		}
	}
	if name[len(name)-1] == '.' {
		dst = append(dst, '!')
	}
	return dst
}

var errEncoding = errors.New("not an encoded name")

// decodeName is the inverse of appendName. It accepts nothing that appendName does
// not make: what it reads leniently, the comparison at the end refuses.
func decodeName(s string) ([]byte, error) {
	if s == "" || len(s) > encodedMax {
		return nil, errEncoding
	}
	if isPlain(s) {
		return []byte(s), nil
	}
	name := make([]byte, 0, min(len(s), KeyMax))
	for escapes, rest := 0, s; rest != "" && rest != "!"; {
		lead := leadOf(rest)
		if lead == "" {
			name, rest = append(name, rest[0]), rest[1:]
			continue
		}
		var escaped []byte
		var err error
		escaped, rest, err = unescape(lead, rest[len(lead):], escapes == escapesMax)
		if err != nil {
			return nil, errEncoding
		}
		name = append(name, escaped...)
		escapes++
	}
	var buf [encodedMax]byte
	if len(name) == 0 || len(name) > KeyMax || string(appendName(buf[:0], name)) != s {
		return nil, errEncoding
	}
	return name, nil
}

// isPlain reports whether s is the encoding of itself, as that of most names is.
func isPlain(s string) bool {
	for i := range len(s) {
		if leads[s[i]] != "" {
			return false
		}
	}
	return len(s) <= KeyMax && s[len(s)-1] != '.'
}

// unescape decodes what follows a lead: the tail if it begins one, else one byte.
// It returns what is left of s.
func unescape(lead, s string, inTail bool) (escaped []byte, rest string, err error) {
	switch {
	case inTail:
		escaped, err = tail.DecodeString(s)
		return escaped, "", err
	case lead == slash:
		return []byte{'/'}, s, nil
	case len(s) < 2:
		return nil, "", errEncoding
	}
	escaped, err = hex.DecodeString(s[:2])
	return escaped, s[2:], err
}

// leadOf returns the lead that s, not empty, begins with, if any.
func leadOf(s string) string {
	if strings.HasPrefix(s, slash) {
		return slash
	}
	if strings.IndexByte("!;^~", s[0]) >= 0 {
		return s[:1]
	}
	return ""
}

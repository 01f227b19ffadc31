package resp

import (
	"bytes"
	"slices"
	"strconv"
)

// line takes the next line, without its end; nil if it has not come as a whole. One that is
// longer than limit is what tooLong says.
func (r *Reader) line(limit int, tooLong ProtocolError) ([]byte, error) {
	i := bytes.IndexByte(r.buf[r.r+r.seen:r.w], '\n')
	if i < 0 {
		r.seen = r.w - r.r
		if r.seen >= limit {
			return nil, tooLong
		}
		return nil, nil
	}
	end := r.r + r.seen + i
	text := r.buf[r.r:end]
	if len(text) >= limit {
		return nil, tooLong
	}
	r.r, r.seen = end+1, 0
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	return text[:len(text):len(text)], nil
}

// begin reads the line that begins a command, and reports whether that has come.
func (r *Reader) begin() (bool, error) {
	if r.buf[r.r] != '*' {
		return r.inline()
	}
	text, err := r.line(countMax, "too big mbulk count string")
	if text == nil || err != nil {
		return false, err
	}
	n, ok := ParseInt(text[1:])
	switch {
	case !ok || n > ArgsMax:
		return false, ProtocolError("invalid multibulk length")
	case n > int64(r.bounds.Args):
		return false, ProtocolError("unauthenticated multibulk length")
	}
	r.left = max(int(n), 0)
	return true, nil
}

// inline reads a command that is a line of words.
func (r *Reader) inline() (bool, error) {
	text, err := r.line(InlineMax, "too big inline request")
	if text == nil || err != nil {
		return false, err
	}
	words, ok := Split(text)
	if !ok {
		return false, ProtocolError("unbalanced quotes in request")
	}
	for _, word := range words {
		r.args = append(r.args, word)
		if err := r.took(word); err != nil {
			return false, err
		}
	}
	return true, nil
}

// argument reads what has come of the next argument, and reports whether that is all of it.
func (r *Reader) argument() (bool, error) {
	if r.large != nil {
		return r.rest()
	}
	if r.bulk < 0 {
		if more, err := r.length(); err != nil || !more {
			return false, err
		}
		if r.large != nil {
			return r.rest()
		}
	}
	end := r.r + r.bulk
	if r.w < end+2 {
		return false, nil
	}
	at := len(r.arena)
	r.arena = append(r.arena, r.buf[r.r:end]...)
	r.r = end + 2
	arg := r.arena[at:len(r.arena):len(r.arena)]
	r.add(arg)
	return true, r.took(arg)
}

// length reads the line before an argument, and reports whether that has come.
func (r *Reader) length() (bool, error) {
	if r.w == r.r {
		return false, nil
	}
	if c := r.buf[r.r]; c != '$' {
		return false, ProtocolError("expected '$', got '" + printable(c) + "'")
	}
	text, err := r.line(countMax, "too big bulk count string")
	if text == nil || err != nil {
		return false, err
	}
	n, ok := ParseInt(text[1:])
	switch {
	case !ok || n < 0:
		return false, ProtocolError("invalid bulk length")
	case n > int64(r.bounds.Bulk):
		return false, ProtocolError("invalid bulk length")
	}
	r.bulk = int(n)
	if r.bulk < largeMin {
		return true, nil
	}
	if err := r.reserve(r.bulk); err != nil {
		return false, err
	}
	r.large, r.have = r.place(r.bulk+2), 0
	return true, nil
}

// place is memory for a large argument, which has the capacity for what comes behind it.
func (r *Reader) place(size int) []byte {
	at := len(r.arena)
	if at+size+bufferMin > keptMax {
		return make([]byte, size, size+bufferMin)
	}
	r.arena = slices.Grow(r.arena, size+bufferMin)[:at+size]
	return r.arena[at : at+size : at+size+bufferMin]
}

// rest goes on with a large argument, which ends with the two bytes behind it.
func (r *Reader) rest() (bool, error) {
	n := copy(r.large[r.have:], r.buf[r.r:r.w])
	r.r += n
	r.have += n
	if r.have < len(r.large) {
		return false, nil
	}
	arg := r.large[:r.bulk:r.bulk]
	r.large, r.have = nil, 0
	r.add(arg)
	return true, nil
}

func (r *Reader) add(arg []byte) {
	r.args = append(r.args, arg)
	r.left--
	r.bulk = -1
}

func printable(c byte) string {
	if c < ' ' || c > '~' {
		return "\\x" + strconv.FormatUint(uint64(c), 16)
	}
	return string(rune(c))
}

// ParseInt is the number that text stands for in its only form: without a plus, without leading
// zeros.
func ParseInt(text []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || len(text) > 20 {
		return 0, false
	}
	digits := bytes.TrimPrefix(text, []byte("-"))
	if digits[0] == '+' || digits[0] == '0' && len(text) > 1 {
		return 0, false
	}
	return n, true
}

// Split takes a line apart into words, as Redis does: between spaces, in double quotes with \n,
// \r, \t, \a, \b and \xff in them, in single quotes with \' in them. It reports whether the quotes
// are balanced. The words don't share the line's memory.
func Split(line []byte) ([][]byte, bool) {
	var words [][]byte
	for {
		line = bytes.TrimLeft(line, " \t\r\n\v\f\x00")
		if len(line) == 0 {
			return words, true
		}
		word, rest, ok := word(line)
		if !ok {
			return nil, false
		}
		words, line = append(words, word), rest
	}
}

// word takes the first word off a line that begins with one.
func word(line []byte) (word, rest []byte, ok bool) {
	word = []byte{}
	for len(line) > 0 {
		switch c := line[0]; c {
		case ' ', '\t', '\r', '\n', 0:
			return word, line, true
		case '"', '\'':
			var quoted []byte
			if quoted, line, ok = unquote(line[1:], c); !ok {
				return nil, nil, false
			}
			word = append(word, quoted...)
			if len(line) > 0 && !space(line[0]) {
				return nil, nil, false
			}
		default:
			word, line = append(word, c), line[1:]
		}
	}
	return word, line, true
}

func space(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// unquote takes text up to the quote that ends it.
func unquote(line []byte, quote byte) (text, rest []byte, ok bool) {
	for len(line) > 0 {
		c := line[0]
		switch {
		case c == quote:
			return text, line[1:], true
		case c == '\\' && quote == '\'' && len(line) > 1 && line[1] == '\'':
			text, line = append(text, '\''), line[2:]
		case c == '\\' && quote == '"' && len(line) > 1:
			var n int
			c, n = escape(line[1:])
			text, line = append(text, c), line[1+n:]
		default:
			text, line = append(text, c), line[1:]
		}
	}
	return nil, nil, false
}

// escape is the byte that is written behind a backslash, and how long that is.
func escape(s []byte) (c byte, n int) {
	if s[0] == 'x' && len(s) >= 3 {
		if v, err := strconv.ParseUint(string(s[1:3]), 16, 8); err == nil {
			return byte(v), 3
		}
	}
	switch s[0] {
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'b':
		return '\b', 1
	case 'a':
		return '\a', 1
	}
	return s[0], 1
}

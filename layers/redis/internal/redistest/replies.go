package redistest

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Replies reads replies as Client.Receive returns them.
type Replies struct{ r *bufio.Reader }

// NewReplies reads from r.
func NewReplies(r io.Reader) *Replies { return &Replies{bufio.NewReader(r)} }

// Next returns the next reply.
func (r *Replies) Next() (string, error) {
	line, err := r.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return "", fmt.Errorf("an empty line for a reply")
	}
	kind, text := line[0], line[1:]
	switch kind {
	case '+', ':', ',', '#', '(':
		return text, nil
	case '-':
		return line, nil
	case '_':
		return "nil", nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return "", fmt.Errorf("reply %q: %w", line, err)
	}
	switch {
	case n < 0:
		return "nil", nil
	case kind == '$' || kind == '=':
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r.r, b); err != nil {
			return "", err
		}
		return "'" + printable(b[:n]) + "'", nil
	case kind == '*':
		return r.all(n, "[", " ", "]")
	case kind == '~':
		return r.all(n, "<", " ", ">")
	case kind == '%':
		return r.all(2*n, "{", ":", "}")
	}
	return "", fmt.Errorf("reply %q", line)
}

// all reads n replies.
func (r *Replies) all(n int, open, between, end string) (string, error) {
	var b strings.Builder
	b.WriteString(open)
	for i := range n {
		s, err := r.Next()
		if err != nil {
			return "", err
		}
		switch {
		case i > 0 && between == ":" && i%2 == 0:
			b.WriteString(" ")
		case i > 0:
			b.WriteString(between)
		}
		b.WriteString(s)
	}
	b.WriteString(end)
	return b.String(), nil
}

// printable is text with what can't be printed in hexadecimal digits.
func printable(text []byte) string {
	var b strings.Builder
	for _, c := range text {
		if c >= ' ' && c <= '~' || c == '\n' || c == '\r' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "\\x%02x", c)
		}
	}
	return b.String()
}

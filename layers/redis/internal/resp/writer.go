package resp

import (
	"io"
	"math"
	"net"
	"strconv"
	"strings"
)

// referMin is from which size on, in bytes, a bulk string is referred to, not copied.
const referMin = 16 << 10

// plainMin and plainMax are between what numbers are written without an exponent.
const plainMin, plainMax = 1e-5, 1e17

// Error is a reply that says what is wrong. It begins with a code in capitals, such as ERR.
type Error string

// Error is the reply's text.
func (e Error) Error() string { return string(e) }

// Writer collects replies, in version 2 or 3 of the protocol: what the former lacks is written as
// Redis does. Nothing is sent before WriteTo.
type Writer struct {
	// Version is 2 or 3.
	Version int

	buf   []byte
	large []refer
	size  int // of what is referred to
}

// refer is a long string that belongs before the byte at of the buffer.
type refer struct {
	at   int
	data []byte
}

// Mark is a place among the replies.
type Mark struct{ buf, large, size int }

// Mark is the place where the next reply will be.
func (w *Writer) Mark() Mark { return Mark{len(w.buf), len(w.large), w.size} }

// Rewind forgets all replies since a place.
func (w *Writer) Rewind(m Mark) {
	w.buf = w.buf[:m.buf]
	clear(w.large[m.large:])
	w.large, w.size = w.large[:m.large], m.size
}

// Len is how many bytes there are to send.
func (w *Writer) Len() int { return len(w.buf) + w.size }

// WriteTo sends all, and forgets it: at once, if who takes it is a Gatherer.
func (w *Writer) WriteTo(to io.Writer) (int64, error) {
	if len(w.large) == 0 {
		n, err := to.Write(w.buf)
		w.reset()
		return int64(n), err
	}
	var parts net.Buffers
	at := 0
	for _, l := range w.large {
		parts = append(parts, w.buf[at:l.at], l.data)
		at = l.at
	}
	parts = append(parts, w.buf[at:])
	defer w.reset()
	if g, ok := to.(Gatherer); ok {
		return g.WriteAll(parts)
	}
	return parts.WriteTo(to)
}

// Gatherer is who can take several parts at once: a connection that hides behind an io.Writer
// gets each by a call of the system.
type Gatherer interface {
	// WriteAll writes parts in order, and may change them. It returns how many bytes it has
	// written: less than all only with an error.
	WriteAll(parts net.Buffers) (int64, error)
}

func (w *Writer) reset() {
	w.Rewind(Mark{})
	switch n := cap(w.buf); {
	case n == bufferMax:
		buffers.Put((*[bufferMax]byte)(w.buf[:n]))
		w.buf = nil
	case n > bufferMin:
		w.buf = nil
	}
	w.large = nil
}

// room makes some for n bytes more.
func (w *Writer) room(n int) {
	if n += len(w.buf); n > bufferMin && n > cap(w.buf) && n <= bufferMax {
		larger := buffers.Get().(*[bufferMax]byte)[:0]
		w.buf = append(larger, w.buf...)
	}
}

func (w *Writer) end() { w.buf = append(w.buf, '\r', '\n') }

func (w *Writer) number(kind byte, n int64) {
	w.buf = append(w.buf, kind)
	w.buf = strconv.AppendInt(w.buf, n, 10)
	w.end()
}

func (w *Writer) text(kind byte, s string) {
	w.buf = append(w.buf, kind)
	if strings.ContainsAny(s, "\r\n") {
		s = strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
	}
	w.buf = append(w.buf, s...)
	w.end()
}

// Status is a short text, such as OK.
func (w *Writer) Status(s string) { w.text('+', s) }

// errorMax is how long an error may be, in bytes: it may repeat what the client has sent.
const errorMax = 1 << 10

// Error is what is wrong, or the beginning of that.
func (w *Writer) Error(e Error) { w.text('-', string(e[:min(len(e), errorMax)])) }

// Int is an integer.
func (w *Writer) Int(n int64) { w.number(':', n) }

// Bulk is a string of bytes. It must not change before it was sent.
func (w *Writer) Bulk(b []byte) {
	w.number('$', int64(len(b)))
	if len(b) >= referMin {
		w.large = append(w.large, refer{len(w.buf), b})
		w.size += len(b)
	} else {
		w.room(len(b))
		w.buf = append(w.buf, b...)
	}
	w.end()
}

// String is Bulk.
func (w *Writer) String(s string) {
	w.number('$', int64(len(s)))
	w.buf = append(w.buf, s...)
	w.end()
}

// Verbatim is a text to be shown as it is.
func (w *Writer) Verbatim(s string) {
	if w.Version < 3 {
		w.String(s)
		return
	}
	w.number('=', int64(len(s)+len("txt:")))
	w.buf = append(w.buf, "txt:"...)
	w.buf = append(w.buf, s...)
	w.end()
}

// Null stands where there is no value.
func (w *Writer) Null() {
	if w.Version < 3 {
		w.buf = append(w.buf, "$-1\r\n"...)
		return
	}
	w.buf = append(w.buf, "_\r\n"...)
}

// NullArray stands where there is no array.
func (w *Writer) NullArray() {
	if w.Version < 3 {
		w.buf = append(w.buf, "*-1\r\n"...)
		return
	}
	w.Null()
}

// Array begins an array of n replies.
func (w *Writer) Array(n int) { w.number('*', int64(n)) }

// Map begins n pairs of replies.
func (w *Writer) Map(n int) {
	if w.Version < 3 {
		w.Array(2 * n)
		return
	}
	w.number('%', int64(n))
}

// Set begins n replies that are in no order.
func (w *Writer) Set(n int) {
	if w.Version < 3 {
		w.Array(n)
		return
	}
	w.number('~', int64(n))
}

// Double is a number.
func (w *Writer) Double(f float64) {
	if w.Version < 3 {
		w.String(FormatDouble(f))
		return
	}
	w.text(',', FormatDouble(f))
}

// Bool is true or false.
func (w *Writer) Bool(b bool) {
	switch {
	case w.Version < 3 && b:
		w.Int(1)
	case w.Version < 3:
		w.Int(0)
	case b:
		w.buf = append(w.buf, "#t\r\n"...)
	default:
		w.buf = append(w.buf, "#f\r\n"...)
	}
}

// FormatDouble is f in as few digits as tell it from its neighbours, in the form that Redis
// writes scores in.
func FormatDouble(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	case f == 0 && math.Signbit(f):
		return "-0"
	case f == 0 || math.Abs(f) >= plainMin && math.Abs(f) < plainMax:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'e', -1, 64)
}

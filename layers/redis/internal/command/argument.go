package command

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// What is wrong with an argument, in the words of Redis.
const (
	ErrSyntax   = resp.Error("ERR syntax error")
	ErrNotInt   = resp.Error("ERR value is not an integer or out of range")
	ErrNotFloat = resp.Error("ERR value is not a valid float")
	ErrOverflow = resp.Error("ERR increment or decrement would overflow")
	ErrNaN      = resp.Error("ERR increment would produce NaN or Infinity")
	ErrNoKey    = resp.Error("ERR no such key")
)

// Int is the argument as an integer.
func (c *Call) Int(i int) (int64, error) {
	n, ok := resp.ParseInt(c.Args[i])
	if !ok {
		return 0, ErrNotInt
	}
	return n, nil
}

// Float is the argument as a number: it may be infinite, and is never NaN.
func (c *Call) Float(i int) (float64, error) {
	f, ok := ParseFloat(c.Args[i])
	if !ok {
		return 0, ErrNotFloat
	}
	return f, nil
}

// ParseFloat is the number that text stands for; not NaN.
func ParseFloat(text []byte) (float64, bool) {
	s := string(text)
	if s == "" || strings.ContainsAny(s, " \t\n\v\f\r_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return 0, false
	}
	return f, true
}

// AddFloat is the sum of two numbers as INCRBYFLOAT and HINCRBYFLOAT make it: with the 64 bits of
// precision of a long double, and written with at most 17 decimals, without an exponent.
func AddFloat(value, increment []byte) ([]byte, error) {
	a, ok := long(value)
	if !ok {
		return nil, ErrNotFloat
	}
	b, ok := long(increment)
	if !ok {
		return nil, ErrNotFloat
	}
	if a.IsInf() || b.IsInf() {
		return nil, ErrNaN
	}
	sum := a.Add(a, b).Text('f', 17)
	sum = strings.TrimSuffix(strings.TrimRight(sum, "0"), ".")
	if sum == "-0" {
		sum = "0"
	}
	return []byte(sum), nil
}

// long is the number that text stands for, of the precision of a long double.
func long(text []byte) (*big.Float, bool) {
	f, ok := ParseFloat(text)
	if !ok {
		return nil, false
	}
	if math.IsInf(f, 0) {
		return new(big.Float).SetInf(f < 0), true
	}
	l, _, err := big.ParseFloat(string(text), 0, 64, big.ToNearestEven)
	return l, err == nil
}

// Between turns the bounds of a range that counts from 0, or from the end if it is negative, into
// those of a slice of n elements; both are 0 if it is empty.
func Between(start, end int64, n int) (from, to int) {
	size := int64(n)
	if start < 0 {
		start = max(start+size, 0)
	}
	if end < 0 {
		end += size
	}
	end = min(end, size-1)
	if start > end || size == 0 {
		return 0, 0
	}
	return int(start), int(end) + 1
}

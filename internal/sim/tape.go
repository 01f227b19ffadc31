package sim

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/strictkv/strictkv/internal/sim/baton"
)

// tape is the sequence of decisions, one byte each; 0 is always the benign one. With
// a source it records what that gives; without, an exhausted tape reads zeros.
type tape struct {
	bytes  []byte
	pos    int
	random *baton.Source
	word   uint64
	left   int
}

func (t *tape) next() byte {
	if t.pos == len(t.bytes) {
		if t.random == nil {
			return 0
		}
		if t.left == 0 {
			t.word, t.left = t.random.Next(), 8
		}
		t.bytes = append(t.bytes, byte(t.word))
		t.word >>= 8
		t.left--
	}
	t.pos++
	return t.bytes[t.pos-1]
}

// below returns a number from 0 to n-1, 0 for a zero byte.
func (t *tape) below(n int) int { return int(t.next()) % n }

// EncodeTape makes a tape fit for a command line.
func EncodeTape(t []byte) string {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err == nil {
		_, err = w.Write(t)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a buffer takes anything
	}
	return "." + base64.RawURLEncoding.EncodeToString(b.Bytes())
}

// DecodeTape is the inverse of EncodeTape.
func DecodeTape(s string) ([]byte, error) {
	z, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(s, "."))
	if err != nil {
		return nil, fmt.Errorf("tape: %w", err)
	}
	t, err := io.ReadAll(flate.NewReader(bytes.NewReader(z)))
	if err != nil {
		return nil, fmt.Errorf("tape: %w", err)
	}
	if t == nil {
		t = []byte{}
	}
	return t, nil
}

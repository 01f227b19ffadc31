package progress

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNoTerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	var buffer bytes.Buffer
	for _, b := range []*Bar{New(file, "a file", 60), New(&buffer, "a pipe", 60)} {
		b.Set(1)
		b.Close()
	}
	require.NoError(t, file.Close())
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	assert.Empty(t, string(text)+buffer.String())
}

// TestTerminal: the bar fits, and nothing of it is left when it has been closed.
func TestTerminal(t *testing.T) {
	var out bytes.Buffer
	b := bar(&out, strings.Repeat("ü", 100), 60, true)
	b.Set(30)
	assert.Contains(t, out.String(), " 50% |")
	b.Close()
	states := strings.Split(out.String(), "\r")
	for _, s := range states {
		assert.LessOrEqual(t, utf8.RuneCountInString(s), 80, s)
	}
	assert.Empty(t, strings.TrimSpace(states[len(states)-2]), "%q", states)
	assert.NotContains(t, out.String(), "\n")
}

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/plain"
)

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, want := range []string{"Hello", "world!", "Hello"} {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), &out, dir))
		require.NoError(t, plain.Check(strings.ReplaceAll(out.String(), dir, "./data")))
		assert.Contains(t, out.String(), `in folder `+dir+"\n")
		assert.Contains(t, out.String(), "by 1 read and 1 conditional write\n")
		assert.Contains(t, out.String(), `my-collection/key is now "`+want+`"`)
	}
}

const root = "../.."

// goBlock is a Go program in a page.
var goBlock = regexp.MustCompile("(?s)```go\n(package main\n.*?)```")

// TestReadme compiles the README's program, and runs it twice: once it says "Hello",
// once "world!".
func TestReadme(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	block := goBlock.FindSubmatch(page)
	require.NotNil(t, block, "README.md has no Go program")

	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "readme.exe")
	require.NoError(t, os.WriteFile(source, block[1], 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source)
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, want := range []string{"Hello\n", "world!\n"} {
		program := exec.CommandContext(t.Context(), binary)
		program.Dir = dir
		out, err := program.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Equal(t, want, string(out))
	}
}

// TestReadmeTransaction: the README shows the transaction that this program runs.
func TestReadmeTransaction(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, body, found := strings.Cut(string(source), "\tcoll := db.Collection")
	require.True(t, found)
	body, _, found = strings.Cut(body, "\n\t})\n")
	require.True(t, found)
	// The README's program says backend.ErrNotFound, which strictkv.ErrNotFound matches.
	shown := strings.ReplaceAll(string(page), "backend.ErrNotFound", "strictkv.ErrNotFound")
	assert.Contains(t, shown, "\tcoll := db.Collection"+body+"\n\t})\n")
}

package lint

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	whyLineNumber = "line numbers are wrong a month later: cite the symbol"
	whyCommand    = "README.md promises two commands on its first screen, and CI runs both"
	whyTop        = "the top level is what a newcomer sees first: it holds nothing else"
)

// page is one Markdown file.
type page struct {
	name string // slash-separated, relative to the root
	text string
}

func pages(t *testing.T) []page {
	t.Helper()
	paths, err := names(".md")
	require.NoError(t, err)
	var all []page
	for _, name := range paths {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		all = append(all, page{name, string(text)})
	}
	return all
}

var lineNumber = regexp.MustCompile(`\.go(:|#L)[0-9]+`)

// lineNumbers looks for citations of source by line.
func lineNumbers(p page) []finding {
	var found []finding
	for i, line := range strings.Split(p.text, "\n") {
		if cited := lineNumber.FindString(line); cited != "" {
			found = append(found, finding{p.name, i + 1, "cites a line: " + cited, whyLineNumber})
		}
	}
	return found
}

func TestLineNumbers(t *testing.T) {
	for _, p := range pages(t) {
		report(t, lineNumbers(p))
	}
	p := page{"docs/page.md", "See\n`Tx.Commit` in db.go, not db.go:12 nor db.go#L7."}
	assert.Equal(t, []finding{
		{"docs/page.md", 2, "cites a line: .go:12", whyLineNumber},
	}, lineNumbers(p))
}

// commands are what README.md promises to work in a fresh clone; .ci/run runs
// both.
var commands = []string{"go run ./examples/quickstart", "go test ./..."}

// missing are the commands that no line of text ends with.
func missing(text string) []string {
	var absent []string
	for _, c := range commands {
		line := regexp.MustCompile(`(?m)(^| )` + regexp.QuoteMeta(c) + `[ \t]*(#.*)?$`)
		if !line.MatchString(text) {
			absent = append(absent, c)
		}
	}
	return absent
}

func TestReadmeCommands(t *testing.T) {
	for _, name := range []string{"README.md", ".ci/run"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		for _, c := range missing(string(text)) {
			t.Error(finding{place: name, what: "no line ends with: " + c, why: whyCommand})
		}
	}
	assert.Empty(t, missing("go run ./examples/quickstart  # try it\n$ go test ./...\n"))
	assert.Equal(t, commands, missing("go run ./examples/quickstart/x\ngo test ./... -short\n"))
}

// topLevel are the names that the root of the repository holds beside Go files
// and dot files.
var topLevel = []string{
	"go.mod", "go.sum", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
	"backend", "internal", "cache", "examples", "benchmarks", "layers", "docs", "cmd",
}

// layout looks for other entries of the root. What git ignores does not count.
func layout(entries, ignored []string) []finding {
	var found []finding
	for _, name := range entries {
		known := strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".go") ||
			slices.Contains(topLevel, name)
		if known || slices.ContainsFunc(ignored, func(pattern string) bool {
			match, _ := path.Match(strings.Trim(pattern, "/"), name)
			return match
		}) {
			continue
		}
		found = append(found, finding{place: name, why: whyTop,
			what: fmt.Sprintf("not one of *.go, dot files, %s", strings.Join(topLevel, ", "))})
	}
	return found
}

func TestLayout(t *testing.T) {
	dir, err := os.ReadDir(root)
	require.NoError(t, err)
	var entries []string
	for _, e := range dir {
		entries = append(entries, e.Name())
	}
	ignored, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	require.NoError(t, err)
	report(t, layout(entries, strings.Fields(string(ignored))))

	entries = []string{".ci", "db.go", "docs", "data", "scripts", "x.prof"}
	found := layout(entries, []string{"/data/", "*.prof"})
	require.Len(t, found, 1)
	assert.Equal(t, "scripts", found[0].place)
}

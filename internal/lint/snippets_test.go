package lint

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const whySnippet = "code in a document that does not compile was right once: a block begins with " +
	"\"package\", or has a line <!-- go: name type; ... --> above it with what it uses"

// snippet is a block of Go code in a page, as a file that can be checked.
type snippet struct {
	place string
	line  int // of the block's first line
	file  []byte
}

// known are the packages that fragments use by name alone.
var known = map[string]string{
	"bytes": "bytes", "context": "context", "errors": "errors", "fmt": "fmt", "log": "log",
	"os": "os", "slog": "log/slog", "testing": "testing", "time": "time", "json": "encoding/json",
	"binary": "encoding/binary", "rand": "math/rand/v2", "crand": "crypto/rand",
	"strconv": "strconv",
	"storage": "cloud.google.com/go/storage", "require": "github.com/stretchr/testify/require",
	"strictkv": modulePath, "backend": modulePath + "/backend", "cache": modulePath + "/cache",
	"bucketurl": modulePath + "/backend/bucketurl", "faulty": modulePath + "/backend/faulty",
	"folder": modulePath + "/backend/folder", "memory": modulePath + "/backend/memory",
	"gcs": modulePath + "/backend/gcs", "azure": modulePath + "/backend/azure",
	"s3": modulePath + "/backend/s3", "simulated": modulePath + "/backend/simulated",
	"queue": modulePath + "/layers/queue", "redis": modulePath + "/layers/redis",
	"snapshot": modulePath + "/layers/snapshot",
	"gcstest":  modulePath + "/backend/gcs/gcstest",
	"tuple":    modulePath + "/layers/tuple", "typed": modulePath + "/layers/typed",
}

var (
	mark      = regexp.MustCompile(`^<!-- go:(.*)-->$`)
	qualifier = regexp.MustCompile(`\b([a-z][a-z0-9]*)\.[A-Z]`)
)

// snippets finds the blocks of Go in a page, and those that are neither whole nor marked.
func snippets(p page) (all []snippet, found []finding) {
	lines := strings.Split(p.text, "\n")
	for i := 0; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) != "```go" {
			continue
		}
		begin, above := i+1, ""
		if i > 0 {
			above = strings.TrimSpace(lines[i-1])
		}
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
		}
		code := strings.Join(lines[begin:i], "\n") + "\n"
		s := snippet{p.name, begin + 1, []byte(code)}
		if !strings.HasPrefix(code, "package ") {
			uses := mark.FindStringSubmatch(above)
			if uses == nil {
				found = append(found, finding{p.name, begin, "Go without a preamble", whySnippet})
				continue
			}
			s.file = whole(strings.TrimSpace(uses[1]), code)
		}
		all = append(all, s)
	}
	return all, found
}

// whole makes a file of a fragment: declarations, or else statements that may return an error.
func whole(uses, code string) []byte {
	var head, tail bytes.Buffer
	for declaration := range strings.SplitSeq(uses, ";") {
		if declaration = strings.TrimSpace(declaration); declaration != "" {
			fmt.Fprintln(&tail, "var", declaration)
		}
	}
	if _, err := parse("fragment.go", []byte("package p\n"+code)); err == nil {
		fmt.Fprint(&tail, code)
	} else {
		fmt.Fprintf(&tail, "func _() error {\n%s\nreturn nil\n}\n", code)
	}
	fmt.Fprintln(&head, "package p")
	names := map[string]bool{}
	for _, m := range qualifier.FindAllStringSubmatch(tail.String(), -1) {
		names[m[1]] = known[m[1]] != ""
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] {
			fmt.Fprintf(&head, "import %s %q\n", name, known[name])
		}
	}
	return append(head.Bytes(), tail.Bytes()...)
}

// imported are the packages that a file imports, none if it can't be parsed.
func imported(src []byte) (paths []string) {
	f, err := parse("snippet.go", src)
	if err != nil {
		return nil
	}
	for _, s := range f.ast.Imports {
		importPath, _ := strconv.Unquote(s.Path.Value)
		paths = append(paths, importPath)
	}
	return paths
}

// compile says what the compiler would say of a snippet, apart from what is not used.
func (c *checker) compile(s snippet) []finding {
	bad := func(err error) []finding {
		return []finding{{s.place, s.line, err.Error(), whySnippet}}
	}
	f, err := parser.ParseFile(c.fset, s.place, s.file, parser.SkipObjectResolution)
	if err != nil {
		return bad(err)
	}
	conf, wrong := c.conf, error(nil)
	conf.Error = func(err error) {
		var e types.Error
		if soft := errors.As(err, &e) && e.Soft; !soft && wrong == nil {
			wrong = err
		}
	}
	_, _ = conf.Check("snippet", c.fset, []*ast.File{f}, nil) // it tells conf.Error
	if wrong != nil {
		return bad(wrong)
	}
	return nil
}

// TestSnippets compiles the Go code of all documents.
func TestSnippets(t *testing.T) {
	var all []snippet
	need := map[string]bool{}
	for _, p := range pages(t) {
		some, found := snippets(p)
		report(t, found)
		all = append(all, some...)
		for _, s := range some {
			for _, importPath := range imported(s.file) {
				need[importPath] = true
			}
		}
	}
	require.NotEmpty(t, all, "README.md has a program")
	c := newChecker(list(t, slices.Sorted(maps.Keys(need))...))
	for _, s := range all {
		report(t, c.compile(s))
	}
}

func TestSnippetRule(t *testing.T) {
	block := func(above, code string) string { return above + "\n```go\n" + code + "\n```\n" }
	text := block("A program:", "package main\n\nfunc main() { println(none) }") +
		block("<!-- go: ctx context.Context; n int -->",
			"if err := ctx.Err(); err != nil {\n\treturn err\n}\nx := n") +
		block("<!-- go: n int -->", "n = ctx") +
		block("<!-- go: -->", "func f() error { return errors.New(1) }") +
		block("<!-- go: -->", "f(") +
		block("", "x := 1") + "```\nnot Go\n```\n"
	all, found := snippets(page{"p.md", text})
	assert.Equal(t, []finding{{"p.md", 27, "Go without a preamble", whySnippet}}, found)
	c := newChecker(list(t, "context", "errors"))
	var wrong []string
	for _, s := range all {
		for _, f := range c.compile(s) {
			wrong = append(wrong, fmt.Sprintf("%d: %s", f.line, f.what))
		}
	}
	require.Len(t, wrong, 4)
	for i, want := range []string{"undefined: none", "undefined: ctx", "errors.New", "expected"} {
		assert.Contains(t, wrong[i], want)
	}
}

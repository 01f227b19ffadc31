package lint

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const whyCited = "a page that names a test promises that it is there: cite the one that does it now"

var (
	citedTest = regexp.MustCompile("`((?:Test|Benchmark|Fuzz|Example)[A-Z_][A-Za-z0-9_]*)`")
	testFunc  = regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)`)
	goTest    = regexp.MustCompile("go test [^`|\n]*")
	wantsOf   = regexp.MustCompile(`-(run|bench|fuzz) '?([A-Za-z]\w*)`)
)

// testsOf are the tests, benchmarks and examples of each package.
func testsOf(files []*file) map[string][]string {
	all := map[string][]string{}
	for _, f := range files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && f.test() &&
				testFunc.MatchString(fn.Name.Name) {
				all[f.pkg()] = append(all[f.pkg()], fn.Name.Name)
			}
		}
	}
	return all
}

// runs reports whether a command finds a test for each name that it is given, in one of its
// packages. The name xxx stands for none.
func runs(command string, tests map[string][]string) bool {
	for _, wants := range wantsOf.FindAllStringSubmatch(command, -1) {
		if wants[2] == "xxx" {
			continue
		}
		found := false
		for _, arg := range strings.Fields(command) {
			arg = strings.Trim(arg, "'")
			if arg != "." && !strings.HasPrefix(arg, "./") {
				continue
			}
			below, all := strings.CutSuffix(strings.TrimPrefix(arg, "./"), "...")
			for pkg, names := range tests {
				inside := pkg == path.Clean(arg) || all && strings.HasPrefix(pkg+"/", below)
				found = found || inside && slices.ContainsFunc(names, func(name string) bool {
					return strings.Contains(name, wants[2])
				})
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// cited looks for tests that a page names, or says how to run, and that are not there.
func cited(p page, tests map[string][]string) []finding {
	var found []finding
	for i, line := range strings.Split(p.text, "\n") {
		for _, m := range citedTest.FindAllStringSubmatch(line, -1) {
			known := false
			for _, names := range tests {
				known = known || slices.Contains(names, m[1])
			}
			if !known {
				found = append(found, finding{p.name, i + 1, "no such test: " + m[1], whyCited})
			}
		}
		for _, command := range goTest.FindAllString(line, -1) {
			if !runs(command, tests) {
				found = append(found, finding{p.name, i + 1, "runs no test: " + command, whyCited})
			}
		}
	}
	return found
}

func TestCited(t *testing.T) {
	tests := testsOf(repository(t))
	for _, p := range pages(t) {
		report(t, cited(p, tests))
	}
	var got []string
	p := page{"docs/page.md", "`TestA`, `TestGone`\n" +
		"`go test -run TestA ./a`, `go test -run TestA .`\n" +
		"go test ./a/... -bench B -run xxx\ngo test ./b/... -bench B\n`go test ./...`"}
	for _, f := range cited(p, map[string][]string{"a": {"TestA"}, "a/b": {"BenchmarkB"}}) {
		got = append(got, f.what)
	}
	assert.Equal(t, []string{"no such test: TestGone", "runs no test: go test -run TestA .",
		"runs no test: go test ./b/... -bench B"}, got)
}

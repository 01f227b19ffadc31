package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

const (
	fileMax     = 500 // lines
	testFileMax = 800 // lines
	funcMax     = 70  // lines
	paramMax    = 5
	lineMax     = 100 // columns
	tabWidth    = 4   // columns
	packageMax  = 12  // production files
	apiMax      = 15  // of the root: the public API has a file for each kind of call

	whyFile    = "in a longer file the design has stopped being visible: split it by mechanism"
	whyFunc    = "a function is read at one glance: name its steps"
	whyParams  = "nobody remembers the order of more: take an options struct"
	whyLine    = "two files fit side by side"
	whyPackage = "a package has one reason to change: a mechanism that grew deserves its own"
)

func fileSizes(f *file) []finding {
	limit := fileMax
	if f.test() {
		limit = testFileMax
	}
	if n := bytes.Count(f.src, []byte("\n")); n > limit {
		what := fmt.Sprintf("%d lines, at most %d", n, limit)
		return []finding{{place: f.name, what: what, why: whyFile}}
	}
	return nil
}

// lineWidths exempts lines that cannot be broken: URLs, directives, raw strings
// (struct tags among them).
func lineWidths(f *file) []finding {
	raw := map[int]bool{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, "`") {
			for l := f.line(lit.Pos()); l <= f.line(lit.End()); l++ {
				raw[l] = true
			}
		}
		return true
	})
	var found []finding
	for i, text := range strings.Split(string(f.src), "\n") {
		columns := utf8.RuneCountInString(text) + (tabWidth-1)*strings.Count(text, "\t")
		exempt := raw[i+1] || strings.Contains(text, "://") || strings.HasPrefix(text, "//go:")
		if columns > lineMax && !exempt {
			found = append(found, finding{place: f.name, line: i + 1, why: whyLine,
				what: fmt.Sprintf("%d columns, at most %d", columns, lineMax)})
		}
	}
	return found
}

func functions(f *file) []finding {
	var found []finding
	long := func(n ast.Node, name string) {
		if lines := f.line(n.End()) - f.line(n.Pos()) + 1; lines > funcMax {
			found = append(found, f.at(n.Pos(), whyFunc,
				"%s has %d lines, at most %d", name, lines, funcMax))
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			// From func, not from the doc comment, to the brace.
			long(&ast.FuncLit{Type: n.Type, Body: body(n)}, n.Name.Name)
		case *ast.FuncLit:
			long(n, "the function literal")
		case *ast.FuncType:
			if count := n.Params.NumFields(); count > paramMax {
				found = append(found, f.at(n.Pos(), whyParams,
					"%d parameters, at most %d", count, paramMax))
			}
		}
		return true
	})
	return found
}

// body is the body of d, empty where it has none (assembly).
func body(d *ast.FuncDecl) *ast.BlockStmt {
	if d.Body != nil {
		return d.Body
	}
	return &ast.BlockStmt{Lbrace: d.Pos(), Rbrace: d.End()}
}

// packageSizes counts production files. An adapter is as large as its SDK asks, and
// the simulation holds many workloads; nothing of it is in production.
func packageSizes(files []*file) []finding {
	count := map[string]int{}
	for _, f := range files {
		exempt := covers("internal/sim/...", f.pkg()) || slices.Contains(adapters, f.pkg())
		if !f.test() && !exempt {
			count[f.pkg()]++
		}
	}
	var found []finding
	for _, pkg := range slices.Sorted(maps.Keys(count)) {
		limit := packageMax
		if pkg == "." {
			limit = apiMax
		}
		if n := count[pkg]; n > limit {
			found = append(found, finding{place: pkg, why: whyPackage,
				what: fmt.Sprintf("%d production files, at most %d", n, limit)})
		}
	}
	return found
}

func TestPackageSizes(t *testing.T) {
	report(t, packageSizes(repository(t)))

	var files []*file
	for i := range packageMax + 1 {
		files = append(files,
			&file{name: fmt.Sprintf("internal/cell/f%d.go", i)},
			&file{name: fmt.Sprintf("internal/cell/f%d_test.go", i)},
			&file{name: fmt.Sprintf("backend/gcs/f%d.go", i)})
	}
	found := packageSizes(files)
	assert.Len(t, found, 1, "one package is too large, adapters are exempt: %v", found)
	assert.Empty(t, packageSizes(files[3:]), "at the limit")
}

func TestSizes(t *testing.T) {
	lines := func(n int) string { return "package p" + strings.Repeat("\n", n) }
	expect(t, fileSizes, []planted{
		{"at the limit", "p/p.go", lines(fileMax), nil},
		{"long file", "p/p.go", lines(fileMax + 1), []string{"501 lines, at most 500"}},
		{"test at the limit", "p/p_test.go", lines(testFileMax), nil},
		{"long test", "p/p_test.go", lines(testFileMax + 1), []string{"801 lines, at most 800"}},
	})

	comment := func(n int) string { return "package p\n\n//" + strings.Repeat("ü", n-2) + "\n" }
	expect(t, lineWidths, []planted{
		{"at the limit", "p/p.go", comment(lineMax), nil},
		{"long line", "p/p.go", comment(lineMax + 1), []string{"3: 101 columns"}},
		{"tabs", "p/p.go", "package p\n" + strings.Repeat("\t", 26), []string{"2: 104 columns"}},
		{"URL", "p/p.go", "package p\n// https://example.com/" + strings.Repeat("x", lineMax), nil},
		{"raw string", "p/p.go", "package p\nvar s = `" + strings.Repeat("x", lineMax) + "`", nil},
	})

	fn := func(n int) string {
		return "package p\n\n// f\n// f\nfunc f() {" + strings.Repeat("\n", n-1) + "}\n"
	}
	lit := "package p\nvar f = func() {" + strings.Repeat("\n", funcMax) + "}\n"
	expect(t, functions, []planted{
		{"at the limit", "p/p.go", fn(funcMax), nil},
		{"long function", "p/p.go", fn(funcMax + 1), []string{"5: f has 71 lines, at most 70"}},
		{"long literal", "p/p.go", lit, []string{"2: the function literal has 71 lines"}},
		{"five parameters", "p/p.go", "package p\nfunc (t t) f(a, b, c int, d, e string)", nil},
		{"six parameters", "p/p.go", "package p\nfunc (t t) f(a, b, c int, d, e string, g bool)",
			[]string{"2: 6 parameters, at most 5"}},
		{"interface method", "p/p.go", "package p\ntype t interface{ f(a, b, c, d, e, g int) }",
			[]string{"2: 6 parameters"}},
		{"assembly", "p/p.go", "package p\nfunc f()", nil},
	})
}

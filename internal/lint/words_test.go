package lint

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const (
	whyOpenEnd = "what is committed is finished; what is left goes to an issue"
	whySkip    = "a skipped test is worth what its message tells: how to get what is missing"
	whySleep   = "a sleeping test is slow and still fails on a slow machine: " +
		"wait for the event, or use testing/synctest"
	whyWord = "one word for one thing: see the glossary in docs/architecture.md"
	whyName = "a name says what a thing is, and package names qualify it"
)

var openEnd = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)

// openEnds looks for notes of unfinished work in comments.
func openEnds(f *file) []finding {
	var found []finding
	for _, g := range f.ast.Comments {
		for _, c := range g.List {
			if note := openEnd.FindString(c.Text); note != "" {
				found = append(found, f.at(c.Pos(), whyOpenEnd, "a %s", note))
			}
		}
	}
	return found
}

// called is the selector that a call calls (x.Name), nil for other calls.
func called(n ast.Node) (*ast.CallExpr, *ast.SelectorExpr) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil, nil
	}
	sel, _ := call.Fun.(*ast.SelectorExpr)
	return call, sel
}

func (f *file) importsPackage(path string) bool {
	return slices.ContainsFunc(f.ast.Imports, func(s *ast.ImportSpec) bool {
		return s.Path.Value == strconv.Quote(path)
	})
}

// remedy is how the message of a skip tells what to do.
var remedy = regexp.MustCompile(`(?i)\b(set|run|start|install|use|without|with)\b.*\S`)

// skips wants a literal message with a remedy in each skip.
func skips(f *file) []finding {
	if !f.importsPackage("testing") {
		return nil
	}
	var found []finding
	ast.Inspect(f.ast, func(n ast.Node) bool {
		call, sel := called(n)
		if sel == nil || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
			return true
		}
		told := slices.ContainsFunc(call.Args, func(e ast.Expr) bool {
			lit, ok := e.(*ast.BasicLit)
			return ok && lit.Kind == token.STRING && remedy.MatchString(lit.Value)
		})
		if !told {
			found = append(found, f.at(n.Pos(), whySkip,
				"%s without a literal message such as \"... : set X to run it\"", sel.Sel.Name))
		}
		return true
	})
	return found
}

// sleepers are the test files that may sleep, each with its reason.
var sleepers = map[string]string{}

// sleeps looks for time.Sleep in tests. A file that imports testing/synctest
// sleeps in virtual time, and is trusted to do so within a bubble.
func sleeps(f *file) []finding {
	if !f.test() || sleepers[f.name] != "" || f.importsPackage("testing/synctest") {
		return nil
	}
	var found []finding
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Sleep" {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
			found = append(found, f.at(n.Pos(), whySleep, "time.Sleep in a test"))
		}
		return true
	})
	return found
}

// foreign are the glossary's words to avoid that mean nothing else, with the word
// to say instead.
var foreign = map[string]string{
	"trans":     "transaction",
	"anchor":    "primary",
	"logless":   "direct commit",
	"fastpath":  "direct commit",
	"writeback": "resolve",
	"zombie":    "dead",
	"steal":     "kill, fence",
	"absorb":    "fold",
	"pipeline":  "chain",
	"redrive":   "help",
	"prio":      "priority",
	"vacuum":    "sweep",
}

var (
	vague    = []string{"Manager", "Handler", "Helper", "Impl"}
	grabBags = []string{"util", "utils", "common", "helper", "helpers", "misc", "testkit", "errors"}
)

// identifiers checks the names that a production file declares.
func identifiers(f *file) []finding {
	if f.test() {
		return nil
	}
	var found []finding
	if slices.Contains(grabBags, f.ast.Name.Name) {
		found = append(found, f.at(f.ast.Name.Pos(), whyName,
			"a package named %s", f.ast.Name.Name))
	}
	for _, d := range declared(f.ast) {
		id := d.id
		for _, w := range words(id.Name) {
			if say := foreign[w]; say != "" {
				found = append(found, f.at(id.Pos(), whyWord,
					"%s: say %s, not %s", id.Name, say, w))
			}
		}
		if last := vagueEnd(id.Name); d.kind == token.TYPE && last != "" {
			found = append(found, f.at(id.Pos(), whyName,
				"type %s: %s says nothing", id.Name, last))
		}
		if rest, ok := strings.CutPrefix(id.Name, "Get"); ok && d.kind == token.FUNC && rest != "" {
			found = append(found, f.at(id.Pos(), whyName, "%s: an accessor has no Get", id.Name))
		}
	}
	return found
}

func vagueEnd(name string) string {
	for _, v := range vague {
		if strings.HasSuffix(name, v) || name == strings.ToLower(v) {
			return v
		}
	}
	return ""
}

// declaration is an identifier, and what it is declared as: TYPE, FUNC, or VAR
// for all others.
type declaration struct {
	id   *ast.Ident
	kind token.Token
}

// declared are the identifiers that a file declares, in their order.
func declared(tree *ast.File) []declaration {
	var all []declaration
	add := func(kind token.Token, names ...*ast.Ident) {
		for _, id := range names {
			all = append(all, declaration{id, kind})
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			add(token.TYPE, n.Name)
		case *ast.FuncDecl:
			add(token.FUNC, n.Name)
		case *ast.ValueSpec:
			add(token.VAR, n.Names...)
		case *ast.Field:
			add(token.VAR, n.Names...)
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					add(token.VAR, id)
				}
			}
		}
		return true
	})
	return all
}

// words splits a name at its capitals, and adds the pairs of neighbours.
func words(name string) []string {
	var parts []string
	start := 0
	for i, r := range name {
		if i > start && (unicode.IsUpper(r) || r == '_') {
			parts = append(parts, strings.ToLower(name[start:i]))
			start = i
		}
	}
	parts = append(parts, strings.ToLower(name[start:]))
	for i := range len(parts) - 1 {
		parts = append(parts, parts[i]+parts[i+1])
	}
	return parts
}

func TestWords(t *testing.T) {
	expect(t, openEnds, []planted{
		{"notes", "p/p.go", "package p\n// TODO: more\nvar s = \"TODO\" // see FIXME\n/* XXX */",
			[]string{"2: a TODO", "3: a FIXME", "4: a XXX"}},
		{"other words", "p/p_test.go", "package p\n// TODOS and Todo and XXXX are words\n", nil},
	})
	expect(t, skips, []planted{
		{"skips", "p/p_test.go", `package p
import "testing"
func f(t *testing.T) {
	t.SkipNow()
	t.Skip()
	t.Skip("not today")
	t.Skipf("no emulator: set %s to its address", address)
	t.Skip("slow: run without -short")
}`, []string{"4: SkipNow", "5: Skip", "6: Skip"}},
		{"no test", "p/p.go", "package p\nfunc f(s scanner) { s.Skip() }", nil},
	})
	expect(t, sleeps, []planted{
		{"sleep", "p/p_test.go", "package p\nimport \"time\"\nfunc f() { time.Sleep(1) }",
			[]string{"3: time.Sleep"}},
		{"virtual time", "p/p_test.go", `package p
import "time"
import "testing/synctest"
func f() { time.Sleep(1) }`, nil},
		{"the seam's", "p/p_test.go", "package p\nfunc f() { rt.Sleep(1) }", nil},
	})
	expect(t, identifiers, []planted{
		{"words", "p/p.go", `package p
type transState struct{ anchorKey string }
func redrive() { fastPath := 1 }
const Transaction, translate, panchor = 1, 2, 3`,
			[]string{"2: transState: say transaction", "2: anchorKey: say primary",
				"3: redrive: say help", "3: fastPath: say direct commit"}},
		{"vague", "p/p.go", "package p\ntype lockManager int\nfunc Get()\nfunc GetKey()",
			[]string{"2: type lockManager: Manager", "4: GetKey: an accessor"}},
		{"grab-bag", "p/p.go", "package util", []string{"1: a package named util"}},
		{"uses are not ours", "p/p.go", "package p\nvar x = http.HandlerFunc.Pipeline", nil},
	})
}

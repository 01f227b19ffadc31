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

const whySymbol = "a page that cites code promises that it is there: name what does it now"

// citedSymbol is `package.Name`, `package.Type.Name` or `Type.Name`.
var citedSymbol = regexp.MustCompile("`([A-Za-z]+)\\.([A-Za-z]+)(?:\\.([A-Za-z]+))?`")

// symbols are what the module declares: "package.Name", and for what belongs to a type
// "package.Type.Name" and "Type.Name". The root package is strictkv.
type symbols struct {
	packages []string
	names    map[string]bool
	types    map[string]bool
}

func symbolsOf(files []*file) symbols {
	s := symbols{names: map[string]bool{}, types: map[string]bool{}}
	for _, f := range files {
		pkg := path.Base(f.pkg())
		program := covers("benchmarks/...", f.pkg()) || covers("cmd/...", f.pkg())
		if f.test() || program {
			continue
		}
		if !slices.Contains(s.packages, pkg) {
			s.packages = append(s.packages, pkg)
		}
		for _, d := range f.ast.Decls {
			s.declare(pkg, d)
		}
	}
	return s
}

func (s *symbols) declare(pkg string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			s.names[pkg+"."+d.Name.Name] = true
		} else {
			s.member(pkg, receiver(d.Recv.List[0].Type), d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					s.names[pkg+"."+n.Name] = true
				}
			case *ast.TypeSpec:
				s.names[pkg+"."+spec.Name.Name] = true
				s.types[spec.Name.Name] = true
				s.fields(pkg, spec)
			}
		}
	}
}

func (s *symbols) member(pkg, typ, name string) {
	s.names[pkg+"."+typ+"."+name], s.names[typ+"."+name] = true, true
}

func (s *symbols) fields(pkg string, spec *ast.TypeSpec) {
	var list *ast.FieldList
	switch t := spec.Type.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			s.member(pkg, spec.Name.Name, n.Name)
		}
	}
}

// stale looks for symbols that a page cites and that are not there. What begins with neither a
// package nor a type of ours is none of them, nor is tx, which is a user's variable.
func (s symbols) stale(p page) []finding {
	var found []finding
	for i, line := range strings.Split(p.text, "\n") {
		for _, m := range citedSymbol.FindAllStringSubmatch(line, -1) {
			whole := strings.Trim(m[0], "`")
			ours := m[1] != "tx" && (slices.Contains(s.packages, m[1]) || s.types[m[1]])
			if ours && !s.names[whole] {
				found = append(found, finding{p.name, i + 1, "no such symbol: " + whole, whySymbol})
			}
		}
	}
	return found
}

// leading are the pages that lead through the code.
var leading = []string{
	"docs/architecture.md", "docs/bugs.md", "docs/protocol.md", "docs/testing.md",
}

// TestSymbols: the pages that lead through the code cite what is there.
func TestSymbols(t *testing.T) {
	s := symbolsOf(repository(t))
	for _, p := range pages(t) {
		if slices.Contains(leading, p.name) {
			report(t, s.stale(p))
		}
	}
	known := symbols{[]string{"cell"}, map[string]bool{"cell.Cell": true, "Cell.Names": true},
		map[string]bool{"Cell": true}}
	var got []string
	for _, f := range known.stale(page{"docs/page.md",
		"`cell.Cell`, `Cell.Names`, `cell.Gone`, `Cell.Gone`, `other.Gone`, `file.go`"}) {
		got = append(got, f.what)
	}
	assert.Equal(t, []string{"no such symbol: cell.Gone", "no such symbol: Cell.Gone"}, got)
}

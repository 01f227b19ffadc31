package lint

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	whyPackageComment = "the first sentence of a package says what the package is for"
	whyDoc            = "an exported name is a promise: say what it does, its units, its limits"
)

// docComments wants a comment on each exported name of a production file.
// Methods of unexported types are nobody's promise.
func docComments(f *file) []finding {
	if f.test() {
		return nil
	}
	var found []finding
	missing := func(id *ast.Ident, docs ...*ast.CommentGroup) {
		documented := slices.ContainsFunc(docs, func(g *ast.CommentGroup) bool {
			return strings.TrimSpace(g.Text()) != ""
		})
		if id.IsExported() && !documented {
			found = append(found, f.at(id.Pos(), whyDoc, "%s has no doc comment", id.Name))
		}
	}
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type)) {
				missing(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				specDocs(d, s, missing)
			}
		}
	}
	return found
}

// specDocs tells missing of each name that s declares, with the comments that
// count as its own: those of a group serve all its constants and variables.
func specDocs(d *ast.GenDecl, s ast.Spec, missing func(*ast.Ident, ...*ast.CommentGroup)) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, id := range s.Names {
			missing(id, d.Doc, s.Doc, s.Comment)
		}
	case *ast.TypeSpec:
		docs := []*ast.CommentGroup{s.Doc, s.Comment}
		if !d.Lparen.IsValid() {
			docs = append(docs, d.Doc)
		}
		missing(s.Name, docs...)
		face, ok := s.Type.(*ast.InterfaceType)
		if !ok || !s.Name.IsExported() {
			return
		}
		for _, m := range face.Methods.List {
			for _, id := range m.Names {
				missing(id, m.Doc, m.Comment)
			}
		}
	}
}

// receiver is the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// packageComments wants one package comment in each package, in the usual form.
func packageComments(files []*file) []finding {
	first := map[string]*file{}
	comments := map[string][]*file{}
	for _, f := range files {
		if f.test() {
			continue
		}
		if first[f.pkg()] == nil {
			first[f.pkg()] = f
		}
		if f.ast.Doc.Text() != "" {
			comments[f.pkg()] = append(comments[f.pkg()], f)
		}
	}
	var found []finding
	for _, pkg := range slices.Sorted(maps.Keys(first)) {
		f := first[pkg]
		if n := len(comments[pkg]); n != 1 {
			found = append(found, f.at(f.ast.Package, whyPackageComment,
				"package %s has %d package comments, not one", pkg, n))
			continue
		}
		f = comments[pkg][0]
		start := "Package " + f.ast.Name.Name + " "
		if f.ast.Name.Name != "main" && !strings.HasPrefix(f.ast.Doc.Text(), start) {
			found = append(found, f.at(f.ast.Doc.Pos(), whyPackageComment,
				"the package comment does not begin with %q", start))
		}
	}
	return found
}

func TestPackageComments(t *testing.T) {
	report(t, packageComments(repository(t)))

	var files []*file
	for _, p := range [][2]string{
		{"good/doc.go", "// Package good is good.\npackage good"},
		{"good/more.go", "package good"},
		{"main/main.go", "// Load puts load on a bucket.\npackage main"},
		{"form/form.go", "// This package is bad.\npackage form"},
		{"none/none.go", "package none"},
		{"none/none_test.go", "// Package none is documented in its test.\npackage none"},
		{"two/a.go", "// Package two is a.\npackage two"},
		{"two/b.go", "// Package two is b.\npackage two"},
	} {
		f, err := parse(p[0], []byte(p[1]))
		require.NoError(t, err)
		files = append(files, f)
	}
	var places []string
	for _, f := range packageComments(files) {
		places = append(places, f.place)
	}
	assert.Equal(t, []string{"form/form.go", "none/none.go", "two/a.go"}, places)
}

func TestDocComments(t *testing.T) {
	expect(t, docComments, []planted{
		{"functions", "p/p.go", `package p
func F() {}
// G does.
func G() {}
func h() {}
func (t *T[int]) M() {}
func (t u) M() {}`, []string{"2: F has", "6: M has"}},
		{"types", "p/p.go", `package p
type T struct{ F int }
// A group is no comment of its types.
type (
	U int
	// V is documented.
	V int
)
// I is documented.
type I interface {
	M()
	// N is documented.
	N()
}`, []string{"2: T has", "5: U has", "11: M has"}},
		{"values", "p/p.go", `package p
const A = 1
var (
	B int // B is documented.
	C, D int
)
// These are documented.
const (
	E = 1
	F
)`, []string{"2: A has", "5: C has", "5: D has"}},
		{"a directive is no comment", "p/p.go", "package p\n//go:noinline\nfunc F() {}",
			[]string{"3: F"}},
		{"tests", "p/p_test.go", "package p\nfunc F() {}", nil},
	})
}

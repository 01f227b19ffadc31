package lint

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const whyExample = "an example is what a user reads first, and it is run"

// callName is how an example names an exported function, or an exported method of an exported
// type: "F", or "T_M". Methods that the standard library calls need none.
func callName(d *ast.FuncDecl) string {
	name := d.Name.Name
	if !ast.IsExported(name) || slices.Contains([]string{"Error", "Is", "Unwrap"}, name) {
		return ""
	}
	if d.Recv == nil {
		return name
	}
	recv := d.Recv.List[0].Type
	if star, ok := recv.(*ast.StarExpr); ok {
		recv = star.X
	}
	if of, ok := recv.(*ast.Ident); ok && ast.IsExported(of.Name) {
		return of.Name + "_" + name
	}
	return ""
}

// withoutExample finds the exported calls among the files of a package that have no example.
// Of a name "T_M_suffix" the suffix, in lower case, does not count.
func withoutExample(files []*file) []finding {
	shown := map[string]bool{}
	for _, f := range files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test() {
				name := strings.TrimPrefix(fn.Name.Name, "Example")
				if at := strings.LastIndex(name, "_"); at >= 0 && !ast.IsExported(name[at+1:]) {
					name = name[:at]
				}
				shown[name] = true
			}
		}
	}
	var found []finding
	for _, f := range files {
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && !f.test() && callName(fn) != "" && !shown[callName(fn)] {
				found = append(found, f.at(fn.Pos(), whyExample, "no Example%s", callName(fn)))
			}
		}
	}
	return found
}

func TestExamples(t *testing.T) {
	var root []*file
	for _, f := range repository(t) {
		if f.pkg() == "." {
			root = append(root, f)
		}
	}
	report(t, withoutExample(root))

	var planted []*file
	for name, src := range map[string]string{
		"a.go": "package a\nfunc F() {}\nfunc G() {}\nfunc h() {}\ntype T int\n" +
			"func (t *T) M() {}\nfunc (T) N() {}\nfunc (T) Error() string { return \"\" }\n",
		"a_test.go": "package a_test\nfunc ExampleF_twice() {}\nfunc ExampleT_M() {}\n",
	} {
		f, err := parse(name, []byte(src))
		assert.NoError(t, err)
		planted = append(planted, f)
	}
	var got []string
	for _, f := range withoutExample(planted) {
		got = append(got, f.what)
	}
	assert.Equal(t, []string{"no ExampleG", "no ExampleT_N"}, got)
}

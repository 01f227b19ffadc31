package lint

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const whyExample = "an example is what a user reads first, and it is run"

// usersPackages are those that a user's program calls.
var usersPackages = []string{
	".", "cache", "backend/azure", "backend/bucketurl", "backend/folder", "backend/gcs",
	"backend/memory", "backend/pebble", "backend/pebble/pebbleurl", "backend/s3", "layers/otelkv",
	"layers/queue", "layers/tuple", "layers/typed", "layers/redis", "layers/backup",
	"layers/snapshot", "layers/replica",
	"layers/typed/cbor", "layers/typed/protobuf",
}

// noCalls are methods that the standard library calls, or, of a Backend, this one.
var noCalls = []string{
	"Error", "Is", "Unwrap",
	"Backend_Get", "Backend_Put", "Backend_Delete", "Backend_List", "Backend_Capabilities",
}

// callName is how an example names an exported function, or an exported method of an exported
// type: "F", or "T_M". It is empty for others, and for noCalls.
func callName(d *ast.FuncDecl) string {
	name := d.Name.Name
	if !ast.IsExported(name) || slices.Contains(noCalls, name) {
		return ""
	}
	if d.Recv == nil {
		return name
	}
	of := receiver(d.Recv.List[0].Type)
	if !ast.IsExported(of) || slices.Contains(noCalls, of+"_"+name) {
		return ""
	}
	return of + "_" + name
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
	public := map[string][]*file{}
	for _, f := range repository(t) {
		public[f.pkg()] = append(public[f.pkg()], f)
	}
	for _, pkg := range usersPackages {
		report(t, withoutExample(public[pkg]))
	}

	var planted []*file
	for name, src := range map[string]string{
		"a.go": "package a\nfunc F() {}\nfunc G() {}\nfunc h() {}\ntype T int\n" +
			"func (t *T) M() {}\nfunc (T) N() {}\nfunc (T) Error() string { return \"\" }\n" +
			"type U[A any] int\nfunc (u *U[A]) M() {}\n",
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
	assert.Equal(t, []string{"no ExampleG", "no ExampleT_N", "no ExampleU_M"}, got)
}

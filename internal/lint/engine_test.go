package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listed is what the go command tells of a package.
type listed struct {
	ImportPath string
	Dir        string
	Export     string // the file with its compiled interface
	GoFiles    []string
}

// list compiles the packages and what they depend on, and lists them all.
func list(t *testing.T, pkgs ...string) map[string]listed {
	t.Helper()
	const fields = "-json=ImportPath,Dir,Export,GoFiles"
	args := append([]string{"list", "-export", "-deps", fields, "--"}, pkgs...)
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	require.NoError(t, cmd.Run(), "the engine must compile:\n%s", &problems)
	all := map[string]listed{}
	for d := json.NewDecoder(&out); ; {
		var p listed
		err := d.Decode(&p)
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		all[p.ImportPath] = p
	}
}

// checker type-checks source against compiled packages.
type checker struct {
	fset *token.FileSet
	conf types.Config
}

func newChecker(pkgs map[string]listed) *checker {
	fset := token.NewFileSet()
	lookup := func(importPath string) (io.ReadCloser, error) {
		p, ok := pkgs[importPath]
		if !ok {
			return nil, fmt.Errorf("package %s was not listed", importPath)
		}
		return os.Open(p.Export)
	}
	return &checker{fset, types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}}
}

// check returns a package's violations of the seam.
func (c *checker) check(t *testing.T, dir string, paths []string) []finding {
	t.Helper()
	var files []*ast.File
	for _, p := range paths {
		f, err := parser.ParseFile(c.fset, p, nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, f)
	}
	info := &types.Info{
		Defs:  map[*ast.Ident]types.Object{},
		Uses:  map[*ast.Ident]types.Object{},
		Types: map[ast.Expr]types.TypeAndValue{},
	}
	_, err := c.conf.Check(dir, c.fset, files, info)
	require.NoError(t, err)
	return seams(c.fset, info, dir, files)
}

// TestSeam holds the engine's production files to the determinism seam.
func TestSeam(t *testing.T) {
	present := map[string]bool{}
	for _, f := range repository(t) {
		present[f.pkg()] = present[f.pkg()] || !f.test()
	}
	var pkgs []string
	for _, dir := range engine {
		if present[dir] {
			pkgs = append(pkgs, modulePath+strings.TrimPrefix("/"+dir, "/."))
		}
	}
	require.NotEmpty(t, pkgs)
	all := list(t, pkgs...)
	c := newChecker(all)
	for _, importPath := range pkgs {
		p := all[importPath]
		require.NotEmpty(t, p.GoFiles, importPath)
		var paths []string
		for _, name := range p.GoFiles {
			paths = append(paths, filepath.Join(p.Dir, name))
		}
		report(t, c.check(t, within(importPath), paths))
	}
}

// stub stands in for golang.org/x/sync, which nothing may use.
type stub struct{ types.Importer }

func (s stub) Import(importPath string) (*types.Package, error) {
	if importPath != "golang.org/x/sync/errgroup" {
		return s.Importer.Import(importPath)
	}
	pkg := types.NewPackage(importPath, "errgroup")
	name := types.NewTypeName(token.NoPos, pkg, "Group", nil)
	types.NewNamed(name, types.NewStruct(nil, nil), nil)
	pkg.Scope().Insert(name)
	pkg.MarkComplete()
	return pkg, nil
}

var want = regexp.MustCompile(`// want "([^"]*)"`)

// TestSeamRule runs the rule on planted files: each line that ends in a comment
// `want "words"` has exactly one finding for each of the words between semicolons,
// all other lines none.
func TestSeamRule(t *testing.T) {
	paths, err := filepath.Glob("testdata/seam/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	expected := map[string][]string{}
	var std []string
	for _, p := range paths {
		src, err := os.ReadFile(p)
		require.NoError(t, err)
		for i, line := range strings.Split(string(src), "\n") {
			if m := want.FindStringSubmatch(line); m != nil {
				place := fmt.Sprintf("%s:%d", filepath.ToSlash(p), i+1)
				expected[place] = strings.Split(m[1], "; ")
			}
		}
		f, err := parse(p, src)
		require.NoError(t, err)
		for _, s := range f.ast.Imports {
			if name := strings.Trim(s.Path.Value, `"`); !strings.Contains(name, ".") {
				std = append(std, name)
			}
		}
	}
	c := newChecker(list(t, std...))
	c.conf.Importer = stub{c.conf.Importer}
	found := c.check(t, "testdata/seam", paths)

	var text []string
	for _, f := range found {
		place := fmt.Sprintf("%s:%d", f.place, f.line)
		i := slices.IndexFunc(expected[place], func(words string) bool {
			return strings.Contains(f.what, words)
		})
		if assert.GreaterOrEqual(t, i, 0, "not planted: %s", f) {
			expected[place] = slices.Delete(expected[place], i, i+1)
		}
		text = append(text, f.what)
	}
	for place, words := range expected {
		assert.Empty(t, words, "%s: planted, not found", place)
	}
	everyBan(t, strings.Join(text, "\n"))
}

// everyBan fails for a ban that no planted line has run into.
func everyBan(t *testing.T, found string) {
	t.Helper()
	for _, b := range bans {
		pkg := strings.TrimSuffix(b.pkg, "/...")
		if b.names == nil {
			assert.Contains(t, found, pkg, "plant a use of %s in testdata/seam", b.pkg)
		}
		for _, name := range b.names {
			assert.Contains(t, found, pkg+"."+name+":", "plant it in testdata/seam")
		}
	}
	for _, name := range unordered.names {
		assert.Contains(t, found, "maps."+name+" ", "plant it in testdata/seam")
	}
}

package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	root       = "../.."
	modulePath = "github.com/strictkv/strictkv"
)

// file is one Go file of the repository.
type file struct {
	name string // slash-separated, relative to the root
	src  []byte
	fset *token.FileSet
	ast  *ast.File
}

// pkg is the package's path within the module; the root is ".".
func (f *file) pkg() string { return path.Dir(f.name) }

func (f *file) test() bool { return strings.HasSuffix(f.name, "_test.go") }

func (f *file) line(p token.Pos) int { return f.fset.Position(p).Line }

// at makes a finding at a place in f.
func (f *file) at(p token.Pos, why, what string, args ...any) finding {
	return finding{place: f.name, line: f.line(p), what: fmt.Sprintf(what, args...), why: why}
}

// finding is one violation of a rule.
type finding struct {
	place string
	line  int // 0 = the place as a whole
	what  string
	why   string
}

func (f finding) String() string {
	place := f.place
	if f.line > 0 {
		place = fmt.Sprintf("%s:%d", f.place, f.line)
	}
	return fmt.Sprintf("%s: %s\n\treason: %s", place, f.what, f.why)
}

func parse(name string, src []byte) (*file, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &file{name: name, src: src, fset: fset, ast: tree}, nil
}

// names lists the repository's files with one of the extensions. Folders named
// testdata, and those that begin with a dot or an underscore, are no part of it.
func names(exts ...string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")
			if p != root && (hidden || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		for _, ext := range exts {
			if strings.HasSuffix(p, ext) {
				rel, err := filepath.Rel(root, p)
				found = append(found, filepath.ToSlash(rel))
				return err
			}
		}
		return nil
	})
	return found, err
}

// source parses the whole repository, once. Build tags do not matter: each file
// is held to the rules.
var source = sync.OnceValues(func() ([]*file, error) {
	paths, err := names(".go")
	if err != nil {
		return nil, err
	}
	var files []*file
	for _, name := range paths {
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		f, err := parse(name, src)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
})

func repository(t *testing.T) []*file {
	t.Helper()
	files, err := source()
	require.NoError(t, err, "the rules need source that parses")
	require.NotEmpty(t, files, "no Go files below %s", root)
	return files
}

func report(t *testing.T, found []finding) {
	t.Helper()
	for _, f := range found {
		t.Error(f)
	}
}

// fileRules are the rules that look at one file at a time.
var fileRules = map[string]func(*file) []finding{
	"imports":      imports,
	"file sizes":   fileSizes,
	"line widths":  lineWidths,
	"functions":    functions,
	"doc comments": docComments,
	"names":        identifiers,
	"open ends":    openEnds,
	"skips":        skips,
	"sleeps":       sleeps,
}

func TestFiles(t *testing.T) {
	for name, rule := range fileRules {
		t.Run(name, func(t *testing.T) {
			for _, f := range repository(t) {
				report(t, rule(f))
			}
		})
	}
}

// planted is a source with violations of one rule.
type planted struct {
	title string
	name  string
	src   string
	want  []string // "line: part of the finding", in order
}

// expect fails unless rule finds exactly what was planted.
func expect(t *testing.T, rule func(*file) []finding, cases []planted) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			f, err := parse(c.name, []byte(c.src))
			require.NoError(t, err)
			found := rule(f)
			require.Len(t, found, len(c.want), "findings: %v", found)
			for i, want := range c.want {
				assert.Contains(t, fmt.Sprintf("%d: %s", found[i].line, found[i].what), want)
				assert.Equal(t, c.name, found[i].place)
				assert.NotEmpty(t, found[i].why, "a rule gives its reason")
			}
		})
	}
}

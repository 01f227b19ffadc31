package sim_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plantedEnv is the variable of the environment that says which bug a binary has: its number
// from 1 on.
const plantedEnv = "STRICTKV_PLANTED"

// choice is the file that each package with a bug gets.
const choice = `package %s

import (
	"os"
	"strconv"
)

var planted, _ = strconv.Atoi(os.Getenv(%q))
`

// buildAll compiles this package's tests with all bugs that lie within one function, each behind
// its number (mutant schemata: Untch, Offutt, Harrold 1993): a build for each would take longer
// than most searches do.
func buildAll(t *testing.T) string {
	t.Helper()
	o := newOverlay(t)
	sources := map[string]*source{}
	for i, b := range bugs {
		s := sources[b.file]
		if s == nil {
			s = parse(t, b.file)
			sources[b.file] = s
		}
		s.plant(b, i+1)
	}
	chosen := map[string]bool{}
	for name, s := range sources {
		o.replace(name, s.text())
		if dir := filepath.Dir(name); !chosen[dir] {
			chosen[dir] = true
			o.replace(filepath.Join(dir, "planted.go"), fmt.Sprintf(choice, s.pkg, plantedEnv))
		}
	}
	return o.build()
}

// switched reports whether the bug lies within one function.
func (b bug) switched(t *testing.T) bool {
	t.Helper()
	return parse(t, b.file).function(b) != nil
}

// build compiles this package's tests with one bug.
func (b bug) build(t *testing.T) string {
	t.Helper()
	o := newOverlay(t)
	o.replace(b.file, strings.Replace(string(parse(t, b.file).bytes), b.good, b.bad, 1))
	return o.build()
}

// source is a file of the engine, and what is put into it.
type source struct {
	bytes  []byte
	pkg    string
	funcs  []*ast.FuncDecl
	insert map[*ast.FuncDecl]string // behind the opening brace
}

func parse(t *testing.T, name string) *source {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	require.NoError(t, err)
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	s := &source{bytes: text, pkg: file.Name.Name, insert: map[*ast.FuncDecl]string{}}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			s.funcs = append(s.funcs, f)
		}
	}
	return s
}

// body is where the statements of a function begin and end.
func body(f *ast.FuncDecl) (from, to int) { return int(f.Body.Lbrace), int(f.Body.Rbrace) - 1 }

// function is the one that the bug lies within, or nil.
func (s *source) function(b bug) *ast.FuncDecl {
	at := strings.Index(string(s.bytes), b.good)
	for _, f := range s.funcs {
		if from, to := body(f); from <= at && at+len(b.good) <= to {
			return f
		}
	}
	return nil
}

// plant puts the function's body, with the bug, before what it has.
func (s *source) plant(b bug, number int) {
	f := s.function(b)
	if f == nil {
		return
	}
	from, to := body(f)
	bad := strings.Replace(string(s.bytes[from:to]), b.good, b.bad, 1)
	if f.Type.Results == nil {
		bad += "\nreturn\n"
	}
	s.insert[f] += fmt.Sprintf("\nif planted == %d {%s}\n", number, bad)
}

func (s *source) text() string {
	var out strings.Builder
	at := 0
	for _, f := range s.funcs {
		from, _ := body(f)
		out.Write(s.bytes[at:from])
		out.WriteString(s.insert[f])
		at = from
	}
	out.Write(s.bytes[at:])
	return out.String()
}

// overlay is what a build finds in place of the files that are there.
type overlay struct {
	t     *testing.T
	dir   string
	files map[string]string
}

func newOverlay(t *testing.T) *overlay {
	t.Helper()
	return &overlay{t, t.TempDir(), map[string]string{}}
}

func (o *overlay) replace(name, text string) {
	o.t.Helper()
	abs, err := filepath.Abs(filepath.Join("../..", name))
	require.NoError(o.t, err)
	into := filepath.Join(o.dir, fmt.Sprint(len(o.files), ".go"))
	require.NoError(o.t, os.WriteFile(into, []byte(text), 0o600))
	o.files[abs] = into
}

func (o *overlay) build() string {
	o.t.Helper()
	text, err := json.Marshal(map[string]any{"Replace": o.files})
	require.NoError(o.t, err)
	list := filepath.Join(o.dir, "overlay.json")
	require.NoError(o.t, os.WriteFile(list, text, 0o600))
	binary := filepath.Join(o.dir, "sim.test")
	build := exec.Command("go", "test", "-vet=off", "-c", "-overlay", list, "-o", binary, ".")
	out, err := build.CombinedOutput()
	require.NoError(o.t, err, "%s", out)
	return binary
}

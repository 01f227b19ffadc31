package lint

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

const (
	whySeam = "the engine replays from a seed only if goroutines, waiting, time and randomness " +
		"come from package seam"
	whyOrder = "the order of a map differs from run to run: sort it, or say `// any order: ` " +
		"and why none reaches a decision"
)

// ban forbids names of a package to the engine. A method is named Type.Method.
type ban struct {
	pkg   string   // "x/..." = all below x
	names []string // nil = all
	say   string
}

var bans = []ban{
	{"sync", nil, "use seam.Mutex, seam.Event, seam.Each"},
	{"golang.org/x/sync/...", nil, "use seam.Each, seam.Limiter"},
	{"time", []string{
		"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker",
	}, "use the runtime's Now, Sleep"},
	{"context", []string{
		"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause", "WithCancel",
		"WithCancelCause", "AfterFunc", "Context.Done",
	}, "use the runtime's WithTimeout, WithCancel, and ctx.Err"},
	{"math/rand/...", nil, "use the runtime's Uint64"},
	{"crypto/rand", nil, "use the runtime's Uint64"},
	{"hash/maphash", nil, "its seed differs from process to process"},
	{"weak", nil, "the collector decides when it clears"},
	{"unique", nil, "the collector decides what it keeps"},
	{"runtime", []string{"SetFinalizer", "AddCleanup", "Gosched", "Goexit"},
		"the Go runtime decides when"},
	{"iter", []string{"Pull", "Pull2"}, "it starts a coroutine past the seam"},
	{"net/...", nil, "the engine reaches the world through its backend"},
	{"os/...", nil, "the engine reaches the world through its backend"},
	{"syscall", nil, "the engine reaches the world through its backend"},
}

// unordered are the functions that go through a map.
var unordered = ban{pkg: "maps", names: []string{"Keys", "Values", "All", "DeleteFunc"}}

func (b ban) hits(obj types.Object) bool {
	return obj.Pkg() != nil && covers(b.pkg, obj.Pkg().Path()) &&
		(b.names == nil || slices.Contains(b.names, qualified(obj)))
}

// qualified is an object's name, a method's with its type.
func qualified(obj types.Object) string {
	fn, ok := obj.(*types.Func)
	if !ok || fn.Signature().Recv() == nil {
		return obj.Name()
	}
	t := fn.Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name() + "." + obj.Name()
	}
	return obj.Name()
}

// seamRule goes through the typed files of one package.
type seamRule struct {
	fset  *token.FileSet
	info  *types.Info
	dir   string // the package's path within the module
	found map[finding]bool

	anyOrder map[int]bool        // lines of the file that say so
	sorted   map[*ast.Ident]bool // uses of maps.Keys within slices.Sorted
}

// seams returns the violations of the determinism seam in a package.
func seams(fset *token.FileSet, info *types.Info, dir string, files []*ast.File) []finding {
	r := seamRule{fset: fset, info: info, dir: dir, found: map[finding]bool{}}
	for _, f := range files {
		r.anyOrder, r.sorted = r.orderComments(f), map[*ast.Ident]bool{}
		ast.Inspect(f, r.visit)
	}
	all := make([]finding, 0, len(r.found))
	for f := range r.found {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.place, b.place), a.line-b.line, cmp.Compare(a.what, b.what))
	})
	return all
}

func (r *seamRule) add(p token.Pos, why, what string) {
	at := r.fset.Position(p)
	r.found[finding{path.Join(r.dir, path.Base(at.Filename)), at.Line, what, why}] = true
}

func (r *seamRule) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		r.add(n.Pos(), whySeam, "a go statement: use the runtime's Go or seam.Each")
	case *ast.SelectStmt:
		r.add(n.Pos(), whySeam, "a select: use an Event")
	case *ast.RangeStmt:
		if t := r.info.TypeOf(n.X); t != nil && everyTerm(t, isMap) {
			r.order(n.Pos(), "a range over a map")
		}
	case *ast.CallExpr:
		r.noteSorted(n)
	case *ast.Ident:
		r.use(n)
	}
	if e, ok := n.(ast.Expr); ok {
		if t := r.info.TypeOf(e); t != nil && everyTerm(t, isChan) {
			r.add(n.Pos(), whySeam, "a channel: use an Event")
		}
	}
	return true
}

// use checks what an identifier stands for.
func (r *seamRule) use(id *ast.Ident) {
	obj := r.info.Uses[id]
	if obj == nil {
		return
	}
	if _, isImport := obj.(*types.PkgName); isImport {
		return
	}
	for _, b := range bans {
		if b.hits(obj) {
			r.add(id.Pos(), whySeam, obj.Pkg().Path()+"."+qualified(obj)+": "+b.say)
		}
	}
	if unordered.hits(obj) && !r.sorted[id] {
		r.order(id.Pos(), "maps."+obj.Name()+" not within slices.Sorted")
	}
}

func (r *seamRule) order(p token.Pos, what string) {
	if !r.anyOrder[r.fset.Position(p).Line] {
		r.add(p, whyOrder, what)
	}
}

// noteSorted remembers the map function that a call sorts the result of.
func (r *seamRule) noteSorted(call *ast.CallExpr) {
	sort := r.info.Uses[function(call.Fun)]
	if sort == nil || sort.Pkg() == nil || sort.Pkg().Path() != "slices" ||
		!strings.HasPrefix(sort.Name(), "Sorted") || len(call.Args) == 0 {
		return
	}
	if keys, ok := call.Args[0].(*ast.CallExpr); ok {
		if id := function(keys.Fun); id != nil {
			r.sorted[id] = true
		}
	}
}

// function is the name in a call of pkg.Name or pkg.Name[T].
func function(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return function(e.X)
	case *ast.IndexListExpr:
		return function(e.X)
	}
	return nil
}

// orderComments are the lines on and below the comments that begin with
// "any order:". Such a comment may go on over several lines.
func (r *seamRule) orderComments(f *ast.File) map[int]bool {
	lines := map[int]bool{}
	for _, g := range f.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, "// any order: ") {
				lines[r.fset.Position(c.Pos()).Line] = true
				lines[r.fset.Position(g.End()).Line+1] = true
			}
		}
	}
	return lines
}

// everyTerm reports whether t, or each type that a type parameter t can be, is of
// the kind. Generic code must not hide a map or channel.
func everyTerm(t types.Type, kind func(types.Type) bool) bool {
	p, ok := t.(*types.TypeParam)
	if !ok {
		return kind(t.Underlying())
	}
	face, ok := p.Constraint().Underlying().(*types.Interface)
	if !ok || face.NumEmbeddeds() == 0 {
		return false
	}
	for e := range face.EmbeddedTypes() {
		u, ok := e.(*types.Union)
		if !ok {
			if !kind(e.Underlying()) {
				return false
			}
			continue
		}
		for term := range u.Terms() {
			if !kind(term.Type().Underlying()) {
				return false
			}
		}
	}
	return true
}

func isMap(t types.Type) bool { _, ok := t.(*types.Map); return ok }

func isChan(t types.Type) bool { _, ok := t.(*types.Chan); return ok }

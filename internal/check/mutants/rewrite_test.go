package mutants

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// mutant is one change of the source.
type mutant struct {
	id   int
	line int    // where it is now, for people
	file string // such as internal/commit/attempt.go
	in   string // the function, with its receiver
	does string // what is done to the text
	text string
	nth  int // of those in one function that are the same, from 1 on
}

// What is done to a text.
const (
	flip   = "flip"   // a condition, or a comparison, is negated
	bound  = "bound"  // < is <=, and so on
	either = "either" // && is ||, and || is &&
	drop   = "drop"   // a statement is left out
)

// key names the mutant in tables: by function and text, which outlive lines.
func (m mutant) key() string {
	k := fmt.Sprintf("%s %s: %s %s", path.Base(path.Dir(m.file)), m.in, m.does, m.text)
	if m.nth > 1 {
		k += fmt.Sprintf(" #%d", m.nth)
	}
	return k
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.key()) }

// isOn is what in each package reports whether a mutant is on, and notes that a test has come
// to it.
const isOn = "mutantOn_"

// switches is the file that is added to each package. A bound tells only where it matters: of
// equal values.
const switches = `package %s

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutant_, _     = strconv.Atoi(os.Getenv("%s"))
	mutantFile_, _ = os.OpenFile(os.Getenv("%s"), os.O_APPEND|os.O_WRONLY, 0)
	mutantMet_     [%d]atomic.Bool
)

func mutantOn_(n int) bool {
	if mutantFile_ != nil {
		mutantTell_(n)
	}
	return mutant_ == n
}

func mutantTell_(n int) {
	if !mutantMet_[n].Swap(true) {
		fmt.Fprintln(mutantFile_, n)
	}
}

func mutantLT_[T cmp.Ordered](n int, a, b T) bool { return a < b || a == b && mutantOn_(n) }
func mutantLE_[T cmp.Ordered](n int, a, b T) bool { return a < b || a == b && !mutantOn_(n) }
func mutantGT_[T cmp.Ordered](n int, a, b T) bool { return a > b || a == b && mutantOn_(n) }
func mutantGE_[T cmp.Ordered](n int, a, b T) bool { return a > b || a == b && !mutantOn_(n) }
`

var bounds = map[token.Token]string{
	token.LSS: "mutantLT_", token.LEQ: "mutantLE_", token.GTR: "mutantGT_", token.GEQ: "mutantGE_",
}

// edit replaces a part of the source.
type edit struct {
	from, to int
	text     string
}

// rewriter puts all mutants of one file into it.
type rewriter struct {
	fset   *token.FileSet
	source string
	file   string
	next   func() int
	all    []mutant
	edits  []edit
	seen   map[string]int
	in     string
}

// rewrite returns the source of a file with all its mutants, and these. next numbers them.
func rewrite(file, source string, next func() int) (string, []mutant, error) {
	r := &rewriter{
		fset: token.NewFileSet(), source: source, file: file, next: next, seen: map[string]int{},
	}
	tree, err := parser.ParseFile(r.fset, file, source, parser.SkipObjectResolution)
	if err != nil {
		return "", nil, err
	}
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			r.in = nameOf(f)
			r.block(f.Body.List)
		}
	}
	slices.SortStableFunc(r.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	at := 0
	for _, e := range r.edits {
		b.WriteString(source[at:e.from] + e.text)
		at = e.to
	}
	return b.String() + source[at:], r.all, nil
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

func (r *rewriter) at(p token.Pos) int { return r.fset.Position(p).Offset }

func (r *rewriter) put(at token.Pos, text string) {
	r.edits = append(r.edits, edit{r.at(at), r.at(at), text})
}

var spaces = regexp.MustCompile(`\s+`)

// add makes a mutant of a node, and returns its number.
func (r *rewriter) add(does string, n ast.Node) int {
	text := spaces.ReplaceAllString(r.source[r.at(n.Pos()):r.at(n.End())], " ")
	m := mutant{
		id: r.next(), line: r.fset.Position(n.Pos()).Line, file: r.file, in: r.in,
		does: does, text: text,
	}
	r.seen[m.key()]++
	m.nth = r.seen[m.key()]
	r.all = append(r.all, m)
	return m.id
}

// tells is what a statement must not look like: it tells people, and decides nothing.
var tells = regexp.MustCompile(
	`\b(log|stats|counts|seen|observer)\.|Observer\(\)|\.Add\(1\)|^panic\(|^_ = |^defer .*Unlock\(|` +
		`\.R?(Lock|Unlock)\(\)$`)

// block goes through statements, of which some may be dropped.
func (r *rewriter) block(list []ast.Stmt) {
	for _, s := range list {
		if !r.droppable(s) {
			r.inside(s)
			continue
		}
		n := r.add(drop, s)
		r.put(s.Pos(), fmt.Sprintf("if !%s(%d) { ", isOn, n))
		r.inside(s)
		r.put(s.End(), " }")
	}
}

func (r *rewriter) droppable(s ast.Stmt) bool {
	switch x := s.(type) {
	case *ast.ExprStmt, *ast.DeferStmt, *ast.IncDecStmt:
	case *ast.AssignStmt:
		if x.Tok == token.DEFINE {
			return false
		}
	case *ast.BranchStmt:
		return x.Tok == token.CONTINUE
	default:
		return false
	}
	return !tells.MatchString(r.source[r.at(s.Pos()):r.at(s.End())])
}

// inside goes through what is in a node.
func (r *rewriter) inside(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.BlockStmt:
			r.block(x.List)
			return false
		case *ast.CaseClause:
			for _, e := range x.List {
				r.inside(e)
			}
			r.block(x.Body)
			return false
		case *ast.IfStmt:
			return !r.condition(x.Init, x.Cond, x.Body, x.Else)
		case *ast.ForStmt:
			return !r.condition(x.Init, x.Cond, x.Post, x.Body)
		case *ast.GenDecl:
			return x.Tok == token.VAR
		case *ast.BinaryExpr:
			return !r.binary(x)
		case *ast.Ident:
			if x.Name == "true" || x.Name == "false" {
				r.flip(x, func() {})
			}
		}
		return true
	})
}

// condition goes through a statement with one, in the order of the source.
func (r *rewriter) condition(init ast.Stmt, cond ast.Expr, rest ...ast.Node) bool {
	if init != nil {
		r.inside(init)
	}
	if cond != nil {
		r.leaf(cond)
	}
	for _, n := range rest {
		if n != nil && !isNil(n) {
			r.inside(n)
		}
	}
	return true
}

func isNil(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.BlockStmt:
		return x == nil
	case ast.Stmt:
		return x == nil
	}
	return false
}

// leaf is what is true or false.
func (r *rewriter) leaf(e ast.Expr) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		r.leaf(x.X)
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			r.leaf(x.X)
			return
		}
		r.inside(e)
	case *ast.BinaryExpr:
		r.binary(x)
	default:
		r.flip(e, func() { r.inside(e) })
	}
}

func (r *rewriter) flip(e ast.Expr, inside func()) {
	r.put(e.Pos(), fmt.Sprintf("(%s(%d) != (", isOn, r.add(flip, e)))
	inside()
	r.put(e.End(), "))")
}

// binary reports whether it has gone through the expression.
func (r *rewriter) binary(x *ast.BinaryExpr) bool {
	switch x.Op {
	case token.LAND, token.LOR:
		not := fmt.Sprintf("(%s(%d) != (", isOn, r.add(either, x))
		r.put(x.Pos(), not+not)
		r.leaf(x.X)
		r.put(x.X.End(), "))")
		r.put(x.Y.Pos(), not)
		r.leaf(x.Y)
		r.put(x.Y.End(), "))))")
	case token.EQL, token.NEQ:
		r.flip(x, func() {
			r.inside(x.X)
			r.inside(x.Y)
		})
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		r.flip(x, func() {
			r.put(x.Pos(), fmt.Sprintf("%s(%d, ", bounds[x.Op], r.add(bound, x)))
			r.inside(x.X)
			op := r.at(x.OpPos)
			r.edits = append(r.edits, edit{op, op + len(x.Op.String()), ","})
			r.inside(x.Y)
			r.put(x.Y.End(), ")")
		})
	default:
		return false
	}
	return true
}

package sim_test

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var countBranches = flag.Bool("sim.branches", false, "count the branches of the protocol")

// Limits of TestBranches.
const (
	branchSchedules = 16_000
	coverageMin     = 0.9
)

// branch is a case that the protocol distinguishes. It is taken when the statement with
// which the text after ends is run; with a condition, when that holds right behind it. The
// text must occur once in the file; white space in it stands for any.
type branch struct{ name, after, when string }

// TestBranches runs schedules with all statements counted, and expects every branch of
// the protocol to be taken. What runs is a copy of the source, with a marker for each
// branch, and with the conditions, so that these are counted too.
func TestBranches(t *testing.T) {
	if !*countBranches {
		t.Skip("builds the engine once more: set -sim.branches to run it")
	}
	root, probes := copySource(t), 0
	places := map[string]place{}
	for _, p := range branches {
		file := filepath.Join(root, "internal", filepath.FromSlash(p.file))
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		marked, inserted := mark(t, p.file, string(source), p.cases)
		probes += inserted
		require.NoError(t, os.WriteFile(file, []byte(marked), 0o600))
		for _, b := range p.cases {
			at := marked[:strings.Index(marked, b.marker())]
			line := 1 + strings.Count(at, "\n")
			places[b.marker()] = place{line, len(at) - strings.LastIndexByte(at, '\n')}
		}
	}
	blocks := count(t, root)
	all, reached := coverage(blocks)
	all, reached = all-probes, reached-probes // all were reached, or something fails below
	share := float64(reached) / float64(all)
	fmt.Printf("%d of %d statements of the protocol reached, %.1f %%\n", reached, all, 100*share)
	assert.Greater(t, share, coverageMin)
	for _, p := range branches {
		fmt.Println(p.file)
		for _, b := range p.cases {
			n := taken(blocks[p.file], places[b.marker()])
			fmt.Printf("%10d  %s\n", n, b.name)
			assert.Positive(t, n, "%s: %s", p.file, b.name)
		}
	}
}

// TestBranchesAreAnchored: each branch has one place in the source, wherever that is now.
func TestBranchesAreAnchored(t *testing.T) {
	for _, p := range branches {
		source, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(p.file)))
		require.NoError(t, err)
		mark(t, p.file, string(source), p.cases)
	}
}

// copySource copies the module's source, and returns where.
func copySource(t *testing.T) string {
	t.Helper()
	from, to := filepath.Join("..", ".."), t.TempDir()
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		relative := strings.TrimPrefix(name, from)
		into := filepath.Join(to, relative)
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && relative != "":
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(into, 0o700)
		case filepath.Ext(name) != ".go" && !strings.HasPrefix(d.Name(), "go."):
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(into, data, 0o600)
	})
	require.NoError(t, err)
	return to
}

func (b branch) marker() string { return "/* " + b.name + " */" }

// mark puts markers and conditions into a source file, and counts the conditions.
func mark(t *testing.T, file, source string, cases []branch) (marked string, inserted int) {
	t.Helper()
	type insertion struct {
		at   int
		text string
	}
	var all []insertion
	for _, b := range cases {
		words := strings.Fields(b.after)
		for i := range words {
			words[i] = regexp.QuoteMeta(words[i])
		}
		at := regexp.MustCompile(strings.Join(words, `\s+`)).FindAllStringIndex(source, -1)
		require.Len(t, at, 1, "places in %s for %q", file, b.after)
		text := b.marker()
		if b.when != "" {
			text = "\nif " + b.when + " { " + b.marker() + "\n}"
			inserted++
		}
		all = append(all, insertion{at[0][1], text})
	}
	slices.SortFunc(all, func(a, b insertion) int { // from the end; at one place, markers last
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.text, b.text))
	})
	for _, x := range all {
		source = source[:x.at] + x.text + source[x.at:]
	}
	return source, inserted
}

// place is a position in a file, from 1 on.
type place struct{ line, column int }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.line, q.line), cmp.Compare(p.column, q.column))
}

// block is a row of a coverage profile.
type block struct {
	from, to         place
	statements, runs int
}

// count runs the simulation of a copy of the source, and returns its blocks by file.
func count(t *testing.T, root string) map[string][]block {
	t.Helper()
	profile := filepath.Join(root, "profile")
	cmd := exec.Command("go", "test", "-trimpath", "-vet=off", "-covermode=count",
		"-coverpkg=../commit,../txn,../resolve,../outcome,../cleanup,../scan,../store,../sweep",
		"-coverprofile", profile,
		"-run=^TestSim$", ".", "-sim.shrink=false", fmt.Sprintf("-sim.seeds=%d", branchSchedules))
	cmd.Dir = filepath.Join(root, "internal", "sim")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	raw, err := os.ReadFile(profile)
	require.NoError(t, err)
	blocks := map[string][]block{}
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n")[1:] {
		var b block
		file, rest, _ := strings.Cut(line, ":")
		_, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.from.line, &b.from.column,
			&b.to.line, &b.to.column, &b.statements, &b.runs)
		require.NoError(t, err, "%s", line)
		file = path.Join(path.Base(path.Dir(file)), path.Base(file))
		blocks[file] = append(blocks[file], b)
	}
	return blocks
}

// besides are files that are no part of the protocol: repairs, and the end of a whole database.
var besides = []string{"sweep/repair.go", "sweep/holders.go", "sweep/remove.go"}

// coverage adds up the statements, and those that were run.
func coverage(blocks map[string][]block) (all, reached int) {
	for name, file := range blocks { // any order: it is a sum
		if slices.Contains(besides, name) {
			continue
		}
		for _, b := range file {
			all += b.statements
			if b.runs > 0 {
				reached += b.statements
			}
		}
	}
	return all, reached
}

// taken is how often the innermost block around a place was run.
func taken(blocks []block, at place) int {
	var best block
	for _, b := range blocks {
		if b.from.compare(at) <= 0 && at.compare(b.to) <= 0 && b.from.compare(best.from) > 0 {
			best = b
		}
	}
	return best.runs
}

// Texts after which several branches are told apart.
const (
	askedPrimary = `if in.Mode == cell.Pending {
		sights, err := r.look(ctx, in.Tx, []cell.Member{p})`
	askedLong   = `if !in.Whole() { sights, err := r.look(ctx, in.Tx, []cell.Member{p})`
	joined      = `q.done.Wait(ctx); err != nil { return finding{}, err }`
	askedOthers = `f := conclude(in, sights)`
	confirmed   = `case someOff: var err error
		if s, err = r.Read(ctx, s.Name); err != nil { return Reading{}, err }`
	metSomebody = `if rd.Final() || !role.Writer && rd.readable() {`
	graceOf     = `Staged: in.Mode == cell.Staged, }.Grace()`
	waitsFor    = `wait := min(r.interval(rd, pause), r.grace(rd, role))`
	killed      = `case res == store.Applied: r.Dead(in.Tx)`
	notKilled   = `r.st.Send(ctx, r.st.Prepare(at, next))`
	folded      = `r.outcomes.Clear(in.Tx, w.At.Name)`
	retires     = `case s.fold.Cell == nil: continue }`
	attempted   = `func (a *attempt) conclude(v verdict) Result {`
	answered    = `w := answersOf(todo)`
	commitSent  = `res, _, err := rs.Send(a.ctx, w)`
	told        = `func (a *attempt) tell(m *Member, s resolve.Sight) Outcome {`
	askedMember = `for _, s := range seen {`
	weakRead    = `reads := tx.reads()`
	met         = `in := rd.Cell.Intent`

	lockedPrimary = `a, v := c.tryFirst(ctx, p, first)`
	gaveValue     = `res, s, err := a.rs.Send(ctx, w)`
	beaten        = `res, s, _ := h.a.rs.Send(short, st.Prepare(h.at, cell.Fence(h.at.Cell)))`
)

// branches are the cases of the protocol, in its words. Those of condemned tombstones and
// of a full backlog are not among them: no schedule leaves that much to the background.
var branches = []struct {
	file  string
	cases []branch
}{
	{"resolve/status.go", []branch{
		{"no intent, or its attempt is known to be final", `if rd.Final() { return rd, nil`, ""},
		{"pending: the intent is in its primary", `f := finding{fences: []store.Snapshot{s}}`,
			`in.Mode == cell.Pending && in.Primary().Name == s.Name`},
		{"pending: the primary has the mark", askedPrimary,
			`err == nil && sights[0].state == marked`},
		{"pending: the primary holds the intent", askedPrimary,
			`err == nil && sights[0].state == holds`},
		{"pending: the primary is at its expected version", askedPrimary,
			`err == nil && sights[0].state == atExpected`},
		{"pending: the primary is off", askedPrimary, `err == nil && sights[0].state == isOff`},
		{"staged: one with the mark", askedOthers,
			`in.Whole() && f.verdict == allCommitted && f.members.List != nil`},
		{"staged: all hold the intent", askedOthers,
			`err == nil && in.Whole() && f.verdict == allCommitted && f.members.List == nil`},
		{"staged: none off, some at its expected version", askedOthers,
			`in.Whole() && f.verdict == allUndecided`},
		{"staged: one off", askedOthers, `in.Whole() && f.verdict == someOff`},
		{"long list: the primary has the mark", askedLong,
			`err == nil && sights[0].state == marked`},
		{"long list: the primary is at its expected version", askedLong,
			`err == nil && sights[0].state == atExpected`},
		{"long list: the primary is off", askedLong, `err == nil && sights[0].state == isOff`},
		{"long list: the primary holds the intent, and one has the mark", askedOthers,
			`!in.Whole() && f.verdict == allCommitted && f.members.List != nil`},
		{"long list: all hold the intent", askedOthers,
			`err == nil && !in.Whole() && f.verdict == allCommitted && f.members.List == nil`},
		{"long list: none off, some at its expected version", askedOthers,
			`!in.Whole() && f.verdict == allUndecided`},
		{"long list: one off, but not the primary", askedOthers,
			`!in.Whole() && f.verdict == someOff`},
		{"undecided", `rd.fences, rd.Answered = f.fences, r.st.Tick()`, ""},
		{"committed", `r.Committed(tx, q.finding.members)`, ""},
		{"dead: the cell confirms, it still holds the intent", `r.Dead(in.Tx)`, ""},
		{"the cell does not confirm: start over", confirmed, `!s.Cell.Holds(in.Tx)`},
		{"a member can't be read", `if err != nil { return nil, err`, ""},
		{"this handle is asking already: that serves", `q.began > entered) {`, ""},
		{"this handle is asking already, since too long ago", joined,
			`q.err == nil && q.finding.verdict == allUndecided && q.began <= entered`},
	}},
	{"resolve/conflict.go", []branch{
		{"a reader does not ask about a lock", `!role.Writer { return r.Known(s), false, nil`, ""},
		{"a reader uses the committed value: staged, undecided", metSomebody,
			`!rd.Final() && rd.Cell.Intent.Mode == cell.Staged`},
		{"a reader uses the committed value: pending, the primary not reached", metSomebody,
			`!rd.Final() && rd.Cell.Intent.Mode == cell.Pending`},
		{"a reader waits for a pending intent that holds its primary", waitsFor,
			`wait > 0 && !role.Writer`},
		{"a writer waits", waitsFor, `wait > 0 && role.Writer`},
		{"a reader has waited long enough", waitsFor, `wait <= 0 && !role.Writer`},
		{"a writer has waited long enough", waitsFor, `wait <= 0 && role.Writer`},
		{"settled meanwhile by this handle", `rd.fences = fences`, `rd.Final()`},
		{"leaves while waiting", `s, err = r.again(ctx, rd.Snapshot, wait)`, `ctx.Err() != nil`},
		{"older meets younger, staged: about a write's latency", graceOf,
			`role.Ranked && role.Priority.Older(in.Priority) && in.Mode == cell.Staged`},
		{"older meets younger, pending: at once", graceOf,
			`role.Ranked && role.Priority.Older(in.Priority) && in.Mode == cell.Pending`},
		{"younger meets older: its patience, and some rounds", graceOf,
			`role.Ranked && !role.Priority.Older(in.Priority)`},
		{"a reader without intents: its patience", graceOf, `!role.Ranked`},
		{"killed by a fence", killed, `!at.Cell.Holds(in.Tx)`},
		{"killed by a fence that makes a tombstone", killed, `at.Version == ""`},
		{"killed by a fence elsewhere", `if at.Name != rd.Name { s = rd.Snapshot`, ""},
		{"killed by dropping the intent from the primary", killed, `at.Cell.Holds(in.Tx)`},
		{"the fence is refused", notKilled, `res == store.Refused`},
		{"the fence has an unknown outcome", notKilled, `res == store.Unknown`},
		{"the fence was not applied", notKilled, `res == store.NotApplied`},
	}},
	{"resolve/resolve.go", []branch{
		{"a value was unlinked", `if ref != "" && !w.Next.Links(ref) {`, ""},
		{"a committed intent's value was unlinked", `refs[1] = in.Value.Ref`, ""},
		{"a committed intent is folded, with its mark", folded,
			`_, ok := w.Next.Mark(in.Tx); ok`},
		{"a committed intent is folded, without its mark", folded,
			`_, ok := w.Next.Mark(in.Tx); !ok && r.outcomes.Of(in.Tx) == cell.Committed`},
		{"a dead intent is dropped", folded, `r.outcomes.Of(in.Tx) == cell.Dead`},
		{"a mark is dropped", `f.Drop = append(f.Drop, m.Tx)`, ""},
		{"a mark is carried over", `f.Drop = append(f.Drop, m.Tx) } }`,
			`len(f.Drop) < len(rd.Cell.Marks)`},
	}},
	{"outcome/outcome.go", []branch{
		{"all members are known not to hold the intent",
			`k.seen(x, tx, s, m.Long && i > 0) }`, "true"},
		{"one was seen off, and without the mark", `for i, y := range x.list { if x.cleared {`, ""},
		{"a member may hold the intent", `!off(s, tx, y) { return false`, ""},
		{"a long list that is not known: the primary tells", `k.seen(x, tx, s, false)`, ""},
	}},
	{"resolve/compact.go", []branch{
		{"a full cell: the oldest marks' attempts are helped",
			`old := oldest(rd.Cell, f, most)`, ""},
		{"help: a member holds the intent", `return step{fold: rd}`, ""},
		{"help: a member does not", `r.outcomes.Clear(tx, m.Name)`, ""},
		{"help with a long list: the primary has it", `m = mark.Members`, ""},
	}},
	{"cleanup/background.go", []branch{
		{"a cell is claimed by the next transaction (chaining)", `return j.tx, nil`, ""},
		{"a cell is claimed of an attempt in doubt: settled at once",
			`_ = b.retire(ctx, j.name, j.tx)`, ""},
		{"a cell to be claimed is being resolved", `done := j.done b.mu.Unlock() return`, ""},
		{"the background leaves a claimed cell", `if j.claimed { b.mu.Unlock() return`, ""},
		{"a pending attempt in doubt: one cell after the other", `todo = x.jobs`, ""},
		{"left to others", `b.log.Debug("resolving was left to others",`, ""},
	}},
	{"resolve/fold.go", []branch{
		{"the intent is gone", `since, ok := r.outcomes.Since(tx)`,
			`!cached || ok && s.Proved > since`},
		{"the intent seems gone: read again", `since, ok := r.outcomes.Since(tx)`,
			`cached && !(ok && s.Proved > since)`},
		{"an intent of an attempt in doubt: kill it", `rd, err = r.kill(ctx, rd, 0)`, ""},
		{"an intent of a committed attempt", retires, `s.fold.Outcome == cell.Committed`},
		{"an intent of a dead attempt", retires, `s.fold.Outcome == cell.Dead`},
		{"folding has an unknown outcome", `case store.Unknown: unknown = w`, ""},
	}},
	{"commit/attempt.go", []branch{
		{"direct: committed", attempted, `v.Outcome == Committed && a.kind == Direct`},
		{"direct: dead", attempted, `v.Outcome == Dead && a.kind == Direct`},
		{"direct: in doubt", attempted, `v.Outcome == InDoubt && a.kind == Direct`},
		{"parallel: committed", attempted, `v.Outcome == Committed && a.kind == Parallel`},
		{"parallel: dead", attempted, `v.Outcome == Dead && a.kind == Parallel`},
		{"parallel: in doubt", attempted, `v.Outcome == InDoubt && a.kind == Parallel`},
		{"validated: committed", attempted, `v.Outcome == Committed && a.kind == Validated`},
		{"validated: dead", attempted, `v.Outcome == Dead && a.kind == Validated`},
		{"validated: in doubt", attempted, `v.Outcome == InDoubt && a.kind == Validated`},
		{"locked: committed", attempted, `v.Outcome == Committed && a.kind == Locked`},
		{"locked: dead", attempted, `v.Outcome == Dead && a.kind == Locked`},
		{"locked: in doubt", attempted, `v.Outcome == InDoubt && a.kind == Locked`},
		{"more than 8 members: the primary lists them", `carried.List = a.list.List[:1]`, ""},
		{"what a dead attempt has left", `left.attempted(leftover{m.Name`, ""},
	}},
	{"commit/place.go", []branch{
		{"the hot member first", `return a.members[i : i+1]`, ""},
		{"the hot member has landed: the rest", `rest := a.unsent`, ""},
		{"direct: refused", answered, `a.kind == Direct && w.refused && w.failed == nil`},
		{"parallel: an intent refused", answered,
			`a.kind == Parallel && w.refused && w.failed == nil`},
		{"validated: an intent refused", answered,
			`a.kind == Validated && w.refused && w.failed == nil`},
		{"certainly not applied", answered, `w.failed != nil`},
		{"direct: unknown", answered, `a.kind == Direct && !w.refused && len(w.unknown) > 0`},
		{"parallel: an intent unknown", answered,
			`a.kind == Parallel && !w.refused && len(w.unknown) > 0`},
		{"validated: an intent unknown", answered,
			`a.kind == Validated && !w.refused && len(w.unknown) > 0`},
		{"unknown, but another refused", answered, `w.refused && len(w.unknown) > 0`},
		{"refused, but the cell shows the attempt: a duplicate", `case shows:`, ""},
		{"refused, and the cell tells: dead", `proof = true`, ""},
		{"refused, and the cell does not tell", `silent = append(silent, m)`, ""},
		{"nothing where nothing is expected: fenced", `return a.bury(todo[i])`, ""},
		{"fenced: dead", `m.Result, m.Seen = store.NotApplied, s`, ""},
		{"fenced, but refused or unknown", `case res != store.Applied:`, ""},
	}},
	{"commit/validate.go", []branch{
		{"a read has changed", `r.Outdated(now[i], clock) { stale = true`, ""},
		{"validated: a read is stale", `err := a.validate()`, `a.found.Stale`},
		{"validated: a read can't be validated", `err := a.validate()`, `err != nil`},
		{"commit write: of several members, with the mark", commitSent, `!fold.Unmarked`},
		{"commit write: of the only member, without", commitSent, `fold.Unmarked`},
		{"commit write: applied", `case res == store.Applied: return committed`, ""},
		{"commit write: not applied", `case res == store.NotApplied && !doubt: return dead(err)`, ""},
		{"commit write: refused", commitSent, `res == store.Refused`},
		{"commit write: unknown", commitSent, `res == store.Unknown`},
		{"commit write: again", commitSent, `tries > 0`},
		{"commit write: unknown, and the caller leaves",
			`return a.leave(errors.Join(cerr, err))`, ""},
		{"commit write: the intent is gone, and the cell tells",
			`case told == cell.ProvesDead: return dead(nil), s`, ""},
		{"commit write: the primary can't be read", `return a.leave(err), s`, ""},
		{"commit write: the primary names the attempt", `return committed, s`, ""},
		{"commit write: the primary still holds the intent", `return undecided, s`, ""},
		{"commit write: the primary is off, all members are asked",
			`return a.askMembers(), s`, ""},
	}},
	{"txn/escalate.go", []branch{
		{"escalated: the function runs on the locked values",
			`case changed: t.rerun(StaleRead, "")`, ""},
		{"escalated: new locks", `t.fresh = nil t.anew(LocksLost, "")`, ""},
		{"escalated: the commit write is refused", `t.anew(LocksLost, "") } return done, err`, ""},
	}},
	{"commit/lock.go", []branch{
		{"escalated: the primary is locked", lockedPrimary, `!v.ended()`},
		{"escalated: the primary is refused", lockedPrimary, `v.Outcome == Dead && v.err == nil`},
		{"escalated: the primary is raced for", `return c.raceFirst(ctx, p, first)`, ""},
		{"escalated: a primary that was raced for is refused", `rest = append(rest, a)`, ""},
	}},
	{"commit/locks.go", []branch{
		{"escalated: a key changes before it is locked",
			`m.Result, m.Seen = store.NotApplied, s`, ""},
		{"escalated: a lock has landed, its answer is lost",
			`m.Result = store.Applied l.a.rs.Replaced(m.write)`, ""},
		{"escalated: a key is raced for", `err = l.race(m)`, ""},
		{"escalated: a lock that was raced for has landed", `*m = *won`, ""},
		{"escalated: a value gets into its intent", gaveValue, `res == store.Applied`},
		{"escalated: a value's outcome is unknown", gaveValue, `res == store.Unknown`},
		{"escalated: the locks turn out to be lost", gaveValue, `res == store.Refused`},
	}},
	{"commit/heart.go", []branch{
		{"heartbeat of locks", beaten, `res == store.Applied && h.lost != nil`},
		{"heartbeat during a validation", beaten, `res == store.Applied && h.lost == nil`},
		{"heartbeat: unknown", beaten, `res == store.Unknown`},
		{"heartbeat: the primary does not hold the intent", `h.gone = true return false`, ""},
		{"heartbeat: the last one is not waited for", `_ = h.stopped.Wait(ctx) cancel()`,
			`!h.stopped.IsSet()`},
	}},
	{"resolve/await.go", []branch{
		{"somebody else of the handle has read what is waited for", `return n.seen, nil`, ""},
		{"nobody has", `r.st.ReadShared(ctx, s.Name, s.Proved)`, ""},
	}},
	{"resolve/race.go", []branch{
		{"a racer looks on", `return c.look(c.pause)`, ""},
		{"a racer has won", `landed, seen, err := c.Try(c.trying, rd, f)`, `landed`},
		{"a racer was told what there is instead", `rd = c.Known(seen)`, ""},
	}},
	{"commit/doubt.go", []branch{
		{"the caller leaves with writes unknown",
			`if err := a.ctx.Err(); err != nil { return nil, a.leave(errors.Join(err, cause))`, ""},
		{"the cells can't be read", `seen, err := a.observe(unknown)`, `err != nil`},
		{"parallel: it has landed", told, `a.kind == Parallel && s.Evidence == cell.HoldsIntent`},
		{"validated: it has landed", told, `a.kind == Validated && s.Evidence == cell.HoldsIntent`},
		{"direct: it has committed", told, `a.kind == Direct && s.Evidence == cell.ProvesCommitted`},
		{"parallel: it has committed, and been folded", told,
			`a.kind == Parallel && s.Evidence == cell.ProvesCommitted`},
		{"direct: sent again", told, `a.kind == Direct && s.Evidence == cell.AtExpected`},
		{"parallel: sent again", told, `a.kind == Parallel && s.Evidence == cell.AtExpected`},
		{"validated: sent again", told, `a.kind == Validated && s.Evidence == cell.AtExpected`},
		{"validated: off, so dead", told, `a.kind == Validated && s.Evidence == cell.ProvesDead`},
		{"parallel: off, and some intent was not sent, so dead", told,
			`a.kind == Parallel && s.Evidence == cell.ProvesDead && len(a.unsent) > 0`},
		{"the cell tells: dead", `case cell.ProvesDead: return Dead`, ""},
		{"the cell can't tell: all members are asked", `if v = a.askMembers(); v.Outcome`, ""},
		{"asked: one names the attempt, committed",
			`case cell.ProvesCommitted: return committed`, ""},
		{"asked: one still holds the intent, dead", askedMember,
			`s.Evidence == cell.HoldsIntent`},
		{"asked: one is at its expected version, dead", askedMember,
			`s.Evidence == cell.AtExpected`},
		{"asked: one tells, dead", askedMember, `s.Evidence == cell.ProvesDead`},
		{"asked: none can tell, in doubt", `return inDoubt(errSilent)`, ""},
		{"asked: a member can't be read, in doubt", `if err != nil { return inDoubt(err)`, ""},
		{"the caller leaves before writes are sent again",
			`a.rt.Sleep(a.ctx, seam.Jitter(a.rt, d)); err != nil {`, ""},
		{"left: pending, the commit write not sent", `if a.mayCommit() { return inDoubt(err) } return dead(err)`,
			""},
		{"left: in doubt", `if a.mayCommit() { return inDoubt(err)`, ""},
	}},
	{"commit/prepare.go", []branch{
		{"a member's intent is undecided: settle it", `open = append(open, m)`, ""},
		{"a member's intent is claimed", `left.claim(`, ""},
		{"a key that is not known is taken to be absent", `store.NoObject(name)}`, ""},
		{"an object to link a value over", `s, err := c.st.Ground(ctx, m.Name)`, ""},
		{"what was left goes to the background", `c.bg.Resolve(left[0].tx`, ""},
		{"a member is full of marks", `return true, c.rs.CompactMarks(ctx, m.Base, extra)`, ""},
	}},
	{"txn/plan.go", []branch{
		{"a key that was read has changed before anything is sent", `p.stale, p.lost = true, m.Name`,
			`_, w := m.Base.Effective(); p.writes[i].Seen && w != p.writes[i].Writer`},
		{"an insert finds the key at the commit",
			`p.stale, p.lost = true, m.Name`, `p.writes[i].Insert && !m.Base.Absent(now)`},
		{"needless: deletes of what is absent, and locks", `e.setRead(members[i].Base, 0)`, ""},
		{"not needless", `!m.Base.Absent(0) { return false`, ""},
	}},
	{"txn/refresh.go", []branch{
		{"a member that was not sent is undecided",
			`e.Base, e.old = rd, locked(rd) || !rd.Final()`, `e.old`},
		{"validation has read what changed: run again", `if r.Stale {`, ""},
		{"a key that was only read has changed", `r.Outdated(others[i], now) { return r.Name, true`, ""},
		{"a key that was written has changed", `e.Outdated(e.Base, now) { return e.Name, true`, ""},
		{"the function runs again", `t.rerun(Conflict, lost)`, ""},
		{"versions alone have moved: a new attempt at once",
			`if !changed { return false, nil`, ""},
		{"two refused each other: the younger backs off", `d := contention.Backoff(`, ""},
	}},
	{"txn/reads.go", []branch{
		{"a read is exempt from validation", `return 1`, ""},
		{"none is exempt: the last came from the cache", `if sent <= t.begun { return 0`, ""},
		{"none is exempt: it was sent before others were answered",
			`if r.Base.Answered >= sent { return 0`, ""},
		{"a weak snapshot of one instant", weakRead,
			`t.o.Staleness > 0 && len(tx.spans) == 0 && t.snapshot(reads)`},
		{"a weak snapshot is not of one instant", weakRead,
			`t.o.Staleness > 0 && len(tx.spans) == 0 && !t.snapshot(reads)`},
		{"reads only: they are stale, run again", `if stale { t.rerun(StaleRead, t.lost(must))`, ""},
		{"reads only: they can't be validated", `if err != nil { return true, err`, ""},
		{"an error of the function, its reads valid", `t.endsAs(observe.Failed)`, ""},
		{"reads only: they are valid", `t.endsAs(observe.ReadOnly)`, ""},
	}},
	{"txn/scan.go", []branch{
		{"a run begins with what validation has listed",
			`o := scan.WalkOptions{Known: tx.known}`, `len(tx.known) > 0`},
		{"a weak scan begins with what is remembered",
			`t.e.memory.Recall(r, since)`, `len(o.Known) > 0`},
		{"a key of the transaction's own, where none is listed",
			`own := s.ownLocked()`, `own != "" && s.head != nil && s.head.Name != own`},
		{"a key of the transaction's own behind the last listed",
			`own := s.ownLocked()`, `own != "" && s.head == nil`},
		{"a listed key that the transaction has written",
			`own := s.ownLocked()`, `own != "" && s.head != nil && s.head.Name == own`},
		{"strong scans of one instant: validation had listed twice",
			`t.e.memory.Keep(tx.spans, tx.spans[0].At())`, `strong`},
		{"weak scans of one instant", `return t.e.st.Fresh(at, t.start, t.o.Staleness)`, ""},
		{"weak scans not of one known instant", `!s.At().Equal(at) { return false`, ""},
	}},
	{"scan/walker.go", []branch{
		{"a listed cell is cached at that version", `rd := w.rs.Known(s)`,
			`s.Version == f.Version`},
		{"a listed cell is cached at a later version", `rd := w.rs.Known(s)`,
			`s.Version != f.Version`},
		{"a cached intent is not final: read", `rd := w.rs.Known(s)`,
			`!rd.Final() && s.Cell.Intent.Action != cell.Lock`},
		{"an external value has been replaced meanwhile", `f.Live = true`, ""},
	}},
	{"scan/validate.go", []branch{
		{"a name is gone: changed", `store.NoObject(seen.Name)}) { p.stale = true`, ""},
		{"an own intent: as it was seen", `base, own := p.Own[now.Name]; own {`,
			`seen.matches(base)`},
		{"an own intent: changed before it landed", `base, own := p.Own[now.Name]; own {`,
			`!seen.matches(base)`},
		{"a name is new", `case seen == nil: return false`, ""},
		{"at the version seen", `now.writer, now.reading, now.expires = `, ""},
		{"at the version seen, but with an undecided intent", `doubt{j, seen})`,
			`seen != nil && seen.Version == now.Version`},
		{"at another version", `doubt{j, seen})`, `seen != nil && seen.Version != now.Version`},
		{"read again: as it was", `changed[i] = !some[i].seen.matches(rd)`, `!changed[i]`},
		{"read again: changed", `changed[i] = !some[i].seen.matches(rd)`, `changed[i]`},
	}},
	{"txn/upload.go", []branch{
		{"an upload has failed", `err := e.upload.err; err != nil {`, ""},
		{"a value is not linked", `u.cancel()`, ""},
		{"an object beside an upload, to link it over", `u.under, _ =`, ""},
		{"a value that was read is gone",
			`tx.vanished = append(tx.vanished, vanished...)`, `len(vanished) > 0`},
	}},
	{"txn/wait.go", []branch{
		{"a latch is granted, and nobody shares it", `case latch.Go: t.latch, how = place, observe.Over`, ""},
		{"a transaction goes on by itself", `case latch.Solo: t.solo = true`, ""},
		{"a transaction acquires another latch", `case latch.Again:`, ""},
		{"a group has committed, or is in doubt", `case latch.End:`, ""},
		{"the caller leaves before the latch is granted, or has waited too long",
			`if t.e.latches.Leave(place, t) {`, ""},
		{"the caller leaves a group that is at work",
			`return true, t.waiter.group.without(t, err)`, ""},
	}},
	{"txn/group.go", []branch{
		{"nobody is left in a group", `if len(kept) == 0 {`, ""},
		{"a function takes too long for a group", `case ran.Wait(ctx) != nil:`, ""},
		{"a function fails in a group", `case !r.good:`, ""},
		{"the caller leaves a group that has not begun to commit", `if !g.committing {`, ""},
		{"a group is not to commit what a caller has done who has left",
			`g.committing = g.completeLocked()`, `!g.committing`},
		{"all callers leave a group that commits", `g.left == len(g.waiters) && g.cancel != nil {`,
			`g.committing`},
		{"a group is in doubt", `case inDoubt:
			r.waiter.err =`, ""},
		{"a group has only read", `case err == nil && g.t.linked == nil:`, ""},
		{"a group can't commit, and its waiters go on by themselves", `o = latch.Solo`, ""},
		{"a key that a waiter before has used",
			`e.fetch, e.lent, e.handed = nil, true, src.handed || src.own()`, ""},
	}},
	{"sweep/sweep.go", []branch{
		{"sweep: an intent is abandoned", `return p.settle(ctx, info)`, ""},
		{"sweep: a tombstone is old enough", `return p.tombstone(ctx, info)`, ""},
		{"sweep: not old enough", `r.Waiting++`, ""},
	}},
	{"sweep/garbage.go", []branch{
		{"sweep: removed", `case store.Applied: p.count(removed)`, ""},
		{"sweep: changed since it was listed", `p.count(removed) case store.Refused:`, ""},
		{"sweep: condemned", `case store.Applied:
			case store.Refused:`, ""},
		{"sweep: an old value is linked", `return links(s.Cell, v.id) }) if len(group) == 0 {`, ""},
		{"sweep: an old value is not", `r.Values++`, ""},
	}},
	{"cleanup/unlink.go", []branch{
		{"the value of an attempt in doubt, which is dead", `== cell.Dead && !late() {`, ""},
	}},
	{"store/share.go", []branch{
		{"a read is shared", `case f.seen.Proved > after:`, ""},
		{"a shared read has failed", `case err != nil || f.err != nil:`, ""},
	}},
	{"store/value.go", []branch{
		{"an upload was refused: an earlier copy has landed", `case Refused:`, ""},
		{"a value is missing", `case missing: return nil, ErrMissing`, ""},
		{"whether a value was written is not known", `if version == "" {`, ""},
	}},
	{"txn/tx.go", []branch{
		{"an insert finds the key in what is known", `case ok && !rd.Absent(tx.now): e.setRead(rd, tx.now)`, ""},
		{"an insert of what is known to be absent", `case ok: e.Base = rd`, ""},
		{"a blind write fetches its cell", `e.fetch = t.e.rt.NewEvent()`, ""},
		{"a key is locked", `e.op = opLock`, ""},
	}},
	{"txn/readset.go", []branch{
		{"the run begins with what the last one has read",
			`tx.fresh[name]; ok { return rd, true`, ""},
	}},
	{"txn/engine.go", []branch{
		{"a value is gone, outside a transaction",
			`if !errors.Is(err, store.ErrMissing) { return data, a, err }`, ""},
		{"a read outside a transaction, from the cache", `if ok { e.stats.Hits.Add(1)`, ""},
		{"a read outside a transaction, of the store", `e.stats.Misses.Add(1)`, ""},
	}},
	{"txn/txn.go", []branch{
		{"the last attempt allowed has failed", `&ConflictError{Attempts: t.failures}`, ""},
		{"who leaves gives up its locks", `func (t *txn) leave() {`, `t.locks != nil`},
	}},
	{"store/write.go", []branch{
		{"not applied, sent again", `if result == NotApplied { return cause`, ""},
		{"throttled, and outrun", `result, cause = Refused, errOutrun`, ""},
		{"refused, but an earlier copy was unknown", `if w.doubt { result = Unknown`, ""},
	}},
	{"store/store.go", []branch{
		{"not modified", `e.Cell, e.Version, e.Size = known.Cell, known.Version, known.Size`, ""},
		{"a request runs into its timeout, each time", `return &timeoutError{err}`, ""},
	}},
}

package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Variables of the environment.
const (
	environment = "STRICTKV_MUTANT"         // which mutant is on; 0, or nothing, is none
	reachedFile = "STRICTKV_MUTANT_REACHED" // a file to note to which of them a test comes
)

// plan is a program with mutants: packages, and the tests that are to kill them.
type plan struct {
	root    string // of the packages
	overlay string
	all     []mutant
}

// newPlan puts mutants into packages, which are given by their folders below root.
func newPlan(t *testing.T, root string, packages ...string) *plan {
	t.Helper()
	root, err := filepath.Abs(root)
	require.NoError(t, err)
	p, dir, replace := &plan{root: root}, t.TempDir(), map[string]string{}
	number := 0
	next := func() int { number++; return number }
	write := func(as, text string) {
		to := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		require.NoError(t, os.WriteFile(to, []byte(text), 0o600))
		replace[as] = to
	}
	for _, folder := range packages {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			name := path.Join(folder, filepath.Base(file))
			text, all, err := rewrite(name, string(source), next)
			require.NoError(t, err)
			write(file, text)
			p.all = append(p.all, all...)
		}
		write(filepath.Join(root, folder, "mutant_switches.go"),
			fmt.Sprintf(switches, path.Base(folder), environment, reachedFile, number+1))
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	p.overlay = filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(p.overlay, data, 0o600))
	return p
}

// suite is tests of a package, with all mutants.
type suite struct {
	name string // of the package's folder, below the plan's root
	part string // which of its tests, if not all that are quick
	only string // an expression for its tests, if not empty
	skip string // one for those that are left out
	args []string

	folder, binary string
	tests          []single // once it was measured
}

// single is one test.
type single struct {
	Name    string
	Took    time.Duration // of a processor, without any mutant
	Reached map[int]bool  // to which mutants it comes
}

// build builds the tests of packages, all at once.
func (p *plan) build(t *testing.T, suites ...*suite) []*suite {
	t.Helper()
	dir := *built
	if dir == "" {
		dir = t.TempDir()
	}
	args := []string{"test", "-vet=off", "-c", "-overlay", p.overlay, "-o", dir + "/"}
	for _, s := range suites {
		s.folder = filepath.Join(p.root, s.name)
		s.binary = filepath.Join(dir, filepath.Base(s.folder)+".test")
		if s.name == "." { // the root of the module, whose folder may have any name
			s.binary = filepath.Join(dir, "strictkv.test")
		}
		_, err := os.Stat(s.binary)
		if err != nil && !slices.Contains(args, "./"+s.name) {
			args = append(args, "./"+s.name)
		}
	}
	if !strings.HasPrefix(args[len(args)-1], "./") {
		return suites
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = p.root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return suites
}

// Limits of what a suite may take.
const (
	// timesMost is how often tests may take what they take of a processor without any mutant, and
	// leastMost the least of that: the clock goes on while others work, too.
	timesMost = 4
	leastMost = 2 * time.Second
	// clockMost is, by the clock, how often it may take that.
	clockMost = 30
	// memoryMost is of KiB of addresses.
	memoryMost = 8 << 20
)

const (
	// limited is a program of the shell, which limits what it runs. Go ignores the signal that
	// a softer limit sends.
	limited = `ulimit -t "$1"; ulimit -v "$2"; shift 2; exec "$@"`
	// tooLong is what is said of a suite that takes more by the clock.
	tooLong = "too long"
	// tooMuch is what is said of one that takes more of a processor.
	tooMuch = "too much"
)

// measure runs each test without any mutant, if that was not done.
func (s *suite) measure(t *testing.T) {
	t.Helper()
	known := strings.ReplaceAll(s.binary+s.part, ".test", ".reached")
	if data, err := os.ReadFile(known); err == nil && s.tests == nil {
		require.NoError(t, json.Unmarshal(data, &s.tests))
	}
	if s.tests != nil {
		return
	}
	all := single{}
	for _, name := range s.list(t) {
		file := filepath.Join(t.TempDir(), "reached")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		killed, says, took := s.try(t, single{Name: name, Took: unlimited}, reachedFile+"="+file)
		if killed {
			fmt.Printf("%s: without any mutant %s fails, and is left out:\n%s",
				s.label(), name, says)
			continue
		}
		met, err := os.ReadFile(file)
		require.NoError(t, err)
		one := single{name, took, map[int]bool{}}
		for line := range strings.Lines(string(met)) {
			n, err := strconv.Atoi(strings.TrimSpace(line))
			require.NoError(t, err)
			one.Reached[n] = true
		}
		s.tests, all.Took = append(s.tests, one), all.Took+took
	}
	fmt.Printf("%s: %d tests take %v\n", s.label(), len(s.tests), all.Took)
	data, err := json.Marshal(s.tests)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(known, data, 0o600))
}

// list returns the names of the suite's tests.
func (s *suite) list(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command(s.binary, "-test.list=^(Test|Example|Fuzz)")
	cmd.Dir = s.folder
	out, err := cmd.Output()
	require.NoError(t, err)
	only, skip := regexp.MustCompile(s.only), regexp.MustCompile(s.skip)
	return slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool {
		return !only.MatchString(name) || s.skip != "" && skip.MatchString(name)
	})
}

const unlimited = time.Minute

// kills reports whether a test that comes to the mutant fails with it, or does not end, and what
// it says.
func (s *suite) kills(t *testing.T, id int) (yes bool, says string) {
	t.Helper()
	var names []string
	var took time.Duration
	for _, one := range s.tests {
		if one.Reached[id] {
			names, took = append(names, one.Name), took+one.Took
		}
	}
	if names == nil {
		return false, ""
	}
	yes, says, _ = s.try(t, single{Name: strings.Join(names, "|"), Took: took},
		fmt.Sprintf("%s=%d", environment, id))
	return yes, says
}

// try runs tests, and tells what was taken of a processor, too.
func (s *suite) try(
	t *testing.T, of single, env string,
) (killed bool, says string, took time.Duration) {
	t.Helper()
	most := max(timesMost*of.Took, leastMost)
	ctx, cancel := context.WithTimeout(t.Context(), clockMost*most)
	defer cancel()
	args := append([]string{"-c", limited, "sh", strconv.Itoa(int(most.Seconds())),
		strconv.Itoa(memoryMost), s.binary, "-test.run=^(" + of.Name + ")$"}, s.args...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.CombinedOutput()
	took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return true, tooLong, took
	case errors.As(err, &failed) && !failed.Exited():
		return true, tooMuch, took
	case errors.As(err, &failed):
		return true, string(out), took
	}
	require.NoError(t, err)
	return false, "", took
}

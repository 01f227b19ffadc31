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
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// environment is the variable that says which mutant is on; 0, or nothing, is none.
const environment = "STRICTKV_MUTANT"

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
			fmt.Sprintf(switches, path.Base(folder), environment))
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	p.overlay = filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(p.overlay, data, 0o600))
	return p
}

// suite is the tests of a package, with all mutants.
type suite struct {
	name string        // of the package's folder, below the plan's root
	part string        // which of its tests, if not all that are quick
	most time.Duration // what it may take of a processor; see measure
	args []string

	folder, binary string
}

// build builds the tests of packages, all at once.
func (p *plan) build(t *testing.T, suites ...suite) []suite {
	t.Helper()
	dir := t.TempDir()
	args := []string{"test", "-vet=off", "-c", "-overlay", p.overlay, "-o", dir + "/"}
	for i, s := range suites {
		if !slices.Contains(args, "./"+s.name) {
			args = append(args, "./"+s.name)
		}
		suites[i].folder = filepath.Join(p.root, s.name)
		suites[i].binary = filepath.Join(dir, filepath.Base(suites[i].folder)+".test")
		if s.name == "." { // the root of the module, whose folder may have any name
			suites[i].binary = filepath.Join(dir, "strictkv.test")
		}
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = p.root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return suites
}

// Limits of what a suite may take.
const (
	// timesMost is how often it may take what it takes of a processor without any mutant, and
	// leastMost the least of that: the clock goes on while others work, too.
	timesMost = 10
	leastMost = 2 * time.Second
	// clockMost is, by the clock, how often it may take that.
	clockMost = 60
	// memoryMost is of KiB of addresses.
	memoryMost = 8 << 20
)

const (
	// limited is a program of the shell, which limits what it runs.
	limited = `ulimit -S -t "$1"; ulimit -v "$2"; shift 2; exec "$@"`
	// tooLong is what is said of a suite that takes more by the clock.
	tooLong = "too long"
)

// measure runs the suite without any mutant, and sets what it may take.
func (s *suite) measure(t *testing.T) {
	t.Helper()
	s.most = unlimited
	killed, says, took := s.try(t, 0)
	require.False(t, killed, "%s fails without any mutant:\n%s", s.name, says)
	s.most = max(timesMost*took, leastMost)
	fmt.Printf("%s: takes %v, and may take %v\n", s.label(), took, s.most)
}

const unlimited = 10 * time.Minute

// kills reports whether the suite fails with the mutant, or does not end, and what it says.
func (s suite) kills(t *testing.T, id int) (yes bool, says string) {
	t.Helper()
	yes, says, _ = s.try(t, id)
	return yes, says
}

// try is kills that also tells what was taken of a processor.
func (s suite) try(t *testing.T, id int) (killed bool, says string, took time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clockMost*s.most)
	defer cancel()
	args := []string{"-c", limited, "sh", strconv.Itoa(int(s.most.Seconds())),
		strconv.Itoa(memoryMost), s.binary}
	cmd := exec.CommandContext(ctx, "sh", append(args, s.args...)...)
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", environment, id))
	out, err := cmd.CombinedOutput()
	took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return true, tooLong, took
	case errors.As(err, &failed):
		return true, string(out), took
	}
	require.NoError(t, err)
	return false, "", took
}

package lint

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	whyPinned = "a tag can be moved to other code, a commit can't: " +
		"uses: owner/action@<commit> # <version>"
	whyPermissions = "what a workflow may do is said at its top, and is no more than reading; " +
		"a job that needs more says so"
	whyHere = "CI and a contributor run the same checks"
)

var (
	uses   = regexp.MustCompile(`^\s*(?:- )?uses:\s*(\S.*)$`)
	pinned = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+@[0-9a-f]{40} # v[0-9]+(\.[0-9]+)*$`)
	reads  = regexp.MustCompile(`(?m)^permissions:\n  contents: read\n(\S|\n)`)
)

// workflows looks for actions that are not pinned, and for permissions by default.
func workflows(p page) []finding {
	var found []finding
	if !reads.MatchString(p.text) {
		found = append(found, finding{p.name, 0, "no permissions of its own", whyPermissions})
	}
	for i, line := range strings.Split(p.text, "\n") {
		action := uses.FindStringSubmatch(line)
		if action != nil && !pinned.MatchString(action[1]) {
			found = append(found, finding{p.name, i + 1, "not pinned: " + action[1], whyPinned})
		}
	}
	return found
}

func TestWorkflows(t *testing.T) {
	const dir = ".github/workflows"
	entries, err := os.ReadDir(filepath.Join(root, dir))
	require.NoError(t, err)
	all := ""
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(root, dir, e.Name()))
		require.NoError(t, err)
		all += string(text)
		report(t, workflows(page{path.Join(dir, e.Name()), string(text)}))
	}
	assert.Contains(t, all, "run: bash .ci/run\n", whyHere)
}

func TestWorkflowRules(t *testing.T) {
	commit := strings.Repeat("0a", 20)
	good := "on: push\npermissions:\n  contents: read\n\njobs:\n" +
		"  - uses: actions/checkout@" + commit + " # v6.0.2\n    uses: a/b/c@" + commit + " # v1\n"
	assert.Empty(t, workflows(page{"w.yml", good}))
	bad := "permissions:\n  contents: read\n  packages: write\n- uses: actions/checkout@v6\n" +
		"- uses: actions/checkout@" + commit + "\n"
	assert.Equal(t, []finding{
		{"w.yml", 0, "no permissions of its own", whyPermissions},
		{"w.yml", 4, "not pinned: actions/checkout@v6", whyPinned},
		{"w.yml", 5, "not pinned: actions/checkout@" + commit, whyPinned},
	}, workflows(page{"w.yml", bad}))
}

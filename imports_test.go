package strictkv_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// deps are the packages that a package consists of, with those of the library among them.
func deps(t *testing.T, dir, pkg string) (ours, theirs []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "-C", dir, "list", "-deps",
		"-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", pkg).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for path := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(path, "github.com/strictkv/strictkv") {
			ours = append(ours, path)
		} else {
			theirs = append(theirs, path)
		}
	}
	return ours, theirs
}

// TestNoAdapter: a program pays for the SDK of its own store alone.
func TestNoAdapter(t *testing.T) {
	ours, _ := deps(t, ".", ".")
	assert.Greater(t, len(ours), 1, "packages of the library")
	for _, path := range ours {
		assert.NotRegexp(t, "/backend/.", path, "the library knows no adapter")
	}
}

// TestLean: who needs no cloud compiles the library and the standard library, and nothing of
// others: so the first command of the README takes seconds.
func TestLean(t *testing.T) {
	for _, pkg := range []string{
		".", "./backend/folder", "./backend/memory", "./examples/quickstart",
	} {
		_, theirs := deps(t, ".", pkg)
		assert.Empty(t, theirs, "%s needs nothing else", pkg)
	}
	light := regexp.MustCompile(`^golang\.org/x/sync/`)
	for _, pkg := range []string{"analytics", "bank", "settings", "sweep"} {
		_, theirs := deps(t, ".", "./examples/"+pkg)
		for _, path := range theirs {
			assert.Regexp(t, light, path, "%s needs nothing else", pkg)
		}
	}
}

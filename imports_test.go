package strictkv_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNoSDK: a program pays for the SDK of its own store alone.
func TestNoSDK(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	ours := 0
	for pkg := range strings.Lines(string(out)) {
		domain, _, _ := strings.Cut(pkg, "/")
		switch {
		case strings.HasPrefix(pkg, "github.com/strictkv/strictkv"):
			ours++
			assert.NotRegexp(t, "/backend/.", pkg, "the library knows no adapter")
		case strings.Contains(domain, "."):
			assert.Contains(t, pkg, "golang.org/x/", "the library needs nothing else")
		}
	}
	assert.Greater(t, ours, 1, "packages of the library")
}

package modules

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/raced"
)

const root = "../../.."

// run runs the go command in a folder of the repository.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = filepath.Join(root, dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "go %s in %s:\n%s", strings.Join(args, " "), dir, out)
	return string(out)
}

// nested finds the modules below that of the library. It opens all files that tests of them
// may depend on, so that the result of a test here is not taken from go's cache when one of
// them has changed.
func nested(t *testing.T) (modules []string) {
	source := regexp.MustCompile(`\.(go|md)$|/go\.(mod|sum)$|/testdata/`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(path)
		switch {
		case path != root && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.Type().IsRegular() && source.MatchString(name):
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			if d.Name() == "go.mod" && filepath.Dir(path) != filepath.Clean(root) {
				dir, err := filepath.Rel(root, filepath.Dir(path))
				require.NoError(t, err)
				modules = append(modules, dir)
			}
			return f.Close()
		}
		return nil
	})
	require.NoError(t, err)
	return modules
}

// TestNested runs the tests of the nested modules, which `go test ./...` passes by: so that
// command, the README's second, tests everything.
func TestNested(t *testing.T) {
	modules := nested(t)
	assert.Equal(t,
		[]string{
			"backend/pebble", "benchmarks", "cmd/strictkv", "layers/backup", "layers/otelkv",
			"layers/replica", "layers/typed/cbor",
		}, modules)
	if raced.Enabled() {
		return // .ci/run looks for races in each module by itself
	}
	for _, dir := range modules {
		t.Run(dir, func(t *testing.T) { run(t, dir, "test", "./...") })
	}
}

// deps are the packages that a package consists of, ours and those of others.
func deps(t *testing.T, dir, pkg string) (ours, theirs []string) {
	t.Helper()
	all := run(t, dir, "list", "-deps", "-f",
		"{{if not .Standard}}{{.ImportPath}}{{end}}", pkg)
	for path := range strings.FieldsSeq(all) {
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
	nested(t)
	ours, _ := deps(t, ".", ".")
	assert.Greater(t, len(ours), 1, "packages of the library")
	for _, path := range ours {
		assert.NotRegexp(t, "/backend/.", path, "the library knows no adapter")
	}
}

// TestLean: who needs no cloud compiles the library and the standard library, and no SDK of
// others: so the first command of the README takes seconds.
func TestLean(t *testing.T) {
	nested(t)
	for _, pkg := range []string{
		".", "./backend/folder", "./backend/memory", "./examples/quickstart",
	} {
		_, theirs := deps(t, ".", pkg)
		assert.Empty(t, theirs, "%s needs nothing else", pkg)
	}
	clouds := `^(cloud\.google\.com|google\.golang\.org|github\.com/(Azure|aws|fsouza))/`
	for _, program := range [][2]string{
		{".", "./examples/analytics"}, {".", "./examples/bank"}, {".", "./examples/settings"},
		{".", "./examples/queue"}, {".", "./examples/service"}, {".", "./examples/sweep"},
		{".", "./examples/smalldata"},
		{"benchmarks", "./roundtrips"},
	} {
		_, theirs := deps(t, program[0], program[1])
		for _, path := range theirs {
			assert.NotRegexp(t, clouds, path, program[1])
		}
	}
}

// TestTelemetry: who has metrics or traces made compiles the API of OpenTelemetry, and no SDK.
func TestTelemetry(t *testing.T) {
	nested(t)
	_, theirs := deps(t, "layers/otelkv", ".")
	assert.NotEmpty(t, theirs)
	for _, path := range theirs {
		assert.NotRegexp(t, "/otel/(sdk|exporters)", path)
	}
}

// TestRequirements: what a user's module inherits holds no library for charts, and the five
// that the project is to be built on are among what is required directly.
func TestRequirements(t *testing.T) {
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	require.NoError(t, json.Unmarshal([]byte(run(t, ".", "mod", "edit", "-json")), &mod))
	direct := map[string]bool{}
	for _, m := range mod.Require {
		assert.NotRegexp(t, "gonum|hdrhistogram|/go-(fonts|latex|pdf)/|progress", m.Path,
			"it belongs to the module of the benchmarks")
		direct[m.Path] = !m.Indirect
	}
	for _, path := range []string{
		"cloud.google.com/go/storage", "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob",
		"golang.org/x/sync", "github.com/stretchr/testify", "github.com/fsouza/fake-gcs-server",
	} {
		assert.True(t, direct[path], path)
	}
}

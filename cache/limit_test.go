package cache

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGroupLimit(t *testing.T) {
	mount := t.TempDir()
	for name, text := range map[string]string{
		"memory.max":                            "max\n",
		"pod/memory.max":                        "1000\n",
		"pod/box/memory.max":                    "2000\n",
		"small/memory.max":                      "300\n",
		"memory/memory.limit_in_bytes":          "9223372036854771712\n",
		"memory/docker/x/memory.limit_in_bytes": "500\n",
		"odd/memory.max":                        "-1\n",
	} {
		file := filepath.Join(mount, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	for groups, want := range map[string]int64{
		"":                        math.MaxInt64,
		"0::/\n":                  math.MaxInt64,
		"0::/pod/box\n":           1000,
		"0::/small/unseen/part\n": 300,
		"0::/unseen\n":            math.MaxInt64,
		"0::/odd\n":               math.MaxInt64,
		"0::/../above\n":          math.MaxInt64,
		"12:cpu,cpuacct:/small\n4:memory:/docker/x\n0::/\n": 500,
		"4:memory:/docker/x\n0::/small\n":                   300,
		"rubbish":                                           math.MaxInt64,
	} {
		assert.Equal(t, want, groupLimit(mount, groups), "%q", groups)
	}
}

func TestDefaultSize(t *testing.T) {
	before := debug.SetMemoryLimit(100 << 20)
	defer debug.SetMemoryLimit(before)
	assert.LessOrEqual(t, DefaultSize(), int64(25<<20))
	assert.Positive(t, DefaultSize())
	debug.SetMemoryLimit(math.MaxInt64)
	assert.Equal(t, min(int64(DefaultSizeMax), containerLimit()/limitPart), DefaultSize())
}

func TestNew(t *testing.T) {
	assert.Zero(t, New(1000).Size())
	assert.Zero(t, New(-1).Size())
}

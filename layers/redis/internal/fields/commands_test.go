package fields_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/redis/internal/hashcmd"
	"github.com/strictkv/strictkv/layers/redis/internal/setcmd"
)

// TestCommands compares arities, flags and places of keys with what Redis 7.0.15 tells of them.
func TestCommands(t *testing.T) {
	want, err := os.ReadFile("testdata/commands.txt")
	require.NoError(t, err)
	var rows []string
	for _, c := range slices.Concat(hashcmd.Commands(), setcmd.Commands()) {
		flags := strings.Join(slices.Sorted(slices.Values(c.Flags.Names())), ",")
		rows = append(rows, fmt.Sprintln(c.Name, c.Arity, flags, c.First, c.Last, c.Step))
	}
	slices.Sort(rows)
	assert.Equal(t, string(want), strings.Join(rows, ""))
}

package plain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv/internal/plain"
)

func TestCheck(t *testing.T) {
	full := strings.Repeat("ü", 80)
	for _, good := range []string{"", "a\n\nb\n", full + "\n" + full, "ab\t" + full[:72*2]} {
		assert.NoError(t, plain.Check(good))
	}
	for bad, want := range map[string]string{
		"a\n" + full + "x":      "line 2 has 81 columns",
		"ab\t" + full[:73*2]:    "line 1 has 81 columns",
		"10 of 20\r11 of 20\n":  "line 1 has a control character",
		"a\n\x1b[31mred\x1b[0m": "line 2 has a control character",
	} {
		assert.ErrorContains(t, plain.Check(bad), want)
	}
}

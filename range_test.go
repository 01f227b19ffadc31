package strictkv_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/strictkv/strictkv"
)

func TestRangeAfter(t *testing.T) {
	key := func(s string) []byte { return []byte(s) }
	for name, x := range map[string]struct {
		r    strictkv.Range
		key  string
		want strictkv.Range
	}{
		"all": {strictkv.Range{}, "k", strictkv.Range{From: key("k\x00")}},
		"within": {strictkv.Prefix(key("k")), "k",
			strictkv.Range{From: key("k\x00"), To: key("l")}},
		"before": {strictkv.Prefix(key("k")), "a", strictkv.Prefix(key("k"))},
		"limit stays": {strictkv.Range{Limit: 3}, "k",
			strictkv.Range{From: key("k\x00"), Limit: 3}},
		"reverse": {strictkv.Range{Reverse: true}, "k",
			strictkv.Range{To: key("k"), Reverse: true}},
		"reverse, beyond": {strictkv.Range{To: key("k"), Reverse: true}, "z",
			strictkv.Range{To: key("k"), Reverse: true}},
		"reverse, within": {strictkv.Range{From: key("a"), To: key("k"), Reverse: true}, "c",
			strictkv.Range{From: key("a"), To: key("c"), Reverse: true}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, x.want, x.r.After([]byte(x.key)))
		})
	}
	given := key("key")
	r := strictkv.Range{Reverse: true}.After(given)
	given[0] = 'x'
	assert.Equal(t, "key", string(r.To), "it keeps nothing of the caller's")
}

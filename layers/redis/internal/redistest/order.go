package redistest

import (
	"regexp"
	"slices"
	"strings"
)

// unordered are the commands whose replies have no order, and how many words belong together.
var unordered = map[string]int{
	"smembers": 1, "sinter": 1, "sunion": 1, "sdiff": 1, "spop": 1, "srandmember": 1,
	"hkeys": 1, "hvals": 1, "hgetall": 2, "hrandfield": 1, "sscan": 1, "hscan": 2,
}

// innermost are lists without lists in them.
var innermost = regexp.MustCompile(`[\[<{][^\[\]<>{}]*[\]>}]`)

// ordered is a reply as text, sorted if it has no order, so that those of two servers can be
// compared. Words in it must have neither spaces nor brackets.
func ordered(line, reply string) string {
	words := strings.Fields(strings.ToLower(line))
	if len(words) == 0 {
		return reply
	}
	group := unordered[words[0]]
	if group == 0 {
		return reply
	}
	if words[0] == "hrandfield" && len(words) == 4 {
		group = 2
	}
	if strings.Contains(reply, "[[") { // pairs of version 3
		reply = strings.NewReplacer("[[", "[(", "]]", ")]", "] [", ") (").Replace(reply)
		group = 2
	}
	return innermost.ReplaceAllStringFunc(reply, func(list string) string {
		return list[:1] + sorted(list[1:len(list)-1], group) + list[len(list)-1:]
	})
}

// sorted sorts groups of words.
func sorted(text string, group int) string {
	words := strings.Fields(text)
	if len(words)%group != 0 || strings.Contains(text, "':'") {
		group = 1
	}
	groups := make([]string, 0, len(words)/group)
	for g := range slices.Chunk(words, group) {
		groups = append(groups, strings.Join(g, " "))
	}
	slices.Sort(groups)
	return strings.Join(groups, " ")
}

package fields_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

// list takes a reply apart: quoted words without spaces.
func list(reply string) []string {
	var words []string
	for _, word := range strings.Fields(strings.Trim(reply, "[]<>{}")) {
		words = append(words, strings.Trim(word, "'[]"))
	}
	return words
}

// model is a set, and a hash that has its members for fields and for values.
type model struct {
	t       *testing.T
	r       *rand.Rand
	c       *redistest.Client
	members map[string]bool
	// stay are members that are never removed.
	stay []string
}

func (m *model) member() string { return fmt.Sprintf("m%d", m.r.IntN(60)) }

// step does one command of each family.
func (m *model) step() {
	switch m.r.IntN(6) {
	case 0, 1:
		name := m.member()
		added := "1"
		if m.members[name] {
			added = "0"
		}
		m.members[name] = true
		m.c.Expect("SADD s "+name, added, fmt.Sprintf("HSET h %s %[1]s", name), added)
	case 2:
		name := m.member()
		if slices.Contains(m.stay, name) {
			return
		}
		removed := "0"
		if m.members[name] {
			removed = "1"
		}
		delete(m.members, name)
		m.c.Expect("SREM s "+name, removed, "HDEL h "+name, removed)
	case 3:
		m.random()
	case 4:
		m.pop()
	case 5:
		n := strconv.Itoa(len(m.members))
		m.c.Expect("SCARD s", n, "HLEN h", n)
		all := slices.Sorted(maps.Keys(m.members))
		assert.Equal(m.t, all, list(m.c.Do("SMEMBERS s")))
		assert.Equal(m.t, all, list(m.c.Do("HKEYS h")))
	}
}

// random asks for random members.
func (m *model) random() {
	n := m.r.IntN(40)
	if m.r.IntN(2) == 0 {
		n = -n
	}
	for _, command := range []string{"SRANDMEMBER s ", "HRANDFIELD h "} {
		found := list(m.c.Do(command + strconv.Itoa(n)))
		want := min(n, len(m.members))
		if n < 0 && len(m.members) > 0 {
			want = -n
		} else if n < 0 {
			want = 0
		}
		require.Len(m.t, found, want)
		for _, name := range found {
			require.True(m.t, m.members[name], "%s: %s", command, name)
		}
		if n > 0 {
			require.Len(m.t, slices.Compact(slices.Sorted(slices.Values(found))), want)
		}
	}
	found := list(m.c.Do("HRANDFIELD h 3 withvalues"))
	for i := 0; i < len(found); i += 2 {
		require.Equal(m.t, found[i], found[i+1])
	}
}

// pop pops some members of the set, and removes them from the hash.
func (m *model) pop() {
	if len(m.stay) > 0 {
		return
	}
	n := m.r.IntN(4)
	found := list(m.c.Do("SPOP s " + strconv.Itoa(n)))
	require.Len(m.t, found, min(n, len(m.members)))
	for _, name := range found {
		require.True(m.t, m.members[name], name)
		delete(m.members, name)
		m.c.Expect("HDEL h "+name, "1")
	}
}

func TestModel(t *testing.T) {
	forms(t, func(t *testing.T, c *redistest.Client) {
		m := &model{t: t, r: rand.New(rand.NewPCG(1, 2)), c: c, members: map[string]bool{}}
		for range 400 {
			m.step()
		}
	})
}

// TestIteration: whatever comes and goes meanwhile, an iteration finds what stays, and nothing that
// never was.
func TestIteration(t *testing.T) {
	forms(t, func(t *testing.T, c *redistest.Client) {
		m := &model{t: t, r: rand.New(rand.NewPCG(3, 4)), c: c, members: map[string]bool{}}
		for i := range 20 {
			m.stay = append(m.stay, fmt.Sprintf("m%d", 3*i))
			m.members[m.stay[i]] = true
			c.Expect("SADD s "+m.stay[i], "1", fmt.Sprintf("HSET h %s %[1]s", m.stay[i]), "1")
		}
		for i, command := range []string{"SSCAN s", "HSCAN h"} {
			found, pages := map[string]bool{}, 0
			for cursor := "0"; pages == 0 || cursor != "0"; pages++ {
				require.Less(t, pages, 100)
				page := list(c.Do(command + " " + cursor + " COUNT 3"))
				cursor = page[0]
				for j := 1; j < len(page); j++ {
					found[page[j]] = true
					require.Regexp(t, `^m\d+$`, page[j])
					if j += i; i > 0 {
						require.Equal(t, page[j-1], page[j])
					}
				}
				m.step()
			}
			for _, name := range m.stay {
				assert.True(t, found[name], "%s: %s", command, name)
			}
		}
	})
}

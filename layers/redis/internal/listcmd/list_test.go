package listcmd_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/listcmd"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

// begin are commands that random ones would seldom come to.
const begin = `
SET s x
LPUSH s a
LPOP s
LPOP s -1
LPOP s x
LPOP l x
LPOP l 1 2
LRANGE s x 1
LRANGE s 0 1
LRANGE l 1 x
LINDEX s x
LINDEX l x
LLEN s
LSET l 0 a
LSET l x a
LSET s 0 a
LPUSHX l a
LINSERT l before a b
LINSERT l middle a b
LINSERT s after a b
LREM l x a
LREM s x a
LREM s 0 a
LTRIM s 0 1
LTRIM l x 1
LTRIM l 0 1
LMOVE l s left left
LMOVE s l left left
LMOVE l s left up
LMOVE l s left
RPOPLPUSH l s
RPOPLPUSH s l
LMPOP 0 l left
LMPOP x l left
LMPOP 1 l middle
LMPOP 2 l left
LMPOP 1 l left count
LMPOP 1 l left count 0
LMPOP 1 l left count x
LMPOP 1 l left count 1 2
LMPOP 1 l left
LMPOP 1 s left
LMPOP 2 l s left
LMPOP 3 l s left
LPOS l a
LPOS s a
LPOS l a rank 0
LPOS l a rank x
LPOS l a rank
LPOS l a count -1
LPOS l a count x
LPOS l a maxlen -1
LPOS l a maxlen x
LPOS l a up 1
RPUSH l a b c
LSET l 3 x
LSET l -4 x
LSET l x x
LINDEX l x
LPOP l 0
LPOP l x
LMOVE l s left left
RPOPLPUSH l s
LMPOP 2 n l right count 10
EXISTS l
RPUSH l a b c 1 2 3 a a
LPOS l a count 0
LPOS l a count 0 maxlen 2
LPOS l a rank -2
LPOS l a rank -1 count 2
LPOS l z count 0
LPOS l z
LREM l -2 a
LRANGE l 0 -1
RPUSH l "" "a b" "\x00\xff"
LRANGE l -3 -1
LREM l 0 ""
LTRIM l 5 1
EXISTS l
`

// random is a random command of lists: their lengths go to and fro.
func random(r *rand.Rand) string {
	key := func() string { return fmt.Sprintf("l%d", r.IntN(3)) }
	item := func() string { return string(rune('a' + r.IntN(6))) }
	items := func() string {
		words := make([]string, 1+r.IntN(9))
		for i := range words {
			words[i] = item()
		}
		return strings.Join(words, " ")
	}
	index := func() int { return r.IntN(30) - 15 }
	end := func() string { return []string{"left", "right"}[r.IntN(2)] }
	switch r.IntN(18) {
	case 0, 1:
		return "LPUSH " + key() + " " + items()
	case 2, 3:
		return "RPUSH " + key() + " " + items()
	case 4:
		return fmt.Sprintf("%s %s %s", []string{"LPUSHX", "RPUSHX"}[r.IntN(2)], key(), items())
	case 5:
		return fmt.Sprintf("%s %s", []string{"LPOP", "RPOP"}[r.IntN(2)], key())
	case 6:
		return fmt.Sprintf("%s %s %d", []string{"LPOP", "RPOP"}[r.IntN(2)], key(), r.IntN(6))
	case 7:
		return fmt.Sprintf("LMPOP 2 %s %s %s count %d", key(), key(), end(), 1+r.IntN(6))
	case 8:
		return fmt.Sprintf("LMOVE %s %s %s %s", key(), key(), end(), end())
	case 9:
		return fmt.Sprintf("RPOPLPUSH %s %s", key(), key())
	case 10:
		return fmt.Sprintf("LINDEX %s %d", key(), index())
	case 11:
		return fmt.Sprintf("LSET %s %d %s", key(), index(), item())
	case 12:
		where := []string{"before", "after"}[r.IntN(2)]
		return fmt.Sprintf("LINSERT %s %s %s %s", key(), where, item(), item())
	case 13:
		return fmt.Sprintf("LREM %s %d %s", key(), r.IntN(7)-3, item())
	case 14:
		if r.IntN(3) > 0 {
			return "LLEN " + key()
		}
		return fmt.Sprintf("LTRIM %s %d %d", key(), r.IntN(6), -1-r.IntN(6))
	case 15:
		return fmt.Sprintf("LPOS %s %s rank %d count %d maxlen %d",
			key(), item(), []int{-2, -1, 1, 2}[r.IntN(4)], r.IntN(4), r.IntN(20))
	case 16:
		return fmt.Sprintf("LRANGE %s %d %d", key(), index(), index())
	}
	return fmt.Sprintf("LRANGE %s 0 -1", key())
}

// forms runs f with lists that are soon large, and with lists that stay small.
func forms(t *testing.T, f func(*testing.T, *redistest.Client)) {
	for name, elements := range map[string]int{"large": 2, "mixed": 12, "small": 512} {
		t.Run(name, func(t *testing.T) {
			listcmd.Small(t, 16<<10, elements)
			f(t, redistest.Open(t, redis.Options{}).Dial(t))
		})
	}
}

func TestTranscript(t *testing.T) {
	forms(t, func(t *testing.T, c *redistest.Client) {
		c.Transcript("testdata/transcript.txt", begin, random)
	})
}

func TestCompare(t *testing.T) {
	forms(t, func(t *testing.T, c *redistest.Client) {
		c.Compare("DEL l0 l1 l2", random)
	})
}

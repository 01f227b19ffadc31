package fields_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

// setBegin are commands that random ones would seldom come to.
const setBegin = `
SET w x
SADD w a
SREM w a
SMEMBERS w
SISMEMBER w a
SMISMEMBER w a
SCARD w
SPOP w
SPOP w 1
SPOP w -1
SPOP w x
SRANDMEMBER w
SRANDMEMBER w 1
SRANDMEMBER w x
SMOVE w s a
SMOVE s w a
SINTER w
SINTER s w
SUNION w s
SDIFF s w
SINTERSTORE d w
SINTERSTORE d s w
SSCAN w 0
SSCAN w x
SINTERCARD 1 w
SADD s
SADD s a b a c
SADD s a b d
SCARD s
SMEMBERS s
SISMEMBER s a
SISMEMBER s x
SISMEMBER n x
SMISMEMBER s a x b
SMISMEMBER n a
SMEMBERS n
SCARD n
SREM n a
SREM s a a x
SPOP n
SPOP n 1
SPOP n 0
SPOP n -1
SPOP s 0
SPOP s 1 2
SRANDMEMBER n
SRANDMEMBER n 1
SRANDMEMBER s 0
SRANDMEMBER s 10
SRANDMEMBER s 1 2
SRANDMEMBER s 9223372036854775807
SMOVE s w b
SMOVE w s b
SMOVE s t x
EXISTS t
SMOVE s t b
SMEMBERS t
SMOVE s s c
SMOVE s s x
SMOVE n w x
SMOVE s t c
SMOVE s t d
EXISTS s
SSCAN n 0
SSCAN n 0 count
SSCAN t 0
SSCAN t 0 match [bc]
SSCAN t 0 count 0
SSCAN t 0 count x
SSCAN t 0 match
SSCAN t 0 type set
SSCAN t 0 nonsense
SADD u b c x y
SINTER t u
SINTER t n
SINTER t n w
SUNION t u n
SDIFF t u
SDIFF t n
SDIFF n t
SDIFF t t
SINTERCARD 0 t
SINTERCARD x t
SINTERCARD -1 t
SINTERCARD 3 t u
SINTERCARD 2 t u
SINTERCARD 2 t u LIMIT 1
SINTERCARD 2 t u LIMIT 0
SINTERCARD 2 t u LIMIT 10
SINTERCARD 2 t u LIMIT -1
SINTERCARD 2 t u LIMIT x
SINTERCARD 2 t u LIMIT
SINTERCARD 2 t u nonsense 1
SINTERCARD 1 t u
SINTERCARD 2 t n
SINTERCARD 2 t w
SINTERSTORE d t u
SMEMBERS d
SUNIONSTORE d t u
SMEMBERS d
SDIFFSTORE d t u
SMEMBERS d
EXPIRE d 1000
SUNIONSTORE d t
TTL d
EXPIRE d 1000
SADD d more
TTL d
SREM d more
TTL d
SDIFFSTORE d t t
EXISTS d
SUNIONSTORE w t
TYPE w
SUNIONSTORE t t u
SMEMBERS t
SINTERSTORE d n n
SADD s "" 1 01
SISMEMBER s ""
SREM s ""
SCARD s
SPOP s 10
EXISTS s
RESET
SMEMBERS t
SINTER t u
SPOP n
SRANDMEMBER n
SPOP t 100
SMEMBERS n
SSCAN u 0
SADD
DEL u w
`

// randomSet is a random command of sets.
func randomSet(r *rand.Rand) string {
	key := func() string { return fmt.Sprintf("s%d", r.IntN(4)) }
	combine := []string{"INTER", "UNION", "DIFF"}[r.IntN(3)]
	switch r.IntN(16) {
	case 0, 1, 2, 3:
		return fmt.Sprintf("SADD %s %s", key(), words(r, 9))
	case 4, 5:
		return fmt.Sprintf("SREM %s %s", key(), words(r, 6))
	case 6:
		return fmt.Sprintf("SMOVE %s %s %s", key(), key(), word(r))
	case 7:
		return "SCARD " + key()
	case 8:
		return fmt.Sprintf("SISMEMBER %s %s", key(), word(r))
	case 9:
		return fmt.Sprintf("SMISMEMBER %s %s", key(), words(r, 6))
	case 10:
		return fmt.Sprintf("S%s %s %s %s", combine, key(), key(), key())
	case 11:
		return fmt.Sprintf("S%sSTORE %s %s %s", combine, key(), key(), key())
	case 12:
		return fmt.Sprintf("SINTERCARD 2 %s %s LIMIT %d", key(), key(), r.IntN(5))
	case 13:
		if r.IntN(10) == 0 {
			return fmt.Sprintf("SPOP %s 100", key())
		}
		return fmt.Sprintf("SRANDMEMBER %s 100", key())
	case 14:
		return fmt.Sprintf("SSCAN %s 0 COUNT 1000 MATCH [%s-z]", key(), word(r))
	}
	return "SMEMBERS " + key()
}

func TestSetTranscript(t *testing.T) {
	forms(t, func(t *testing.T, c *redistest.Client) {
		c.Hello(3)
		c.Transcript("testdata/sets.txt", setBegin, randomSet)
	})
}

func TestCompareSets(t *testing.T) {
	forms(t, func(t *testing.T, c *redistest.Client) {
		c.Hello(3)
		c.Compare("DEL s0 s1 s2 s3", randomSet)
	})
}

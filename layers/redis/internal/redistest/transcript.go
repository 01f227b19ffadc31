package redistest

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the tests do that compare with Redis itself, which is run by hand: redis-server --port 6399.
var (
	realAddr = flag.String("compare.addr", "", "address of a server of Redis 7 to compare with")
	record   = flag.Bool("compare.record", false, "write transcripts anew, of the server of Redis")
	seeds    = flag.Uint64("compare.seeds", 20, "how many seeds to compare Redis with")
)

// Next makes a random command, as a line of words.
type Next func(*rand.Rand) string

// random makes n commands.
func random(seed uint64, n int, next Next) []string {
	r := rand.New(rand.NewPCG(seed, 0))
	lines := make([]string, n)
	for i := range lines {
		lines[i] = next(r)
	}
	return lines
}

// transcriptCommands is how many commands a transcript has, and a seed that is compared.
const transcriptCommands = 1500

// Transcript runs the commands of a file that Redis has been asked, and expects its replies. In the
// file each command has a line, and its reply one that begins with a tab. The database is to be
// empty.
//
// With -compare.addr and -compare.record it writes the file before: of the given commands, and
// random ones. Redis' databases are flushed.
func (c *Client) Transcript(file, begin string, next Next) {
	c.t.Helper()
	if *record {
		real := redisItself(c)
		lines := append(strings.Split(strings.TrimSpace(begin), "\n"),
			random(1, transcriptCommands, next)...)
		var b bytes.Buffer
		for _, line := range lines {
			fmt.Fprintf(&b, "%s\n\t%s\n", line, real.Do(line))
		}
		require.NoError(c.t, os.WriteFile(file, b.Bytes(), 0o644))
	}
	data, err := os.ReadFile(file)
	require.NoError(c.t, err)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		want := strings.TrimPrefix(lines[i+1], "\t")
		require.Equal(c.t, want, c.Do(lines[i]), "%s:%d: %s", file, i+1, lines[i])
	}
}

// Hello chooses the version of the protocol, for the Redis that is compared with, too.
func (c *Client) Hello(version int) {
	c.t.Helper()
	c.version = version
	c.Do(fmt.Sprintf("HELLO %d", version))
}

// redisItself is a client of the server of Redis like another client, with its databases flushed.
func redisItself(like *Client) *Client {
	like.t.Helper()
	if *realAddr == "" {
		like.t.Skip("no Redis to compare with: set -compare.addr to the address of one")
	}
	c := (&Server{Addr: *realAddr}).Dial(like.t)
	c.Expect("FLUSHALL", "OK")
	c.Hello(max(like.version, 2))
	return c
}

// Compare runs random commands on both the server, whose keys it flushes with the command given,
// and Redis itself: as many seeds as -compare.seeds says. It is skipped without -compare.addr.
func (c *Client) Compare(flush string, next Next) {
	c.t.Helper()
	real := redisItself(c)
	for seed := range *seeds {
		real.Expect("FLUSHALL", "OK")
		c.Do(flush)
		var done []string
		for _, line := range random(seed+2, transcriptCommands, next) {
			done = append(done, line)
			got, want := c.Do(line), real.Do(line)
			if !assert.Equal(c.t, want, got, "seed %d: %s", seed, line) {
				c.t.Fatalf("after:\n%s", strings.Join(done[max(0, len(done)-20):], "\n"))
			}
		}
	}
}

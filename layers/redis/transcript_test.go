package redis_test

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

var realRedis = flag.String("redis.addr", "", "write the transcripts anew, as the Redis at this "+
	"address replies; its databases 0 and 1 are flushed")

// TestTranscripts compares replies with those of Redis 7.0.15, which testdata has: a line with a
// command, and a line with its reply. A line that begins with a # begins with a database that is
// empty; one that begins with "= " has a reply that is ours, and why.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.transcript")
	require.NoError(t, err)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			if *realRedis != "" {
				s := &redistest.Server{Addr: *realRedis}
				require.NoError(t, os.WriteFile(name, []byte(record(t, s, string(text))), 0o666))
				return
			}
			replay(t, redistest.Open(t, redis.Options{}), string(text))
		})
	}
}

// replay runs the commands of a transcript, and compares the replies.
func replay(t *testing.T, s *redistest.Server, text string) {
	c := s.Dial(t)
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch {
		case line == "":
		case line[0] == '#':
			c = s.Dial(t)
			c.Expect("FLUSHALL", "OK")
		default:
			require.True(t, lines.Scan(), "line %d: no reply", n)
			n++
			want := strings.TrimPrefix(lines.Text(), "  ")
			if ours, ok := strings.CutPrefix(want, "= "); ok {
				want, _, _ = strings.Cut(ours, "  because ")
			}
			assert.Equal(t, want, c.Do(line), "line %d: %s", n, line)
		}
	}
}

// record makes a transcript of the commands of another.
func record(t *testing.T, s *redistest.Server, text string) string {
	_, err := net.Dial("tcp", s.Addr)
	require.NoError(t, err)
	c := s.Dial(t)
	var b strings.Builder
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "  "):
		case line == "":
			if i < len(lines)-1 {
				b.WriteString("\n")
			}
		case line[0] == '#':
			b.WriteString(line + "\n")
			c = s.Dial(t)
			c.Expect("FLUSHALL", "OK")
		default:
			reply := c.Do(line)
			if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  = ") {
				reply = strings.TrimPrefix(lines[i+1], "  ")
			}
			fmt.Fprintf(&b, "%s\n  %s\n", line, reply)
		}
	}
	return b.String()
}

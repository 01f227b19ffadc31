package redis_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

// panics fails a test when the server has to say that a command has panicked.
type panics struct {
	slog.Handler
	t testing.TB
}

func (p panics) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		assert.Fail(p.t, r.Message, "%s", text(r))
	}
	return p.Handler.Handle(ctx, r)
}

func (p panics) Enabled(context.Context, slog.Level) bool { return true }

func text(r slog.Record) string {
	var b strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(a.String() + "\n")
		return true
	})
	return b.String()
}

// FuzzServer sends whatever to a server, which has to reply, or to close the connection.
func FuzzServer(f *testing.F) {
	for _, name := range []string{"testdata/strings.transcript", "testdata/keys.transcript"} {
		transcript, err := os.ReadFile(name)
		require.NoError(f, err)
		var commands []string
		for line := range strings.Lines(string(transcript)) {
			if !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "#") {
				commands = append(commands, strings.TrimSpace(line))
			}
			if len(commands) == 20 {
				f.Add(strings.Join(commands, "\r\n") + "\r\n")
				commands = nil
			}
		}
	}
	s := redistest.Open(f, redis.Options{
		Logger: slog.New(panics{slog.DiscardHandler, f}), MemoryMax: 64 << 20,
	})
	f.Fuzz(func(t *testing.T, text string) {
		c, err := net.Dial("tcp", s.Addr)
		require.NoError(t, err)
		defer c.Close()
		go func() {
			_, _ = io.WriteString(c, text+"\r\n")
			_ = c.(*net.TCPConn).CloseWrite()
		}()
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
		if _, err := io.Copy(io.Discard, c); err != nil {
			assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it hangs")
		}
	})
}

package redis_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/layers/redis"
	"github.com/strictkv/strictkv/layers/redis/internal/redistest"
)

// pipes is a listener within a process, as virtual time needs it.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

func (p *pipes) Addr() net.Addr {
	a, _ := net.Pipe()
	defer a.Close()
	return a.LocalAddr()
}

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

// slow runs f with a client of a server whose store takes a second for each request.
func slow(t *testing.T, o redis.Options, f func(t *testing.T, dial func() net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		rt := seam.FromContext(t.Context())
		store := simulated.New(memory.New(), rt, simulated.Constant(time.Second))
		db, err := strictkv.Open(t.Context(), "test", store,
			strictkv.WithProbe(strictkv.ProbeNever))
		require.NoError(t, err)
		s, err := redis.NewServer(db, o)
		require.NoError(t, err)
		ln := newPipes()
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		f(t, ln.dial)
		require.NoError(t, s.Shutdown(t.Context()))
		assert.ErrorIs(t, <-served, redis.ErrServerClosed)
		require.NoError(t, db.Close(t.Context()))
	})
}

// rounds is how many requests to the store, one after another, commands take that are sent at once.
func rounds(t *testing.T, c net.Conn, commands []string) int {
	r := bufio.NewReader(c)
	began := time.Now()
	_, err := c.Write([]byte(strings.Join(commands, "\r\n") + "\r\n"))
	require.NoError(t, err)
	for range commands {
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		require.NotEqual(t, byte('-'), line[0], line)
		if strings.HasPrefix(line, "$") && line != "$-1\r\n" {
			_, err := r.ReadString('\n')
			require.NoError(t, err)
		}
	}
	return int(time.Since(began) / time.Second)
}

// TestRounds pins how many rounds commands take that come together. The table of docs/redis.md has
// the same.
func TestRounds(t *testing.T) {
	many := func(format string) (commands []string) {
		for i := range 100 {
			commands = append(commands, fmt.Sprintf(format, i))
		}
		return commands
	}
	for _, x := range []struct {
		name       string
		commands   []string
		cold, warm int
	}{
		{"SET", []string{"SET a 1"}, 2, 1},
		{"GET", []string{"GET a"}, 1, 1},
		{"INCR", []string{"INCR a"}, 2, 1},
		{"100 SETs", many("SET key:%d " + strings.Repeat("v", 50)), 2, 1},
		{"100 GETs", many("GET key:%d"), 2, 1},
		{"100 INCRs", many("INCR key:%d"), 2, 1},
		{"100 INCRs of one key", many("INCR key%.0d"), 2, 1},
		{"50 SETs and GETs", append(many("SET a:%d 1")[:50], many("GET a:%d")[:50]...), 2, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			slow(t, redis.Options{}, func(t *testing.T, dial func() net.Conn) {
				c := dial()
				defer c.Close()
				assert.Equal(t, x.cold, rounds(t, c, x.commands), "cold")
				time.Sleep(time.Minute)
				assert.Equal(t, x.warm, rounds(t, c, x.commands), "warm")
			})
		})
	}
}

// TestStale serves reads within the bound without a request, and sees what the server has written.
func TestStale(t *testing.T) {
	o := redis.Options{MaxStaleness: time.Hour}
	slow(t, o, func(t *testing.T, dial func() net.Conn) {
		c := dial()
		defer c.Close()
		assert.Equal(t, 2, rounds(t, c, []string{"SET a 1"}))
		assert.Equal(t, 0, rounds(t, c, []string{"GET a", "GET a"}))
		time.Sleep(2 * time.Hour)
		assert.Equal(t, 1, rounds(t, c, []string{"GET a"}), "too old")
	})
}

// TestTimes ends clients that send nothing, and those that read nothing, in virtual time.
func TestTimes(t *testing.T) {
	o := redis.Options{IdleTimeout: time.Minute, WriteTimeout: time.Minute}
	slow(t, o, func(t *testing.T, dial func() net.Conn) {
		for _, text := range []string{"", "*2\r\n$3\r\nGET", "PING\r\nPING\r\n"} {
			c := dial()
			began := time.Now()
			if text != "" {
				_, err := io.WriteString(c, text)
				require.NoError(t, err)
			}
			if strings.HasPrefix(text, "PING") {
				time.Sleep(2 * time.Minute) // without reading
			}
			n, err := io.Copy(io.Discard, c)
			assert.NoError(t, err)
			assert.Zero(t, n)
			assert.Less(t, time.Since(began), 5*time.Minute)
			require.NoError(t, c.Close())
		}
	})
}

// TestInfo: INFO looks at the databases that are there, not at 16, and ends in time.
func TestInfo(t *testing.T) {
	info := func(t *testing.T, o redis.Options, before string) (reply string, took time.Duration) {
		slow(t, o, func(t *testing.T, dial func() net.Conn) {
			c := dial()
			r := redistest.NewReplies(c)
			send := func(command string) (reply string) {
				_, err := io.WriteString(c, command+"\r\n")
				require.NoError(t, err)
				reply, err = r.Next()
				require.NoError(t, err)
				return reply
			}
			if before != "" {
				assert.Equal(t, "OK", send(before))
			}
			began := time.Now()
			reply = send("INFO keyspace")
			took = time.Since(began)
			require.NoError(t, c.Close())
		})
		return reply, took
	}
	reply, took := info(t, redis.Options{}, "SET a 1")
	assert.Contains(t, reply, "db0:keys=1,")
	assert.LessOrEqual(t, took, 4*time.Second)
	reply, took = info(t, redis.Options{CommandTimeout: 500 * time.Millisecond}, "")
	assert.Contains(t, reply, "-TIMEOUT")
	assert.Less(t, took, 2*time.Second)
}

// TestResetLate gives a client that RESET has put out as long to be let in as one that comes.
func TestResetLate(t *testing.T) {
	o := redis.Options{Users: map[string]string{"default": "secret"}}
	slow(t, o, func(t *testing.T, dial func() net.Conn) {
		c := dial()
		for _, x := range [][2]string{
			{"AUTH secret\r\n", "+OK\r\n"}, {"RESET\r\n", "+RESET\r\n"},
			{"AUTH secret\r\n", "+OK\r\n"},
		} {
			_, err := io.WriteString(c, x[0])
			require.NoError(t, err)
			got := make([]byte, len(x[1]))
			_, err = io.ReadFull(c, got)
			require.NoError(t, err)
			assert.Equal(t, x[1], string(got))
			if x[0][0] == 'A' {
				time.Sleep(time.Minute)
			}
		}
		require.NoError(t, c.Close())
	})
}

// TestShutdown lets a command come to its end that was begun, and tells its client.
func TestShutdown(t *testing.T) {
	slow(t, redis.Options{}, func(t *testing.T, dial func() net.Conn) {
		c := dial()
		_, err := io.WriteString(c, "SET a 1\r\n")
		require.NoError(t, err)
		go func() {
			b, err := io.ReadAll(c)
			assert.NoError(t, err)
			assert.Equal(t, "+OK\r\n", string(b))
			_ = c.Close()
		}()
		time.Sleep(time.Second / 2) // it takes two seconds
	})
}

// TestHot has many connections change one key at once: they commit together.
func TestHot(t *testing.T) {
	slow(t, redis.Options{}, func(t *testing.T, dial func() net.Conn) {
		const clients = 50
		conns := make([]net.Conn, clients)
		for i := range conns {
			conns[i] = dial()
			defer conns[i].Close()
		}
		assert.Equal(t, 2, rounds(t, conns[0], []string{"INCR hot"}))
		began := time.Now()
		var all sync.WaitGroup
		for _, c := range conns {
			all.Go(func() {
				_, err := io.WriteString(c, "INCR hot\r\nAPPEND log x\r\n")
				assert.NoError(t, err)
				r := bufio.NewReader(c)
				for range 2 {
					_, err = r.ReadString('\n')
					assert.NoError(t, err)
				}
			})
		}
		all.Wait()
		took := int(time.Since(began) / time.Second)
		assert.LessOrEqual(t, took, 6, "two of %d would take as many rounds", clients)
		assert.Equal(t, 1, rounds(t, conns[0], []string{"GET hot"}))
		t.Logf("%d rounds", took)
	})
}

// TestHotChains has many connections change the same keys by chains at once.
func TestHotChains(t *testing.T) {
	for _, x := range []struct {
		name    string
		combine bool
	}{{"together", false}, {"combined", true}} {
		t.Run(x.name, func(t *testing.T) {
			slow(t, redis.Options{Combine: x.combine}, func(t *testing.T, dial func() net.Conn) {
				const clients, chain = 30, 16
				first := dial()
				defer first.Close()
				assert.Equal(t, 2, rounds(t, first, []string{"INCR hot"}))
				began := time.Now()
				var all sync.WaitGroup
				for range clients {
					c := dial()
					defer c.Close()
					all.Go(func() {
						rounds(t, c, slices.Repeat([]string{"INCR hot", "APPEND log x"}, chain/2))
					})
				}
				all.Wait()
				took := int(time.Since(began) / time.Second)
				assert.LessOrEqual(t, took, 8, "two of %d would take as many rounds", clients)
				rounds(t, first, []string{"GET hot"})
				_, err := io.WriteString(first, "GET hot\r\n")
				require.NoError(t, err)
				line := make([]byte, len("$3\r\n241\r\n"))
				_, err = io.ReadFull(first, line)
				require.NoError(t, err)
				assert.Equal(t, fmt.Sprintf("$3\r\n%d\r\n", 1+clients*chain/2), string(line))
				t.Logf("%d rounds", took)
			})
		})
	}
}

// TestCommandTimeout: a command ends when it has taken as long as it may, and those after it have
// as long again, though they share what counts the time.
func TestCommandTimeout(t *testing.T) {
	for _, command := range []string{"GET a", "SET a 1", "MGET a b", "DBSIZE"} {
		slow(t, redis.Options{CommandTimeout: 500 * time.Millisecond},
			func(t *testing.T, dial func() net.Conn) {
				c := dial()
				defer c.Close()
				r := bufio.NewReader(c)
				began := time.Now()
				_, err := io.WriteString(c, command+"\r\n")
				require.NoError(t, err)
				line, err := r.ReadString('\n')
				require.NoError(t, err)
				assert.Contains(t, line, "-TIMEOUT", command)
				assert.Equal(t, 500*time.Millisecond, time.Since(began))
			})
		slow(t, redis.Options{CommandTimeout: 5 * time.Second},
			func(t *testing.T, dial func() net.Conn) {
				c := dial()
				defer c.Close()
				for range 20 {
					rounds(t, c, []string{command})
				}
			})
	}
}

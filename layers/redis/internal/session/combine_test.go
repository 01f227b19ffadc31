package session

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/redis/internal/command"
	"github.com/strictkv/strictkv/layers/redis/internal/keys"
	"github.com/strictkv/strictkv/layers/redis/internal/resp"
)

// combined is a server's part of sessions that share transactions, one at a time.
type combined struct {
	*Shared
	t    *testing.T
	free chan struct{} // closed to let go what holds up a transaction

	reserved, peak atomic.Int64 // bytes
	clashed        atomic.Bool
}

// combine runs f with sessions whose time is virtual.
func combine(t *testing.T, f func(c *combined)) {
	synctest.Test(t, func(t *testing.T) {
		db, err := strictkv.Open(t.Context(), "test", memory.New())
		require.NoError(t, err)
		c := &combined{t: t, free: make(chan struct{})}
		row := func(name string, run func(*command.Call) error) command.Command {
			return command.Command{
				Name: name, Arity: -2, First: 1, Last: 1, Step: 1,
				Flags: command.Write | command.Plain, Run: run,
			}
		}
		put := func(c *command.Call) error {
			c.Out.Status("OK")
			return c.Set(c.Args[1], keys.Entry{Kind: keys.String, Body: c.Args[1]})
		}
		c.Shared = &Shared{
			Space: keys.NewSpace(db.Collection([]byte("root"))), Log: slog.New(slog.DiscardHandler),
			Table: command.NewTable([]command.Command{
				row("put", put),
				row("hold", func(x *command.Call) error { <-c.free; return put(x) }),
				row("large", func(*command.Call) error { return strictkv.ErrTooLarge }),
				row("down", func(*command.Call) error { return strictkv.ErrUnavailable }),
				row("long", func(x *command.Call) error {
					x.Out.Bulk(make([]byte, repliesMax/2))
					return nil
				}),
				row("big", func(x *command.Call) error {
					x.Out.Status("OK")
					body := make([]byte, copiedMax/2)
					return x.Set(x.Args[1], keys.Entry{Kind: keys.String, Body: body})
				}),
				row("clash", func(x *command.Call) error { // runs twice
					if _, err := x.Get(x.Args[1]); err != nil {
						return err
					}
					if c.clashed.CompareAndSwap(false, true) {
						root := c.Space.Collection(0)
						other, err := root.Read(t.Context(), []byte("a"))
						require.NoError(t, err)
						require.NoError(t, root.Write(t.Context(), x.Args[1], other))
					}
					return put(x)
				}),
				row("both", func(x *command.Call) error { // reads two keys, and has room for them
					a, b := x.Args[1], x.Args[2]
					x.Ahead([]keys.Named{{Name: a}, {Name: b}})
					if _, err := x.Get(a); err != nil {
						return err
					}
					return put(x)
				}),
				row("panic", func(*command.Call) error { panic("a bug") }),
			}),
			Timeout: time.Minute, Stats: &Stats{}, Full: func() bool { return false },
			Reserve: func(n int) error {
				c.peak.Store(max(c.peak.Load(), c.reserved.Add(int64(n))))
				return nil
			},
			Free:     func(n int) { c.reserved.Add(-int64(n)) },
			Combiner: &Combiner{leaders: 1},
		}
		f(c)
		assert.Zero(t, c.reserved.Load())
		require.NoError(t, db.Close(t.Context()))
	})
}

// begin has a new session run commands, and waits until it has done so, or waits for others. What
// it returns waits for the replies.
func (c *combined) begin(lines ...string) (replies func() string) {
	said := make(chan string, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				said <- fmt.Sprint("panic: ", p)
			}
		}()
		var out resp.Writer
		var sent strings.Builder
		s := New(c.Shared, &out, Info{})
		defer s.Close()
		var batch [][][]byte
		for _, line := range lines {
			var args [][]byte
			for word := range strings.FieldsSeq(line) {
				args = append(args, []byte(word))
			}
			batch = append(batch, args)
		}
		for len(batch) > 0 {
			batch = batch[s.Do(c.t.Context(), batch):]
			_, _ = out.WriteTo(&sent)
		}
		said <- strings.ReplaceAll(sent.String(), "\r\n", " ")
	}()
	synctest.Wait()
	return func() string { return <-said }
}

// has reports which of some keys have values.
func (c *combined) has(names ...string) (found []string) {
	for _, name := range names {
		_, err := c.Space.Collection(0).Read(c.t.Context(), []byte(name))
		if err == nil {
			found = append(found, name)
			continue
		}
		require.ErrorIs(c.t, err, strictkv.ErrNotFound)
	}
	return found
}

func TestWaitingCommandsShareATransaction(t *testing.T) {
	combine(t, func(c *combined) {
		first := c.begin("hold 1")
		a, b, chain := c.begin("put a"), c.begin("put b"), c.begin("put c", "put d", "put a")
		close(c.free)
		assert.Equal(t, "+OK ", first())
		assert.Equal(t, "+OK ", a())
		assert.Equal(t, "+OK ", b())
		assert.Equal(t, "+OK +OK +OK ", chain())
		assert.EqualValues(t, 2, c.Stats.Transactions.Load())
		assert.EqualValues(t, 6, c.Stats.Commands.Load())
		assert.Equal(t, []string{"1", "a", "b", "c", "d"}, c.has("1", "a", "b", "c", "d", "e"))
	})
}

func TestACommandThatFailsDoesNotFailOthers(t *testing.T) {
	combine(t, func(c *combined) {
		first := c.begin("hold 1")
		a, bad, b := c.begin("put a"), c.begin("large x"), c.begin("put b")
		close(c.free)
		assert.Equal(t, "+OK ", first())
		assert.Equal(t, "+OK ", a())
		assert.Equal(t, "-ERR too large ", bad())
		assert.Equal(t, "+OK ", b())
		assert.EqualValues(t, 1+1+3, c.Stats.Transactions.Load(), "together, then each by itself")
		assert.Equal(t, []string{"a", "b"}, c.has("a", "b"))
	})
}

func TestACommandThatPanicsLeavesOthersToGoOn(t *testing.T) {
	combine(t, func(c *combined) {
		first := c.begin("hold 1")
		leader, bad, b := c.begin("put a"), c.begin("panic x"), c.begin("put b")
		close(c.free)
		assert.Equal(t, "+OK ", first())
		assert.Equal(t, "panic: a bug", leader(), "it has run the command for the other")
		assert.Equal(t, "panic: a bug", bad())
		assert.Equal(t, "+OK ", b())
		assert.Equal(t, []string{"b"}, c.has("a", "b"))
		assert.Equal(t, "+OK ", c.begin("put c")())
	})
}

func TestWhoWaitsTooLongHasDoneNothing(t *testing.T) {
	combine(t, func(c *combined) {
		first := c.begin("hold 1")
		time.Sleep(time.Second)
		a := c.begin("put a")
		time.Sleep(time.Minute - time.Second)
		b := c.begin("put b")
		time.Sleep(2 * time.Second)
		close(c.free)
		assert.Equal(t, string("-"+errTimeout+" "), a())
		assert.Equal(t, "+OK ", b())
		assert.Contains(t, first(), "-TIMEOUT")
		assert.Equal(t, []string{"b"}, c.has("1", "a", "b"))
	})
}

func TestMoreThanATransactionHasRoomFor(t *testing.T) {
	combine(t, func(c *combined) {
		var lines []string
		for i := range combinedKeysMax/2 + 1 {
			lines = append(lines, fmt.Sprintf("put %d", i))
		}
		first := c.begin("hold 1")
		all := []func() string{c.begin(lines...), c.begin(lines...), c.begin("put z")}
		long := c.begin("put l " + strings.Repeat("x", combinedArgMax+1))
		assert.Equal(t, "+OK ", long(), "it does not wait")
		close(c.free)
		assert.Equal(t, "+OK ", first())
		for i, n := range []int{len(lines), len(lines), 1} {
			assert.Equal(t, strings.Repeat("+OK ", n), all[i]())
		}
		assert.EqualValues(t, 4, c.Stats.Transactions.Load())
	})
}

func TestMoreBytesThanATransactionHasRoomFor(t *testing.T) {
	combine(t, func(c *combined) {
		first := c.begin("hold 1")
		var all []func() string
		for i := range combinedMax/combinedArgMax + 1 {
			arg := strings.Repeat("x", combinedArgMax-16)
			all = append(all, c.begin(fmt.Sprintf("put %d %s", i, arg), "put z"+arg[:64]))
		}
		close(c.free)
		assert.Equal(t, "+OK ", first())
		for _, replies := range all {
			assert.Equal(t, "+OK +OK ", replies())
		}
		assert.EqualValues(t, 3, c.Stats.Transactions.Load())
	})
}

func TestWhatFailsForAllIsToldToAll(t *testing.T) {
	combine(t, func(c *combined) {
		first := c.begin("hold 1")
		a, bad, b := c.begin("put a"), c.begin("down x"), c.begin("put b", "put c")
		close(c.free)
		assert.Equal(t, "+OK ", first())
		told := c.reply(strictkv.ErrUnavailable).Error()
		assert.Equal(t, "-"+told+" ", a())
		assert.Equal(t, "-"+told+" ", bad())
		assert.Equal(t, "-"+told+" -"+told+" ", b())
		assert.Empty(t, c.has("a", "b", "c"))
	})
}

func TestWhatFailsByItselfIsRunOnce(t *testing.T) {
	combine(t, func(c *combined) {
		assert.Equal(t, "-ERR too large ", c.begin("large x")())
		assert.EqualValues(t, 1, c.Stats.Transactions.Load())
	})
}

func TestLongRepliesOfACombinedTransaction(t *testing.T) {
	combine(t, func(c *combined) {
		first := c.begin("hold 1")
		long, b := c.begin("long x", "long y", "put a"), c.begin("put b")
		close(c.free)
		assert.Equal(t, "+OK ", first())
		assert.True(t, strings.HasSuffix(long(), "+OK "))
		assert.Equal(t, "+OK ", b())
		assert.EqualValues(t, 1+1+1, c.Stats.Transactions.Load(), "what came after the replies")
		assert.Equal(t, []string{"a", "b"}, c.has("a", "b"))
	})
}

// TestRoomOfACombinedTransaction is about what is reserved for reads: until the transaction is
// over, and anew by each of its runs.
func TestRoomOfACombinedTransaction(t *testing.T) {
	combine(t, func(c *combined) {
		for _, key := range []string{"a", "b"} {
			require.Equal(t, "+OK ", c.begin("put "+key)())
		}
		assert.Equal(t, "+OK ", c.begin("both a b")())
		one := c.peak.Load()
		require.Positive(t, one)
		assert.Zero(t, c.reserved.Load())

		first := c.begin("hold 1")
		leader, other := c.begin("both a b"), c.begin("both a b")
		clash := c.begin("clash c")
		close(c.free)
		assert.Equal(t, "+OK ", first())
		assert.Equal(t, "+OK ", leader())
		assert.Equal(t, "+OK ", other())
		assert.Equal(t, "+OK ", clash())
		assert.True(t, c.clashed.Load())
		assert.Equal(t, 2*one, c.peak.Load(), "two of them in one transaction, run twice")
	})
}

func TestManyCopiesOfACombinedTransaction(t *testing.T) {
	combine(t, func(c *combined) {
		first := c.begin("hold 1")
		big, b := c.begin("big x", "big y", "put a"), c.begin("put b")
		close(c.free)
		assert.Equal(t, "+OK ", first())
		assert.Equal(t, "+OK +OK +OK ", big())
		assert.Equal(t, "+OK ", b())
		assert.EqualValues(t, 1+1+1, c.Stats.Transactions.Load(), "what came after the copies")
	})
}

func TestPartsThatCombine(t *testing.T) {
	of := func(flags command.Flags, args ...string) call {
		x := call{command: &command.Command{Flags: flags, First: 1, Last: -1, Step: 2}}
		for _, arg := range args {
			x.args = append(x.args, []byte(arg))
		}
		return x
	}
	write := of(command.Write|command.Plain, "mset", "a", "1", "bc", "2")
	read := of(command.Plain, "get", "a")
	for name, test := range map[string]struct {
		calls       []call
		want        bool
		keys, bytes int
	}{
		"a write":            {calls: []call{write}, want: true, keys: 2, bytes: 9},
		"a write and a read": {calls: []call{read, write}, want: true, keys: 3, bytes: 13},
		"reads alone":        {calls: []call{read, read}, keys: 2, bytes: 8},
		"not plain":          {calls: []call{write, of(command.Write, "spop", "s")}},
		"as long as may be": {
			calls: []call{of(command.Write|command.Plain, strings.Repeat("x", combinedArgMax))},
			want:  true, bytes: combinedArgMax,
		},
		"too long": {
			calls: []call{of(command.Write|command.Plain, strings.Repeat("x", combinedArgMax+1))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &part{calls: test.calls}
			assert.Equal(t, test.want, p.combines())
			if test.want {
				assert.Equal(t, test.keys, p.keys)
				assert.Equal(t, test.bytes, p.bytes)
			}
		})
	}
}

func TestByItself(t *testing.T) {
	assert.True(t, byItself(fmt.Errorf("update: %w", strictkv.ErrTooLarge)))
	assert.False(t, byItself(errors.Join(strictkv.ErrTooLarge, strictkv.ErrInDoubt)))
	assert.False(t, byItself(strictkv.ErrUnavailable))
	assert.False(t, byItself(nil))
}

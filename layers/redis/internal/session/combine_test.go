package session

import (
	"fmt"
	"log/slog"
	"strings"
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
				row("panic", func(*command.Call) error { panic("a bug") }),
			}),
			Timeout: time.Minute, Stats: &Stats{}, Full: func() bool { return false },
			Reserve: func(int) error { return nil }, Free: func(int) {},
			Combiner: newCombiner(1, true),
		}
		f(c)
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

// several begins sessions that put one key each, and returns what waits for their replies.
func (c *combined) several(from, n int) func() {
	var all []func() string
	for i := range n {
		all = append(all, c.begin(fmt.Sprint("put ", from+i)))
	}
	return func() {
		for _, replies := range all {
			assert.Equal(c.t, "+OK ", replies())
		}
	}
}

// TestOneMoreLeads: while a transaction waits, enough others are run in one more, and no more than
// that; what names a key of the first waits for it.
func TestOneMoreLeads(t *testing.T) {
	combine(t, func(c *combined) {
		first := c.begin("hold 1")
		rest := c.several(10, extraMin-1)
		assert.EqualValues(t, 1, c.Stats.Transactions.Load(), "too few wait")
		same := c.begin("put 1 again", "put 17")
		c.several(50, 1)
		rest()
		assert.EqualValues(t, 2, c.Stats.Transactions.Load())
		assert.Empty(t, c.has("1", "17"))

		close(c.free)
		assert.Equal(t, "+OK ", first())
		assert.Equal(t, "+OK +OK ", same())
		assert.EqualValues(t, 3, c.Stats.Transactions.Load())
		assert.Equal(t, []string{"1", "17"}, c.has("1", "17"))
		c.idle()
	})
}

// TestTheEldestIsNotPassed: who waits for a key is followed by all who come later, as they could
// go on taking turns with it.
func TestTheEldestIsNotPassed(t *testing.T) {
	combine(t, func(c *combined) {
		first := c.begin("hold 1")
		same := c.begin("put 1")
		rest := c.several(10, 2*extraMin)
		assert.EqualValues(t, 1, c.Stats.Transactions.Load())
		close(c.free)
		assert.Equal(t, "+OK ", first())
		assert.Equal(t, "+OK ", same())
		rest()
		assert.EqualValues(t, 2, c.Stats.Transactions.Load())
		c.idle()
	})
}

// idle checks that nothing is left of what was run.
func (c *combined) idle() {
	synctest.Wait()
	assert.Zero(c.t, c.Combiner.leading)
	assert.Zero(c.t, c.Combiner.running)
	assert.Empty(c.t, c.Combiner.busy)
	assert.Empty(c.t, c.Combiner.waiting)
}

package system_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

var errOfFunction = errors.New("the function fails")

// leaks are calls that might leave something behind. Each runs on ten keys that exist
// and are not cached, as its handle's first.
var leaks = []struct {
	name string
	call func(t *testing.T, c *client)
}{
	{"update of 1 key", succeeds(update(1))},
	{"update of 10 keys", succeeds(update(10))},
	{"two updates of 10 keys", func(t *testing.T, c *client) {
		require.NoError(t, update(10)(c))
		require.NoError(t, update(10)(c))
	}},
	{"validated commit", succeeds(writeAndRead(3, 5, false))},
	{"view", succeeds(view(10))},
	{"read", succeeds(read)},
	{"function that fails before it reads", fails(0, nil)},
	{"function that fails after reads", fails(0, view10)},
	{"function that fails after blind writes", fails(0, write10)},
	{"function that panics after reads", panics(view10)},
	{"function that panics after blind writes", panics(write10)},
	{"function that aborts after blind writes", func(t *testing.T, c *client) {
		require.ErrorIs(t, c.db.Tx(c.ctx, func(tx *strictkv.Tx) error {
			require.NoError(t, write10(c, tx))
			return tx.Abort()
		}), strictkv.ErrAborted)
	}},
	{"function that calls Goexit after blind writes", func(t *testing.T, c *client) {
		over := make(chan struct{})
		go func() {
			defer close(over)
			_ = c.db.Tx(c.ctx, func(tx *strictkv.Tx) error {
				if err := write10(c, tx); err != nil {
					return err
				}
				runtime.Goexit()
				return nil
			})
		}()
		<-over
	}},
	{"context cancelled before the transaction", cancelled(0, update(10))},
	{"context cancelled while reading", cancelled(latency/4, update(10))},
	{"context cancelled while blind writes are fetched", cancelled(latency/4, write(10))},
	{"context cancelled while the direct write is on its way",
		cancelled(latency+latency/4, update(1))},
	{"context cancelled while intents are on their way", cancelled(latency+latency/4, update(10))},
	{"context cancelled when intents have landed", cancelled(latency+3*latency/4, update(10))},
	{"context cancelled while validating", cancelled(2*latency+latency/4,
		writeAndRead(3, 5, false))},
	{"context cancelled while the primary commits", cancelled(3*latency+latency/4,
		writeAndRead(3, 5, false))},
	{"function that fails with its context cancelled", fails(latency/4, write10)},
	{"items, to the end", leaves(10)},
	{"items, left after the first", leaves(1)},
	{"items, left by a panic", leaves(-1)},
	{"items, context cancelled while listing", cancelled(latency/4, items)},
	{"items, context cancelled while reading", cancelled(latency+latency/4, items)},
	{"collections, left after the first", func(t *testing.T, c *client) {
		for _, err := range c.db.Collections(t.Context()) {
			require.NoError(t, err)
			break
		}
	}},
	{"drop", succeeds(drop)},
	{"drop, context cancelled while reading", cancelled(latency+latency/4, drop)},
	{"drop, context cancelled while deleting", cancelled(2*latency+latency/4, drop)},
}

// TestLeaks looks for goroutines one second after a call, and after Close.
func TestLeaks(t *testing.T) {
	for _, x := range leaks {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scene{t: t, bucket: memory.New()}
				c := stored(10)(s)
				x.call(t, c)
				time.Sleep(time.Second)
				assert.Empty(t, others(), "goroutines a second after the call")
				for _, c := range s.clients {
					require.NoError(t, c.db.Close(t.Context()))
				}
				assert.Empty(t, others(), "goroutines after Close")
				assert.Zero(t, s.intents(), "intents left in the bucket")
			})
		})
	}
}

// TestCloseLeaksNothing closes right after a call: Close waits for what is left to do.
func TestCloseLeaksNothing(t *testing.T) {
	for _, x := range leaks {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scene{t: t, bucket: memory.New()}
				c := stored(10)(s)
				x.call(t, c)
				for _, c := range s.clients {
					require.NoError(t, c.db.Close(t.Context()))
				}
				assert.Empty(t, others(), "goroutines after Close")
				assert.Zero(t, s.intents(), "intents left in the bucket")
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestCloseGivesUp closes with a context that has ended: what is under way ends too.
func TestCloseGivesUp(t *testing.T) {
	for _, after := range []time.Duration{0, latency / 2, latency} {
		synctest.Test(t, func(t *testing.T) {
			s := &scene{t: t, bucket: memory.New()}
			c := stored(10)(s)
			require.NoError(t, update(10)(c))
			time.Sleep(after) // intents wait to be resolved, or are being resolved
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, c.db.Close(ctx), context.Canceled)
			assert.Empty(t, others(), "goroutines after Close")
		})
	}
}

// TestBacklogIsBounded commits faster than the background resolves, for a while: the
// goroutines that it uses have a limit, and so has the time that Close needs.
func TestBacklogIsBounded(t *testing.T) {
	const workers, keys = 300, 10
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, bucket: memory.New()}
		c := s.client()
		end := time.Now().Add(3 * time.Second)
		for w := range workers {
			go func() {
				for i := 0; time.Now().Before(end); i++ {
					assert.NoError(t, c.insertUnder(fmt.Sprintf("%d-%d", w, i), keys))
				}
			}()
		}
		time.Sleep(time.Until(end))
		limit := workers*(keys+1) + 4*strictkv.DefaultConcurrency
		assert.LessOrEqual(t, runtime.NumGoroutine(), limit, "goroutines under load")
		time.Sleep(time.Second) // the last transactions end
		began := time.Now()
		require.NoError(t, c.db.Close(t.Context()))
		assert.LessOrEqual(t, time.Since(began), 2*time.Second, "time for Close")
	})
}

// insertUnder makes new keys that begin with a name.
func (c *client) insertUnder(name string, n int) error {
	return c.db.Tx(c.ctx, func(tx *strictkv.Tx) error {
		for i := range n {
			if err := tx.Insert(c.coll, fmt.Appendf(nil, "%s-%d", name, i), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// others are the stacks of the goroutines of the bubble, without the test's own. In
// bubbles everything but those has been started by the library.
func others() []string {
	synctest.Wait()
	buf := make([]byte, 1<<20)
	stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	_, bubble, _ := strings.Cut(stacks[0][:strings.Index(stacks[0], "]")], ", ")
	var found []string
	for _, stack := range stacks[1:] {
		head, body, _ := strings.Cut(stack, "\n")
		own := strings.HasPrefix(body, "internal/synctest.Run") ||
			strings.HasPrefix(body, "testing/synctest.testingSynctestTest")
		if strings.Contains(head, bubble+"]") && !own {
			found = append(found, stack)
		}
	}
	return found
}

func succeeds(call func(c *client) error) func(t *testing.T, c *client) {
	return func(t *testing.T, c *client) { require.NoError(t, call(c)) }
}

// items walks all keys.
func items(c *client) error {
	for _, err := range c.coll.Items(c.ctx, strictkv.Range{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

func drop(c *client) error {
	_, err := c.coll.Drop(c.ctx)
	return err
}

// leaves walks n keys, and leaves the loop; for -1 it panics at the first.
func leaves(n int) func(t *testing.T, c *client) {
	return func(t *testing.T, c *client) {
		defer func() { require.Equal(t, n < 0, recover() != nil) }()
		for _, err := range c.coll.Items(c.ctx, strictkv.Range{}) {
			require.NoError(t, err)
			if n--; n < 0 {
				panic("the loop's")
			} else if n == 0 {
				break
			}
		}
	}
}

func view10(c *client, tx *strictkv.Tx) error { return c.readAll(tx, 0, 10) }

func write10(c *client, tx *strictkv.Tx) error {
	for _, k := range c.keys(0, 10) {
		if err := tx.Write(k.Collection, k.Key, k.Key); err != nil {
			return err
		}
	}
	return nil
}

// fails runs a transaction whose function fails, with a context that ends after a while
// unless that is 0.
func fails(
	after time.Duration, do func(c *client, tx *strictkv.Tx) error,
) func(t *testing.T, c *client) {
	return func(t *testing.T, c *client) {
		ctx, cancel := c.ctx, context.CancelFunc(func() {})
		if after > 0 {
			ctx, cancel = context.WithTimeout(c.ctx, after)
		}
		defer cancel()
		require.Error(t, c.db.Tx(ctx, func(tx *strictkv.Tx) error {
			if do != nil {
				require.NoError(t, do(c, tx))
			}
			return errOfFunction
		}))
	}
}

// panics runs a transaction whose function panics.
func panics(do func(c *client, tx *strictkv.Tx) error) func(t *testing.T, c *client) {
	return func(t *testing.T, c *client) {
		require.PanicsWithError(t, errOfFunction.Error(), func() {
			_ = c.db.Tx(c.ctx, func(tx *strictkv.Tx) error {
				require.NoError(t, do(c, tx))
				panic(errOfFunction)
			})
		})
	}
}

// cancelled runs a call with a context that ends after a while.
func cancelled(after time.Duration, call func(c *client) error) func(t *testing.T, c *client) {
	return func(t *testing.T, c *client) {
		ctx, cancel := context.WithTimeout(c.ctx, after)
		defer cancel()
		leaving := *c
		leaving.ctx = ctx
		require.ErrorIs(t, call(&leaving), context.DeadlineExceeded)
	}
}

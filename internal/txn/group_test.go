package txn_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/txn"
)

// busy starts a transaction that writes cells and takes a second to be answered, and returns
// once its writes are on their way. Whoever wants one of the cells waits for its turn.
func (h *handle) busy(names ...string) {
	h.After(faulty.Put, names[0], h.sentBefore(faulty.Put, names[0]),
		func(*faulty.Answer) { time.Sleep(time.Second) })
	h.start(write("1", names...))
}

// start runs a transaction beside the test, until it waits for something.
func (h *handle) start(fn func(tx *txn.Tx) error) {
	go func() { assert.NoError(h.w.T, h.engine.Run(background, txn.Options{}, fn)) }()
	synctest.Wait()
}

func (h *handle) sentBefore(k faulty.Kind, name string) int { return len(h.Sent(k, name)) }

var background = context.Background()

// increment adds one to a number.
func increment(names ...string) func(tx *txn.Tx) error {
	return func(tx *txn.Tx) error {
		for _, name := range names {
			v, err := tx.Read(name)
			if err != nil && !errors.Is(err, backend.ErrNotFound) {
				return err
			}
			n, _ := strconv.Atoi(string(v))
			if err := tx.Write(name, []byte(strconv.Itoa(n+1)), 0); err != nil {
				return err
			}
		}
		return nil
	}
}

// all runs transactions at once, and returns their errors once all have ended.
func (h *handle) all(fns ...func(tx *txn.Tx) error) []error {
	errs := make([]error, len(fns))
	done := make(chan struct{})
	for i, fn := range fns {
		go func() {
			defer func() { done <- struct{}{} }()
			errs[i] = h.engine.Run(background, txn.Options{}, fn)
		}()
		synctest.Wait()
	}
	for range fns {
		<-done
	}
	return errs
}

func TestAGroupCommitsInOneAttempt(t *testing.T) {
	for _, keys := range []int{1, 3} {
		inWorld(t, func(w *world) {
			h := w.handle()
			h.busy(names(keys)...)
			puts := h.puts()
			for _, err := range h.all(increment(names(keys)...), increment(names(1)...),
				increment(names(keys)...)) {
				require.NoError(t, err)
			}
			assert.Equal(t, keys, h.puts()-puts, "of all three")
			h.drain()
			got, _ := h.read("=a")
			assert.Equal(t, "4", got)
			assert.EqualValues(t, 3, h.engine.Stats().Grouped.Load())
			assert.EqualValues(t, 4, h.engine.Stats().Committed.Load())
		})
	}
}

// What one of a group does wrong does not touch the others.
func TestOneOfAGroupFails(t *testing.T) {
	mine := errors.New("mine")
	for name, bad := range map[string]struct {
		fn   func(tx *txn.Tx) error
		want error
	}{
		"error": {func(tx *txn.Tx) error {
			return errors.Join(increment("=a")(tx), mine)
		}, mine},
		"abort": {func(tx *txn.Tx) error {
			_ = increment("=a")(tx)
			return tx.Abort()
		}, txn.ErrAborted},
		"too large": {func(tx *txn.Tx) error {
			_ = increment("=a")(tx)
			_ = tx.Write("=b", make([]byte, txn.ValueMax+1), 0)
			return nil
		}, txn.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				h := w.handle()
				h.busy("=a")
				// It must have got into line by writing, before it fails.
				runs := 0
				fails := func(tx *txn.Tx) error {
					if runs++; runs == 1 {
						return increment("=a")(tx)
					}
					return bad.fn(tx)
				}
				errs := h.all(increment("=a"), fails, increment("=a"))
				require.NoError(t, errs[0])
				require.ErrorIs(t, errs[1], bad.want)
				require.NoError(t, errs[2])
				got, _ := h.read("=a")
				assert.Equal(t, "3", got)
			})
		})
	}
}

func TestAPanicLeavesTheGroup(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.busy("=a")
		runs := 0
		var caught any
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { caught = recover() }()
			_ = h.engine.Run(background, txn.Options{}, func(tx *txn.Tx) error {
				if runs++; runs > 1 {
					panic("mine")
				}
				return increment("=a")(tx)
			})
		}()
		synctest.Wait()
		for _, err := range h.all(increment("=a"), increment("=a")) {
			require.NoError(t, err)
		}
		<-done
		assert.Equal(t, "mine", caught)
		got, _ := h.read("=a")
		assert.Equal(t, "3", got)
	})
}

// An external value is not committed with others, but its turn is waited for.
func TestAnExternalValueGoesByItself(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.busy("=a")
		large := make([]byte, txn.InlineMax+1)
		runs := 0
		errs := h.all(increment("=a"), func(tx *txn.Tx) error {
			if runs++; runs == 1 {
				return increment("=a")(tx)
			}
			return errors.Join(increment("=a")(tx), tx.Write("=b", large, 0))
		}, increment("=a"))
		for _, err := range errs {
			require.NoError(t, err)
		}
		h.drain()
		other := w.handle()
		got, _ := other.read("=a")
		assert.Equal(t, "4", got)
		got, _ = other.read("=b")
		assert.Len(t, got, len(large), "it is kept")
	})
}

// A function may start a transaction that waits for its own group: it does not hang.
func TestANestedTransactionDoesNotHang(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.busy("=a")
		begun := time.Now()
		runs := 0
		errs := h.all(increment("=a"), func(tx *txn.Tx) error {
			if runs++; runs == 2 {
				err := h.engine.Run(background, txn.Options{}, increment("=a"))
				require.NoError(t, err)
			}
			return increment("=a")(tx)
		}, increment("=a"))
		for _, err := range errs {
			require.NoError(t, err)
		}
		got, _ := h.read("=a")
		assert.Equal(t, "5", got)
		assert.Less(t, time.Since(begun), 10*time.Second)
	})
}

func TestWhoLeavesWhileHeWaitsHasDoneNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.busy("=a")
		ctx, cancel := context.WithTimeout(background, 100*time.Millisecond)
		defer cancel()
		err := h.engine.Run(ctx, txn.Options{}, increment("=a"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, txn.ErrInDoubt)
		time.Sleep(time.Second)
		h.drain()
		got, _ := h.read("=a")
		assert.Equal(t, "1", got)
	})
}

func TestWhoLeavesAGroupThatCommitsIsInDoubt(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.busy("=a")
		h.After(faulty.Put, "=a", h.sentBefore(faulty.Put, "=a"),
			func(*faulty.Answer) { time.Sleep(10 * time.Second) })
		ctx, cancel := context.WithTimeout(background, 3*time.Second)
		defer cancel()
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			err = h.engine.Run(ctx, txn.Options{}, increment("=a"))
		}()
		synctest.Wait()
		require.NoError(t, h.all(increment("=a"))[0])
		<-done
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var doubt *txn.InDoubtError
		require.ErrorAs(t, err, &doubt)
		assert.Equal(t, []string{"=a"}, doubt.Names)
		assert.EqualValues(t, 1, h.engine.Stats().InDoubt.Load())
		assert.EqualValues(t, 2, h.engine.Stats().Committed.Load())
		got, _ := h.read("=a")
		assert.Equal(t, "3", got, "it has committed")
	})
}

// Who sets a number of attempts has them for himself.
func TestWhoCountsHisAttemptsSharesNoTurn(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.busy("=a")
		errs := make(chan error)
		for range 2 {
			go func() {
				errs <- h.engine.Run(background, txn.Options{MaxAttempts: 1}, increment("=a"))
			}()
			synctest.Wait()
		}
		require.NoError(t, <-errs, "to have waited is no failure")
		require.NoError(t, <-errs)
		assert.Zero(t, h.engine.Stats().Grouped.Load())
		got, _ := h.read("=a")
		assert.Equal(t, "3", got)
	})
}

// What one of a group writes that is due already is absent to the next, in each run of its
// function: so no value ends while the group commits, and it needs one attempt.
func TestAGroupSeesNoneOfWhatIsDue(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.busy("=a")
		runs, puts := 0, h.puts()
		ends := func(tx *txn.Tx) error { return tx.Write("=a", []byte("due"), 1) }
		looks := func(tx *txn.Tx) error {
			v, err := tx.Read("=a")
			if runs++; runs > 1 { // first it gets into line, with what was there before
				assert.ErrorIs(t, err, backend.ErrNotFound, "%s", v)
			}
			return tx.Write("=a", []byte("new"), 0)
		}
		for _, err := range h.all(ends, looks) {
			require.NoError(t, err)
		}
		assert.Equal(t, []int{2, 1}, []int{runs, h.puts() - puts})
		assert.EqualValues(t, 2, h.engine.Stats().Grouped.Load())
		got, _ := h.read("=a")
		assert.Equal(t, "new", got)
	})
}

// If a stranger refuses the group's write, all functions are run again.
func TestAGroupIsRunAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.busy("=a")
		h.Before(faulty.Put, "=a", h.sentBefore(faulty.Put, "=a"), func(context.Context) error {
			w.Value(9, "=a")
			return nil
		})
		var saw []string
		spy := func(tx *txn.Tx) error {
			v, err := tx.Read("=a")
			saw = append(saw, string(v))
			return errors.Join(err, tx.Write("=a", []byte(fmt.Sprintf("%s+", v)), 0))
		}
		for _, err := range h.all(spy, spy) {
			require.NoError(t, err)
		}
		got, _ := h.read("=a")
		assert.Equal(t, "v++", got)
		assert.Equal(t, []string{"v", "v+"}, saw[len(saw)-2:])
	})
}

// A transaction that waits for another one of its handle, of which nothing is known for
// long, goes on without.
func TestATurnIsNotWaitedForForever(t *testing.T) {
	inWorld(t, func(w *world) {
		h := w.handle()
		h.After(faulty.Put, "=a", 0, func(*faulty.Answer) { time.Sleep(25 * time.Second) })
		h.start(write("1", "=a"))
		begun := time.Now()
		require.NoError(t, h.all(increment("=a"))[0])
		assert.Less(t, time.Since(begun), 6*time.Second)
		time.Sleep(25 * time.Second)
	})
}

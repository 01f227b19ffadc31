package resolve_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
)

// answerTime is how long the answers of a distant store take.
const answerTime = time.Millisecond

// distant lets the answers to all reads of these cells take a while.
func (c *client) distant(names ...string) *client {
	for _, name := range names {
		for nth := range 5 {
			c.After(faulty.Get, name, nth, func(*faulty.Answer) { pass(answerTime) })
		}
	}
	return c
}

// together reads the effective values of cells at once, and counts the reads it took.
func (c *client) together(names ...string) (found []resolve.Reading, gets int) {
	before := c.requests(faulty.Get)
	type answer struct {
		rd  resolve.Reading
		err error
	}
	answers := make(chan answer)
	for _, name := range names {
		go func() {
			rd, err := c.rs.Effective(context.Background(), name, resolve.Role{})
			answers <- answer{rd, err}
		}()
	}
	for range names {
		a := <-answers
		require.NoError(c.w.T, a.err)
		found = append(found, a.rd)
	}
	return found, c.requests(faulty.Get) - before
}

// Readers who meet one attempt in different cells ask for its status together.
func TestReadersShareAnInquiry(t *testing.T) {
	for _, x := range []struct {
		name    string
		mode    cell.Mode
		members int
		landed  int
		from    int // the readers are those of the members from here on that landed
		want    cell.Outcome
		asked   int // reads beside those of the readers themselves, at most
	}{
		{"staged", cell.Staged, 2, 2, 0, cell.Committed, 1},
		{"staged, 8 members", cell.Staged, 8, 8, 0, cell.Committed, 7},
		{"staged, a long list", cell.Staged, 60, 60, 0, cell.Committed, 59},
		{"staged, a long list, not asked at the primary", cell.Staged, 60, 60, 1,
			cell.Committed, 59},
		{"pending: the primary is asked", cell.Pending, 60, 1 + 58, 1, cell.Committed, 1},
		// Who entered during an inquiry cannot use what it did not find: he begins another,
		// for all of those.
		{"staged, one has not landed", cell.Staged, 8, 7, 0, cell.Undecided, 2 * 7},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				all := make([]string, x.members)
				for i := range all {
					all[i] = fmt.Sprintf("=%02d", i)
				}
				w.Value(1, all...)
				r := w.Rival(50, x.mode, all...).Place(all[:x.landed]...)
				if x.mode == cell.Pending {
					r.Fold(all[0])
				}
				c := w.client().distant(all...)
				began := time.Now()
				found, gets := c.together(all[x.from:x.landed]...)
				for _, rd := range found {
					assert.Equal(t, x.want, rd.Outcome)
				}
				assert.LessOrEqual(t, gets, x.landed-x.from+x.asked)
				assert.LessOrEqual(t, time.Since(began), 3*answerTime, "rounds")
			})
		})
	}
}

// An inquiry finds the attempt undecided; before its answer arrives the attempt commits,
// and a reader enters. He would see the state before a commit that was complete when he
// began, if he went by that answer.
func TestUndecidedIsNotForThoseWhoCameLater(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b", "=c")
		r := w.Rival(50, cell.Staged, "=a", "=b", "=c").Place("=a", "=b")
		c := w.client()
		c.After(faulty.Get, "=c", 0, func(*faulty.Answer) { pass(time.Second) })
		first := make(chan resolve.Reading)
		go func() {
			rd, _ := c.effective("=a", resolve.Role{})
			first <- rd
		}()
		synctest.Wait()
		r.Place("=c") // Commit point.
		rd, _ := c.effective("=b", resolve.Role{})
		assert.Equal(t, cell.Committed, rd.Outcome)
		v, _ := rd.Effective()
		assert.Equal(t, "new", string(v.Data))
		<-first
	})
}

// Who waits for another's inquiry does not suffer what ends that one: he asks himself.
func TestFailedInquiryIsItsLeadersAlone(t *testing.T) {
	for name, fail := range map[string]func(ctx context.Context, leave func()) error{
		"the leader leaves": func(ctx context.Context, leave func()) error {
			leave()
			<-ctx.Done()
			return ctx.Err()
		},
		"the leader is refused": func(context.Context, func()) error { return backend.ErrDenied },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b", "=c")
				w.Rival(50, cell.Staged, "=a", "=b", "=c").Place("=a", "=b", "=c")
				c := w.client()
				ctx, leave := context.WithCancel(context.Background())
				defer leave()
				c.Before(faulty.Get, "=c", 0, func(context.Context) error {
					pass(time.Second)
					return fail(ctx, leave)
				})
				led := make(chan error)
				go func() {
					_, err := c.rs.Effective(ctx, "=a", resolve.Role{})
					led <- err
				}()
				synctest.Wait()
				go func() {
					pass(time.Millisecond)
					short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
					defer cancel()
					_, err := c.rs.Effective(short, "=b", resolve.Role{})
					assert.ErrorIs(t, err, context.DeadlineExceeded, "he need not wait for it")
				}()
				rd, took := c.effective("=b", resolve.Role{})
				assert.Equal(t, cell.Committed, rd.Outcome)
				assert.Equal(t, time.Second, took, "he waited for the leader")
				assert.Error(t, <-led)
			})
		})
	}
}

package resolve_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
)

// tidy tidies a cell, and tells how long it took.
func (c *client) tidy(name string, hurry bool) (bool, time.Duration) {
	c.w.T.Helper()
	start := time.Now()
	did, err := c.rs.Tidy(context.Background(), name, hurry)
	require.NoError(c.w.T, err)
	return did != resolve.Nothing, time.Since(start)
}

func TestTidy(t *testing.T) {
	for _, x := range []struct {
		name   string
		mode   cell.Mode
		landed []string
		hurry  bool
		wait   time.Duration
		writer byte
	}{
		{"committed", cell.Staged, []string{"=a", "=b"}, false, 0, 50},
		{"dead", cell.Staged, []string{"=a"}, false, 0, 1},
		{"undecided, staged", cell.Staged, []string{"=a"}, false, patience, 1},
		{"undecided, staged, in a hurry", cell.Staged, []string{"=a"}, true, grant, 1},
		{"undecided, pending", cell.Pending, []string{"=a", "=b"}, false, patience, 1},
		{"undecided, pending, in a hurry", cell.Pending, []string{"=a", "=b"}, true, 0, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a", "=b")
				w.Rival(50, x.mode, "=a", "=b").Place(x.landed...)
				if x.name == "dead" {
					w.Value(2, "=b")
				}
				met, took := w.client().tidy("=a", x.hurry)
				assert.True(t, met)
				assert.GreaterOrEqual(t, took, x.wait)
				assert.LessOrEqual(t, took, x.wait+patience/2)
				got, _ := w.Cell("=a")
				assert.Nil(t, got.Intent)
				assert.Equal(t, id(x.writer), got.Writer)
			})
		})
	}
}

func TestTidyOfWhatIsTidy(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		c := w.client()
		for _, name := range []string{"=a", "=none"} {
			met, _ := c.tidy(name, false)
			assert.False(t, met)
		}
		assert.Zero(t, c.requests(faulty.Put))
	})
}

func TestTidyIsOutrun(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		r := w.Rival(50, cell.Staged, "=a", "=b").Place("=a", "=b")
		c := w.client()
		c.Before(faulty.Put, "=a", 0, func(context.Context) error { r.Fold("=a"); return nil })
		met, _ := c.tidy("=a", false)
		assert.True(t, met)
		assert.NotEmpty(t, w.carries(50, "=a"), "somebody else has met it")

		c.LoseRequest("=b", 0, nil)
		c.tidy("=b", false)
		got, _ := w.Cell("=b")
		assert.Nil(t, got.Intent, "it is tried again")

		w.Rival(51, cell.Staged, "=a").Place("=a")
		c.Before(faulty.Put, "=a", 1, func(context.Context) error { return backend.ErrDenied })
		_, err := c.rs.Tidy(context.Background(), "=a", false)
		assert.ErrorIs(t, err, backend.ErrDenied)
	})
}

func TestUnmark(t *testing.T) {
	for name, all := range map[string][]string{
		"a short list": names(3), "a long list": names(12),
	} {
		for _, at := range []string{"=a", "=b"} {
			t.Run(name+" from "+at, func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.Value(1, append(all, "=z")...)
					w.Rival(20, cell.Staged, all...).Place(all...).Fold(at)
					w.Rival(21, cell.Staged, at, "=z").Place(at, "=z").Fold(at)
					c := w.client()
					s := c.read(at)
					require.Len(t, s.Cell.Marks, 2)
					bare, err := c.rs.Unmark(context.Background(), s)
					require.NoError(t, err)
					assert.Empty(t, bare.Marks)
					assert.Equal(t, s.Cell.Recent, bare.Recent)
					assert.Len(t, s.Cell.Marks, 2, "cells are shared: none is changed")
					now, _ := w.Cell(at)
					assert.Len(t, now.Marks, 2, "the cell itself is not written")
					for _, other := range append(all, "=z") {
						got, _ := w.Cell(other)
						assert.Nil(t, got.Intent, other)
						if other != at && other != "=z" {
							assert.Equal(t, id(20), got.Writer, other)
						}
					}
				})
			})
		}
	}
}

func TestUnmarkFailsWhereAMemberCannotBeReached(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.Rival(20, cell.Staged, "=a", "=b").Place("=a", "=b").Fold("=a")
		c := w.client()
		s := c.read("=a")
		c.Before(faulty.Put, "=b", 0, func(context.Context) error { return backend.ErrDenied })
		_, err := c.rs.Unmark(context.Background(), s)
		assert.ErrorIs(t, err, backend.ErrDenied)
	})
}

// A sweep meets more attempts than a handle remembers.
func TestUnmarkWhileItsAttemptIsForgotten(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a", "=b")
		w.Rival(20, cell.Staged, "=a", "=b").Place("=a", "=b").Fold("=a")
		c := w.client()
		s := c.read("=a")
		c.After(faulty.Get, "=b", 0, func(*faulty.Answer) {
			for i := range 10_000 {
				tx := id(99)
				tx[7], tx[8] = byte(i>>8), byte(i)
				c.rs.Dead(tx)
			}
		})
		_, err := c.rs.Unmark(context.Background(), s)
		require.NoError(t, err)
		got, _ := w.Cell("=b")
		assert.Nil(t, got.Intent)
		assert.Equal(t, id(20), got.Writer)
	})
}

func TestAKillOfALeavingCaller(t *testing.T) {
	for _, answer := range []error{backend.ErrPrecondition, backend.ErrOutcomeUnknown} {
		inWorld(t, func(w *world) {
			w.Value(1, "=a", "=b")
			w.Rival(50, cell.Staged, "=a", "=b").Place("=a")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			c := w.client()
			c.Before(faulty.Put, "=b", 0, func(context.Context) error { cancel(); return answer })
			_, err := c.rs.Effective(ctx, "=a", writer(1))
			assert.ErrorIs(t, err, context.Canceled)
		})
	}
}

// A value that is due is deleted by a writer of its own, at the version at which it was; one that
// is not stays.
func TestTidyOfWhatExpires(t *testing.T) {
	put := func(w *world, in time.Duration) {
		v := inline("v")
		v.Expires = time.Now().Add(in).UnixNano()
		w.Write(1, cell.Put, v, "=a")
	}
	denied := func(context.Context) error { return backend.ErrDenied }
	for _, x := range []struct {
		name    string
		expires time.Duration
		then    func(w *world, c *client)
		did     resolve.Tidied
		fails   error
		there   bool
		puts    int
	}{
		{"due", -1, nil, resolve.Expired, nil, false, 1},
		{"not due", time.Second, nil, resolve.Lasting, nil, true, 0},
		{"due, but somebody deletes it first", -1, func(w *world, c *client) {
			c.Before(faulty.Put, "=a", 0, func(context.Context) error {
				w.Write(2, cell.Delete, cell.Value{}, "=a")
				return nil
			})
		}, resolve.Nothing, nil, false, 1},
		{"due, but somebody makes it last", -1, func(w *world, c *client) {
			c.Before(faulty.Put, "=a", 0, func(context.Context) error {
				put(w, time.Minute)
				return nil
			})
		}, resolve.Lasting, nil, true, 1},
		{"due, the request is lost", -1, func(_ *world, c *client) {
			c.LoseRequest("=a", 0, nil)
		}, resolve.Expired, nil, false, 2},
		{"due, and denied", -1, func(_ *world, c *client) {
			c.Before(faulty.Put, "=a", 0, denied)
		}, resolve.Nothing, backend.ErrDenied, true, 1},
		{"read in vain", -1, func(_ *world, c *client) {
			c.Before(faulty.Get, "=a", 0, denied)
		}, resolve.Nothing, backend.ErrDenied, true, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				put(w, x.expires)
				c := w.client()
				if x.then != nil {
					x.then(w, c)
				}
				did, err := c.rs.Tidy(background, "=a", false)
				require.ErrorIs(t, err, x.fails)
				assert.Equal(t, x.did, did)
				assert.Equal(t, x.puts, c.requests(faulty.Put))
				got, _ := w.Cell("=a")
				assert.Equal(t, x.there, got.Value.Kind != cell.Absent)
			})
		})
	}
}

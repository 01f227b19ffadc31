package patterns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
)

const (
	handles = 4
	turns   = 25
)

// together lets several handles of one database, as of several processes, do the same many
// times at once, in virtual time.
func together(
	t *testing.T, do func(ctx context.Context, db *strictkv.DB, handle, turn int),
	after func(ctx context.Context, db *strictkv.DB),
) {
	synctest.Test(t, func(t *testing.T) {
		sim := simulated.New(memory.New(), nil, simulated.GCS())
		var all sync.WaitGroup
		for h := range handles {
			db, err := strictkv.Open(t.Context(), "db", sim)
			require.NoError(t, err)
			all.Go(func() {
				for turn := range turns {
					do(t.Context(), db, h, turn)
				}
				assert.NoError(t, db.Close(t.Context()))
			})
		}
		all.Wait()
		db, err := strictkv.Open(t.Context(), "db", sim)
		require.NoError(t, err)
		after(t.Context(), db)
		require.NoError(t, db.Close(t.Context()))
	})
}

// opened is a database that is closed at the test's end.
func opened(t *testing.T) *strictkv.DB {
	t.Helper()
	db, err := strictkv.Open(t.Context(), "db", memory.New())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close(context.WithoutCancel(t.Context()))) })
	return db
}

func collection(db *strictkv.DB) *strictkv.Collection { return db.Collection([]byte("c")) }

func TestCounter(t *testing.T) {
	together(t, func(ctx context.Context, db *strictkv.DB, _, _ int) {
		assert.NoError(t, Add(ctx, collection(db), "hits", 2))
	}, func(ctx context.Context, db *strictkv.DB) {
		total, err := Total(ctx, db, collection(db), "hits")
		require.NoError(t, err)
		assert.EqualValues(t, 2*handles*turns, total)
	})
}

func users(db *strictkv.DB) Users {
	return Users{
		ByName: db.Collection([]byte("users")), ByMail: db.Collection([]byte("mails")),
		ByCity: db.Collection([]byte("cities")),
	}
}

// TestIndexes: users take each other's addresses and move; the indexes have what the users have.
func TestIndexes(t *testing.T) {
	together(t, func(ctx context.Context, db *strictkv.DB, h, turn int) {
		u := User{
			Name: fmt.Sprint("user ", (h+turn)%3), Mail: fmt.Sprint("mail ", turn%4),
			City: fmt.Sprint("city ", (h*turn)%2),
		}
		err := db.Tx(ctx, func(tx *strictkv.Tx) error {
			if turn%5 == 4 {
				return users(db).Remove(tx, u.Name)
			}
			return users(db).Put(tx, u)
		})
		if !errors.Is(err, strictkv.ErrExists) {
			assert.NoError(t, err)
		}
	}, func(ctx context.Context, db *strictkv.DB) {
		var names, mails, cities int
		for item, err := range users(db).ByName.Items(ctx, strictkv.Range{}) {
			require.NoError(t, err)
			names++
			assert.NotEmpty(t, item.Value)
		}
		for item, err := range users(db).ByMail.Items(ctx, strictkv.Range{}) {
			require.NoError(t, err)
			mails++
			value, err := users(db).ByName.Read(ctx, item.Value)
			require.NoError(t, err)
			assert.Contains(t, string(value), string(item.Key))
		}
		for _, err := range users(db).ByCity.Items(ctx, strictkv.Range{}) {
			require.NoError(t, err)
			cities++
		}
		assert.Equal(t, names, mails)
		assert.Equal(t, names, cities)
	})
}

// TestRefusedUser: who ignores that an address is taken commits nothing.
func TestRefusedUser(t *testing.T) {
	db := opened(t)
	put := func(u User) error {
		return db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			if err := users(db).Put(tx, u); !errors.Is(err, strictkv.ErrExists) {
				return err
			}
			return nil
		})
	}
	require.NoError(t, put(User{"alice", "a@example.com", "Rome"}))
	require.NoError(t, put(User{"bob", "b@example.com", "Bonn"}))
	require.ErrorIs(t, put(User{"adam", "a@example.com", "Oslo"}), strictkv.ErrAborted)
	require.ErrorIs(t, put(User{"bob", "a@example.com", "Oslo"}), strictkv.ErrAborted)
	require.NoError(t, db.View(t.Context(), func(tx *strictkv.Tx) error {
		in := map[string][]string{"Rome": {"alice"}, "Bonn": {"bob"}, "Oslo": nil}
		for city, want := range in {
			names, err := users(db).In(tx, city)
			require.NoError(t, err)
			assert.Equal(t, want, names, city)
		}
		holder, err := tx.Read(users(db).ByMail, []byte("b@example.com"))
		assert.Equal(t, "bob", string(holder))
		return err
	}))
}

// TestOnce: all handles make the same requests.
func TestOnce(t *testing.T) {
	together(t, func(ctx context.Context, db *strictkv.DB, _, turn int) {
		answers, made := collection(db), db.Collection([]byte("made"))
		request := fmt.Sprint("request ", turn)
		answer, err := Once(ctx, db, answers, request, func(tx *strictkv.Tx) ([]byte, error) {
			return []byte("done " + request), tx.Insert(made, []byte(request), nil)
		})
		assert.NoError(t, err, "a second effect would find the first")
		assert.Equal(t, "done "+request, string(answer))
	}, func(context.Context, *strictkv.DB) {})
}

// TestLeaders: each writes only in its own term, however late it is.
func TestLeaders(t *testing.T) {
	terms := map[int64]int{}
	var mu sync.Mutex // guards terms
	together(t, func(ctx context.Context, db *strictkv.DB, h, turn int) {
		c, log := collection(db), db.Collection([]byte("log"))
		me := NewCandidate(db, c, "office", "")
		me.Name = fmt.Sprint("handle ", h)
		term, err := me.Elect(ctx, time.Now().Add(3*time.Second))
		if errors.Is(err, ErrDeposed) {
			time.Sleep(time.Second)
			return
		}
		if !assert.NoError(t, err) {
			return
		}
		mu.Lock()
		leader, known := terms[term.Number]
		assert.True(t, !known || leader == h, "two leaders in one term")
		terms[term.Number] = h
		mu.Unlock()
		time.Sleep(time.Duration(turn%6) * time.Second)
		err = me.Lead(ctx, term, func(tx *strictkv.Tx) error {
			last, err := tx.Read(log, []byte("term"))
			if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
				return err
			}
			assert.LessOrEqual(t, string(last), fmt.Sprintf("%08d", term.Number))
			return tx.Write(log, []byte("term"), fmt.Appendf(nil, "%08d", term.Number))
		})
		if !errors.Is(err, ErrDeposed) {
			assert.NoError(t, err)
		}
	}, func(context.Context, *strictkv.DB) {})
	assert.Greater(t, len(terms), 1, "leaders changed")
}

// TestLeaderStartedAgain: one that stood still while it was started again is not the leader any
// more.
func TestLeaderStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := opened(t)
		work := func(*strictkv.Tx) error { return nil }
		soon := func() time.Time { return time.Now().Add(time.Minute) }
		former := NewCandidate(db, collection(db), "office", "host")
		require.ErrorIs(t, former.Lead(t.Context(), Term{}, work), ErrDeposed, "not elected")
		term, err := former.Elect(t.Context(), soon())
		require.NoError(t, err)
		again := NewCandidate(db, collection(db), "office", "host")
		_, err = again.Elect(t.Context(), soon())
		require.ErrorIs(t, err, ErrDeposed, "its lease is another's")
		time.Sleep(30 * time.Second)
		renewed, err := former.Elect(t.Context(), soon())
		require.NoError(t, err)
		assert.Equal(t, term, renewed)
		time.Sleep(2 * time.Minute)
		next, err := again.Elect(t.Context(), soon())
		require.NoError(t, err)
		assert.Greater(t, next.Number, term.Number)
		require.ErrorIs(t, former.Lead(t.Context(), term, work), ErrDeposed)
		require.NoError(t, again.Lead(t.Context(), next, work))
	})
}

// TestRateLimit: no more get through than tokens have flowed.
func TestRateLimit(t *testing.T) {
	var allowed int
	var mu sync.Mutex // guards allowed
	began, passed := time.Time{}, time.Duration(0)
	together(t, func(ctx context.Context, db *strictkv.DB, _, _ int) {
		mu.Lock()
		if began.IsZero() {
			began = time.Now()
		}
		mu.Unlock()
		err := Rate{PerSecond: 2, Burst: 5}.Allow(ctx, collection(db), "alice", time.Now())
		if errors.Is(err, ErrTooMany) {
			return
		}
		if assert.NoError(t, err) {
			mu.Lock()
			allowed++
			mu.Unlock()
		}
	}, func(context.Context, *strictkv.DB) { passed = time.Since(began) })
	assert.GreaterOrEqual(t, allowed, 5)
	assert.LessOrEqual(t, float64(allowed), 5+2*passed.Seconds())
}

// TestBucketsEnd: of those whom nobody has heard of for long nothing is left.
func TestBucketsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := opened(t)
		rate := Rate{PerSecond: 1, Burst: 2}
		allow := func() error {
			return rate.Allow(t.Context(), collection(db), "alice", time.Now())
		}
		require.NoError(t, allow())
		require.NoError(t, allow())
		require.ErrorIs(t, allow(), ErrTooMany)
		time.Sleep(unusedFor)
		_, err := collection(db).Read(t.Context(), []byte("alice"))
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		_, err = collection(db).Read(t.Context(), []byte("alice"))
		require.ErrorIs(t, err, strictkv.ErrNotFound)
		require.NoError(t, allow())
		require.NoError(t, allow())
		require.ErrorIs(t, allow(), ErrTooMany)
	})
}

// TestEvents: each event was decided on with all before it known.
func TestEvents(t *testing.T) {
	together(t, func(ctx context.Context, db *strictkv.DB, _, _ int) {
		count := func(past [][]byte) ([]byte, error) { return fmt.Append(nil, len(past)), nil }
		assert.NoError(t, Apply(ctx, db, collection(db), "stream", count))
	}, func(ctx context.Context, db *strictkv.DB) {
		all, err := Replay(ctx, db, collection(db), "stream", 0)
		require.NoError(t, err)
		require.Len(t, all, handles*turns)
		for i, event := range all {
			assert.Equal(t, fmt.Sprint(i), string(event))
		}
		err = db.Tx(ctx, func(tx *strictkv.Tx) error {
			return Append(tx, collection(db), "stream", 1000, nil)
		})
		assert.ErrorIs(t, err, strictkv.ErrNotFound, "a gap")
		failed := errors.New("failed")
		err = Apply(ctx, db, collection(db), "stream",
			func([][]byte) ([]byte, error) { return nil, failed })
		assert.ErrorIs(t, err, failed)
	})
}

// TestNamesThatBeginAlike: no counter, city or stream has what is another's, whatever its name.
func TestNamesThatBeginAlike(t *testing.T) {
	ctx, db := t.Context(), opened(t)
	for _, name := range []string{"a", "a/b", "a\x00b"} {
		require.NoError(t, Add(ctx, db.Collection([]byte("counters")), name, 1))
		require.NoError(t, db.Tx(ctx, func(tx *strictkv.Tx) error {
			return errors.Join(Append(tx, collection(db), name, 0, []byte(name)),
				users(db).Put(tx, User{Name: name, Mail: name, City: name}))
		}))
	}
	for _, name := range []string{"a", "a/b", "a\x00b"} {
		total, err := Total(ctx, db, db.Collection([]byte("counters")), name)
		require.NoError(t, err)
		assert.EqualValues(t, 1, total, "%q", name)
		events, err := Replay(ctx, db, collection(db), name, 0)
		require.NoError(t, err)
		assert.Equal(t, [][]byte{[]byte(name)}, events)
		require.NoError(t, db.View(ctx, func(tx *strictkv.Tx) error {
			names, err := users(db).In(tx, name)
			assert.Equal(t, []string{name}, names)
			return err
		}))
	}
}

// TestTrailAndPages: whoever writes meanwhile, pages have each entry once.
func TestTrailAndPages(t *testing.T) {
	together(t, func(ctx context.Context, db *strictkv.DB, h, turn int) {
		assert.NoError(t, db.Tx(ctx, func(tx *strictkv.Tx) error {
			return Audit(tx, collection(db), time.Now(), fmt.Sprint(h, " did ", turn))
		}))
	}, func(ctx context.Context, db *strictkv.DB) {
		seen := map[string]bool{}
		for next, more := []byte(nil), true; more; more = next != nil {
			var items []strictkv.Item
			var err error
			items, next, err = Page(ctx, collection(db), next, 7)
			require.NoError(t, err)
			for _, item := range items {
				assert.False(t, seen[string(item.Value)])
				seen[string(item.Value)] = true
			}
		}
		assert.Len(t, seen, handles*turns)
	})
}

func TestPageOfNothing(t *testing.T) {
	db := opened(t)
	require.NoError(t, collection(db).Write(t.Context(), []byte("a"), nil))
	for _, n := range []int{0, -1, -2} {
		_, _, err := Page(t.Context(), collection(db), nil, n)
		require.ErrorIs(t, err, strictkv.ErrInvalid, n)
	}
}

// TestPageOfTheDocumentation: what that shows is this code.
func TestPageOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/patterns.md")
	require.NoError(t, err)
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var code strings.Builder
	for _, path := range paths {
		src, err := os.ReadFile(path)
		require.NoError(t, err)
		code.Write(src)
	}
	blocks := strings.Split(string(text), "```go\n")[1:]
	require.Len(t, blocks, 8)
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```\n")
		assert.Contains(t, code.String(), block)
	}
}

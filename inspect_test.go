package strictkv_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/memory"
)

// dying are transactions whose processes die at one of their writes.
var dying = map[string]func(tx *strictkv.Tx, c *strictkv.Collection) error{
	"several keys": func(tx *strictkv.Tx, c *strictkv.Collection) error {
		return errors.Join(tx.Write(c, []byte("k0"), []byte("new")),
			tx.Delete(c, []byte("k1")), tx.Write(c, []byte("made"), []byte("new")))
	},
	"a key that is read": func(tx *strictkv.Tx, c *strictkv.Collection) error {
		_, err := tx.Read(c, []byte("k2"))
		return errors.Join(err, tx.Write(c, []byte("k0"), []byte("new")),
			tx.Write(c, []byte("k1"), []byte("new")))
	},
	"a lock": func(tx *strictkv.Tx, c *strictkv.Collection) error {
		return errors.Join(tx.Lock(c, []byte("k2")), tx.Write(c, []byte("k0"), []byte("new")))
	},
	"many keys": func(tx *strictkv.Tx, c *strictkv.Collection) (err error) {
		for i := range 11 {
			err = errors.Join(err, tx.Write(c, fmt.Append(nil, "k", i), []byte("new")))
		}
		return err
	},
}

// TestInspect: of whatever a process has left that died, inspecting tells what a reader is then
// given, and changes nothing.
func TestInspect(t *testing.T) {
	for name, fn := range dying {
		t.Run(name, func(t *testing.T) {
			outcomes := map[string]bool{}
			const triesMax = 100 // which write of several comes first is the scheduler's choice
			for n, writes := 0, 0; n < triesMax && len(outcomes) < 3; writes++ {
				ended := false
				synctest.Test(t, func(t *testing.T) {
					bucket := filled(t)
					ended = dies(t, bucket, writes, fn)
					inspect(t, bucket, outcomes)
					write(t, bucket) // it kills what is undecided in its key
					inspect(t, bucket, outcomes)
				})
				if ended {
					n, writes = n+1, -1
				}
			}
			assert.Equal(t, map[string]bool{"committed": true, "dead": true, "undecided": true},
				outcomes)
		})
	}
}

// write writes a key, and leaves what the transaction that it meets has elsewhere.
func write(t *testing.T, bucket backend.Backend) {
	db, err := strictkv.Open(t.Context(), "db", bucket)
	require.NoError(t, err)
	defer db.Close(t.Context())
	require.NoError(t, db.Collection([]byte("c")).Write(t.Context(), []byte("k0"), []byte("mine")))
}

// filled is a bucket with a database of some keys.
func filled(t *testing.T) backend.Backend {
	bucket := memory.New()
	db, err := strictkv.Open(t.Context(), "db", bucket)
	require.NoError(t, err)
	for i := range 11 {
		key := fmt.Append(nil, "k", i)
		require.NoError(t, db.Collection([]byte("c")).Write(t.Context(), key, []byte("old")))
	}
	require.NoError(t, db.Close(t.Context()))
	return bucket
}

// dies runs a transaction that dies after some writes, and reports whether it has made fewer.
func dies(
	t *testing.T, bucket backend.Backend, writes int,
	fn func(tx *strictkv.Tx, c *strictkv.Collection) error,
) bool {
	return !diesAt(t, bucket, func(faulty.Op) fate {
		if writes == 0 {
			return death
		}
		writes--
		return life
	}, fn)
}

// fate is what becomes of a write, and of who sends it.
type fate int

const (
	life fate = iota
	delay
	death
)

// diesAt runs a transaction that dies at a write, and reports whether it has.
func diesAt(
	t *testing.T, bucket backend.Backend, decide func(op faulty.Op) fate,
	fn func(tx *strictkv.Tx, c *strictkv.Collection) error,
) bool {
	ctx, die := context.WithCancel(t.Context())
	defer die()
	dead := false
	db, err := strictkv.Open(ctx, "db", faulty.New(bucket, faulty.Options{
		Before: func(_ context.Context, op faulty.Op) error {
			if dead {
				return backend.ErrUnavailable
			}
			if !op.Write() {
				return nil
			}
			switch decide(op) {
			case death:
				dead = true
				die()
				return backend.ErrUnavailable
			case delay:
				return backend.ErrUnavailable
			}
			return nil
		},
	}), strictkv.WithConcurrency(1))
	require.NoError(t, err)
	c := db.Collection([]byte("c"))
	_ = db.Tx(ctx, func(tx *strictkv.Tx) error { return fn(tx, c) })
	_ = db.Close(ctx) // it would settle what the process could not
	synctest.Wait()
	return dead
}

// inspect compares what inspecting tells to what a reader is given, and notes the outcomes.
func inspect(t *testing.T, bucket backend.Backend, outcomes map[string]bool) {
	db, err := strictkv.Open(t.Context(), "db", bucket)
	require.NoError(t, err)
	defer db.Close(t.Context())
	c := db.Collection([]byte("c"))
	keys := [][]byte{[]byte("made"), []byte("never")}
	for i := range 11 {
		keys = append(keys, fmt.Append(nil, "k", i))
	}
	before := versions(t, bucket)
	told := map[string]strictkv.Inspection{}
	for _, key := range keys {
		i, err := c.Inspect(t.Context(), key)
		require.NoError(t, err)
		told[string(key)] = i
	}
	require.Equal(t, before, versions(t, bucket), "inspecting writes nothing")
	for key, i := range told {
		item, err := c.ReadItem(t.Context(), []byte(key))
		if !i.Current.Present {
			require.ErrorIs(t, err, strictkv.ErrNotFound, key)
		} else {
			require.NoError(t, err, key)
			assert.Equal(t, item.Value, i.Current.Data, key)
			assert.Equal(t, item.Version, i.Current.Version, key)
		}
		if in := i.Intent; in != nil {
			outcomes[in.Outcome] = true
			assert.Equal(t, in.Outcome == "committed" && in.Action != "lock",
				i.Current.Version.String() == in.Attempt, key)
			agree(t, told, in)
		}
	}
}

// agree: all that tell of one attempt tell the same of it.
func agree(t *testing.T, told map[string]strictkv.Inspection, in *strictkv.InspectedIntent) {
	assert.NotEmpty(t, in.Members)
	for _, m := range in.Members {
		other := told[string(m.Key)]
		assert.Equal(t, [][]byte{[]byte("c")}, m.Collection)
		holds := other.Intent != nil && other.Intent.Attempt == in.Attempt
		assert.Equal(t, m.Shows == "intent", holds, "%q", m.Key)
		if holds {
			assert.Equal(t, in.Outcome, other.Intent.Outcome, "%q", m.Key)
		}
	}
}

// versions are those of all objects.
func versions(t *testing.T, bucket backend.Backend) map[string]backend.Version {
	all := map[string]backend.Version{}
	page, err := bucket.List(t.Context(), backend.ListOptions{})
	require.NoError(t, err)
	require.False(t, page.More)
	for _, o := range page.Objects {
		all[o.Name] = o.Version
	}
	return all
}

// TestInspectCondemned: whoever asks for an attempt lifts the condemnation of a member, and so
// finds that it is dead. Inspecting does not.
func TestInspectCondemned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := filled(t)
		db, err := strictkv.Open(t.Context(), "db", bucket)
		require.NoError(t, err)
		defer db.Close(t.Context())
		c := db.Collection([]byte("c"))
		require.NoError(t, c.Delete(t.Context(), []byte("k1")))
		time.Sleep(time.Hour)
		placed := false
		require.True(t, diesAt(t, bucket, func(op faulty.Op) fate {
			switch {
			case strings.HasSuffix(op.Name, "=made"):
				placed = true
				return life
			case placed:
				return death
			}
			return delay // whichever write comes first
		}, dying["several keys"]))
		_, err = db.Sweep(t.Context(), strictkv.SweepOptions{Horizon: time.Minute})
		require.NoError(t, err)
		condemned, err := c.Inspect(t.Context(), []byte("k1"))
		require.NoError(t, err)
		require.True(t, condemned.Condemned)

		before := versions(t, bucket)
		i, err := c.Inspect(t.Context(), []byte("made"))
		require.NoError(t, err)
		require.NotNil(t, i.Intent)
		assert.False(t, i.Current.Present)
		assert.Equal(t, before, versions(t, bucket))
		_, err = c.Read(t.Context(), []byte("made"))
		require.ErrorIs(t, err, strictkv.ErrNotFound)
		assert.NotEqual(t, before, versions(t, bucket), "a reader lifts it")
	})
}

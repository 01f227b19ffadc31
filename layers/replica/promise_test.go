package replica

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

// alone is a replica of one collection, on a disk in memory.
func alone(
	t *testing.T, d *disk, o Options,
) (db *strictkv.DB, c *strictkv.Collection, r *Replica) {
	t.Helper()
	db, err := strictkv.Open(t.Context(), "db", memory.New())
	require.NoError(t, err)
	c = db.Collection([]byte("c"))
	o.Collections = []*strictkv.Collection{c}
	r, err = openOn(t.Context(), db, d, o)
	require.NoError(t, err)
	return db, c, r
}

// What the handle writes is there at once, and is no proof of anything else: Lag grows until the
// next pass.
func TestHintsDoNotCountForLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, c, r := alone(t, newDisk(), Options{Every: time.Hour})
		require.NoError(t, r.Ready(t.Context()))
		time.Sleep(time.Minute)
		require.NoError(t, c.Write(t.Context(), []byte("k"), []byte("v")))
		i, err := c.ReadItem(t.Context(), []byte("k"))
		require.NoError(t, err)
		require.NoError(t, r.WaitFor(t.Context(), c, []byte("k"), i.Version))
		v, err := r.Read(c, []byte("k"))
		require.NoError(t, err)
		assert.Equal(t, "v", string(v))
		assert.Equal(t, time.Minute, r.Lag())
		require.NoError(t, r.Wait(t.Context()))
		assert.Equal(t, time.Duration(0), r.Lag())
		require.NoError(t, r.Close())
		require.NoError(t, db.Close(t.Context()))
	})
}

// A position behind the end of a log that was cut is known as such, for ever: no later change
// takes its place.
func TestPositionsOfALogThatWasCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		db, c, r := alone(t, d, Options{Every: time.Second})
		write := func(key string) {
			require.NoError(t, c.Write(t.Context(), []byte(key), nil))
			require.NoError(t, r.Wait(t.Context()))
		}
		end := func() (p Position) {
			require.NoError(t, r.View(func(v *View) error { p = v.Position(); return nil }))
			return p
		}
		write("a")
		kept, cut := end(), d.now()
		write("b")
		lost := end()
		require.NoError(t, r.Close())
		d.pairs, d.durable = cut, cut
		r, err := openOn(t.Context(), db, d, Options{
			Collections: []*strictkv.Collection{c}, Every: time.Second,
		})
		require.NoError(t, err)
		write("c")
		write("d")
		for _, err := range r.Changes(t.Context(), lost) {
			require.ErrorIs(t, err, ErrTrimmed)
		}
		told := map[string]bool{}
		for change, err := range r.Changes(t.Context(), kept) {
			require.NoError(t, err)
			if told[string(change.Key)] = true; len(told) == 3 {
				break
			}
		}
		assert.Equal(t, map[string]bool{"b": true, "c": true, "d": true}, told)
		require.NoError(t, r.Close())
		require.NoError(t, db.Close(t.Context()))
	})
}

// full is a disk without room for a while.
type full struct {
	*disk
	until time.Time
}

func (f *full) commit(b *batch, durable bool) error {
	if time.Now().Before(f.until) {
		return ErrDiskFull
	}
	return f.disk.commit(b, durable)
}

// On a full disk what is shown stays as it is, and following goes on once there is room.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &full{disk: newDisk()}
		db, err := strictkv.Open(t.Context(), "db", memory.New())
		require.NoError(t, err)
		c := db.Collection([]byte("c"))
		o, err := Options{
			Collections: []*strictkv.Collection{c}, Every: time.Second,
		}.prepared(db)
		require.NoError(t, err)
		r := newReplica(db, o)
		r.open = func() (storage, error) { return f, nil }
		require.NoError(t, r.start(t.Context(), ""))
		require.NoError(t, r.Ready(t.Context()))
		synctest.Wait()
		f.until = time.Now().Add(time.Minute)
		require.NoError(t, c.Write(t.Context(), []byte("k"), nil))
		time.Sleep(30 * time.Second)
		_, err = r.Read(c, []byte("k"))
		require.ErrorIs(t, err, strictkv.ErrNotFound)
		require.ErrorIs(t, r.Err(), ErrDiskFull)
		assert.Greater(t, r.Lag(), 20*time.Second)
		time.Sleep(time.Minute)
		_, err = r.Read(c, []byte("k"))
		require.NoError(t, err)
		require.NoError(t, r.Err())
		require.NoError(t, r.Close())
		require.NoError(t, db.Close(t.Context()))
	})
}

// Nothing is shown before a whole pass: a key that is not there yet must not look absent.
func TestNothingIsShownBeforeItIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d := newDisk()
		d.left = 2 // the header and the generation: the first pass fails
		db, c, r := alone(t, d, Options{})
		synctest.Wait()
		_, err := r.Read(c, []byte("k"))
		require.ErrorIs(t, err, ErrNotReady)
		require.ErrorIs(t, r.Ready(ctx), context.Canceled)
		for _, err := range r.Scan(c, strictkv.Range{}) {
			require.ErrorIs(t, err, ErrNotReady)
		}
		_, ok := r.Instant()
		assert.False(t, ok)
		require.NoError(t, r.Close())
		require.NoError(t, db.Close(t.Context()))
	})
}

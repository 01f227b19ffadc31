package system_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

// What the handle has written, a scan that may be old sees from then on, also if a View that
// has seen what was before ends later.
func TestWeakScanSeesOwnCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, bucket: memory.New()}
		c := stored(5)(s)
		s.do(c, scanOf(strictkv.Range{}))
		weak := strictkv.MaxStaleness(time.Hour)
		require.NoError(t, c.db.View(c.ctx, func(tx *strictkv.Tx) error {
			_, err := scanAll(tx, c.coll, strictkv.Range{})
			require.NoError(t, write(1)(c))
			return err
		}, weak))
		require.NoError(t, c.db.View(c.ctx, func(tx *strictkv.Tx) error {
			items, err := scanAll(tx, c.coll, strictkv.Range{})
			require.NoError(t, err)
			assert.Equal(t, "written", string(items[0].Value))
			return nil
		}, weak))
	})
}

// A walk goes on behind its last key, however long that is.
func TestItemsGoOnBehindTheLongestKey(t *testing.T) {
	s := &scene{t: t, bucket: memory.New()}
	c := stored(1)(s)
	long := bytes.Repeat([]byte("z"), 512)
	require.NoError(t, c.coll.Write(c.ctx, long, nil))
	for item, err := range c.coll.Items(c.ctx, strictkv.Range{From: append(long, 0)}) {
		require.NoError(t, err)
		assert.Empty(t, item.Key)
	}
	for item, err := range c.coll.Items(c.ctx, strictkv.Range{To: append(long, 0), From: long}) {
		require.NoError(t, err)
		assert.Equal(t, long, item.Key)
	}
}

// A function may return while a goroutine of its is in a scan.
func TestScanLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, bucket: memory.New()}
		c := stored(5)(s)
		for d := range 30 {
			ended := make(chan error, 1)
			require.NoError(t, c.db.View(c.ctx, func(tx *strictkv.Tx) error {
				go func() {
					_, err := scanAll(tx, c.coll, strictkv.Range{})
					ended <- err
				}()
				time.Sleep(time.Duration(d) * latency / 10)
				return nil
			}))
			if err := <-ended; err != nil {
				assert.ErrorIs(t, err, strictkv.ErrTxDone)
			}
		}
	})
}

// A name comes before those that it is the beginning of, but for some that go on with a byte
// up to the slash.
func TestCollectionsOrder(t *testing.T) {
	s := &scene{t: t, bucket: memory.New()}
	c := stored(1)(s)
	top := c.db.Collection([]byte("top"))
	for _, name := range []string{"a", "a!", "a-b", "a/b", "a0", "az"} {
		require.NoError(t, top.Collection([]byte(name)).Write(c.ctx, []byte("k"), nil))
	}
	var names []string
	for name, err := range top.Collections(c.ctx) {
		require.NoError(t, err)
		names = append(names, string(name))
	}
	assert.Equal(t, []string{"a!", "a-b", "a/b", "a", "a0", "az"}, names)
}

package system_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

var scanTries = flag.Int("scan.tries", 25, "how often TestScanUnderWrites scans")

// scanAll collects what a scan yields.
func scanAll(
	tx *strictkv.Tx, c *strictkv.Collection, r strictkv.Range,
) (items []strictkv.Item, err error) {
	for i, err := range tx.Scan(c, r) {
		if err != nil {
			return nil, err
		}
		i.Version, i.State = strictkv.Version{}, strictkv.State{} // the model knows nothing of them
		items = append(items, i)
	}
	return items, nil
}

// sortedMap is the model: what the database must look like.
type sortedMap map[string]string

// scan is what a scan must yield.
func (m sortedMap) scan(r strictkv.Range) []strictkv.Item {
	var items []strictkv.Item
	keys := slices.Sorted(maps.Keys(m))
	if r.Reverse {
		slices.Reverse(keys)
	}
	for _, k := range keys {
		if len(r.From) > 0 && k < string(r.From) || len(r.To) > 0 && k >= string(r.To) ||
			r.Limit > 0 && len(items) == r.Limit {
			continue
		}
		i := strictkv.Item{Key: []byte(k)}
		if !r.KeysOnly {
			i.Value = []byte(m[k])
		}
		items = append(items, i)
	}
	return items
}

// hostileKeys are keys that are hard to keep in order, or to put into names of objects.
func hostileKeys() [][]byte {
	long := bytes.Repeat([]byte{'x'}, 511)
	return [][]byte{
		{0}, {0, 0}, {0, 0xff}, {0xff}, {0xff, 0xff}, {0xff, 0}, []byte("/"), []byte("//"),
		[]byte("a/"), []byte("a/b"), []byte("a"), []byte("a-"), []byte("a."), []byte("a.."),
		[]byte("%"), []byte("%00"), []byte("%2F"), []byte("."), []byte(".."), []byte("../a"),
		[]byte("~"), []byte(".~~"), []byte("{"), []byte("="), []byte("+"), []byte("*"),
		append(slices.Clone(long), 0), append(slices.Clone(long), '/'),
		append(slices.Clone(long), 0xff), bytes.Repeat([]byte{0xff}, 512),
		bytes.Repeat([]byte{0}, 512), bytes.Repeat([]byte("/"), 512),
		bytes.Repeat([]byte("."), 512),
	}
}

// TestScanModel compares scans with a sorted map, within transactions that write ahead of
// and behind the scans, and of another handle.
func TestScanModel(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		bucket := memory.New()
		open := func(opts ...strictkv.Option) *strictkv.DB {
			db, err := strictkv.Open(t.Context(), "model", bucket, opts...)
			require.NoError(t, err)
			return db
		}
		dbs := []*strictkv.DB{open(strictkv.WithInlineMax(8)), open(strictkv.WithCacheSize(0))}
		model := sortedMap{}
		for range 60 {
			x := &modelTx{t: t, r: r, keys: hostileKeys()}
			db := dbs[r.IntN(len(dbs))]
			x.c = db.Collection([]byte("a/")).Collection([]byte("=\xff"))
			other := db.Collection([]byte("a/"))
			aborts := r.IntN(5) == 0
			err := db.Tx(t.Context(), func(tx *strictkv.Tx) error {
				x.tx, x.m = tx, maps.Clone(model)
				for range 1 + r.IntN(4) {
					x.step()
				}
				require.NoError(t, tx.Write(other, []byte("outside"), nil))
				if aborts {
					return tx.Abort()
				}
				return nil
			})
			if aborts {
				require.ErrorIs(t, err, strictkv.ErrAborted)
				continue
			}
			require.NoError(t, err)
			model = x.m
		}
		for _, db := range dbs {
			require.NoError(t, db.Close(t.Context()))
		}
	}
}

// modelTx does the same with a transaction and with the model.
type modelTx struct {
	t    *testing.T
	r    *rand.Rand
	m    sortedMap
	keys [][]byte
	c    *strictkv.Collection
	tx   *strictkv.Tx
}

func (x *modelTx) key() []byte { return x.keys[x.r.IntN(len(x.keys))] }

func (x *modelTx) change() {
	k, v := x.key(), fmt.Sprintf("%0*d", x.r.IntN(20), x.r.IntN(100))
	if x.r.IntN(3) == 0 {
		require.NoError(x.t, x.tx.Delete(x.c, k))
		delete(x.m, string(k))
		return
	}
	require.NoError(x.t, x.tx.Write(x.c, k, []byte(v)))
	x.m[string(k)] = v
}

// step changes keys, or scans and does so within the loop: what is ahead of it counts.
func (x *modelTx) step() {
	for range x.r.IntN(8) {
		x.change()
	}
	r := strictkv.Range{Reverse: x.r.IntN(2) == 0, KeysOnly: x.r.IntN(4) == 0}
	if x.r.IntN(2) == 0 {
		r.From = x.key()
	}
	if x.r.IntN(2) == 0 {
		r.To = x.key()
	}
	if x.r.IntN(3) == 0 {
		r.Limit = 1 + x.r.IntN(8)
	}
	items, err := scanAll(x.tx, x.c, r)
	require.NoError(x.t, err)
	require.Equal(x.t, x.m.scan(r), items, "%+v", r)
	r.Limit = 0
	rest := x.m.scan(r)
	for i, err := range x.tx.Scan(x.c, r) {
		require.NoError(x.t, err)
		require.NotEmpty(x.t, rest)
		i.Version, i.State = strictkv.Version{}, strictkv.State{}
		require.Equal(x.t, rest[0], i)
		x.change()
		rest = slices.DeleteFunc(x.m.scan(r), func(y strictkv.Item) bool {
			return bytes.Equal(y.Key, i.Key) || bytes.Compare(y.Key, i.Key) < 0 != r.Reverse
		})
		if x.r.IntN(12) == 0 {
			return
		}
	}
	require.Empty(x.t, rest)
}

// rounds is what a call cost: its time in latencies, and requests.
func (s *scene) rounds(c *client, call func(c *client) error) [4]int {
	before, began := c.sim.Counts(), time.Now()
	require.NoError(s.t, call(c))
	took, now := time.Since(began), c.sim.Counts().Sub(before)
	time.Sleep(time.Second)
	return [4]int{int(took / latency), now.Lists, now.Gets, now.Puts}
}

// scanOf is a View that scans all of the collection.
func scanOf(r strictkv.Range, opts ...strictkv.ViewOption) func(c *client) error {
	return func(c *client) error {
		return c.db.View(c.ctx, func(tx *strictkv.Tx) error {
			_, err := scanAll(tx, c.coll, r)
			return err
		}, opts...)
	}
}

// TestScanRounds pins what scans cost. The last round, with a list request, validates.
func TestScanRounds(t *testing.T) {
	all, keys := strictkv.Range{}, strictkv.Range{KeysOnly: true}
	back, some := strictkv.Range{Reverse: true}, strictkv.Range{Limit: 10}
	weak := strictkv.MaxStaleness(time.Minute)
	seen := func(n int, r strictkv.Range) func(s *scene) *client {
		return func(s *scene) *client {
			c := stored(n)(s)
			s.do(c, scanOf(r))
			return c
		}
	}
	sum := func(c *client) error {
		return c.db.Tx(c.ctx, func(tx *strictkv.Tx) error {
			items, err := scanAll(tx, c.coll, all)
			if err != nil {
				return err
			}
			n := fmt.Append(nil, len(items))
			return tx.Write(c.db.Collection([]byte("sums")), []byte("n"), n)
		})
	}
	changed := func(s *scene) *client {
		c := seen(200, all)(s)
		s.do(s.client(), write(1))
		return c
	}
	for _, x := range []struct {
		kind    string
		prepare func(s *scene) *client
		call    func(c *client) error
		want    [4]int // rounds, lists, gets, puts
	}{
		{"cold, with values", stored(200), scanOf(all), [4]int{3, 2, 200, 0}},
		{"cold, keys only", stored(200), scanOf(keys), [4]int{2, 2, 0, 0}},
		{"cold, in reverse", stored(200), scanOf(back), [4]int{3, 2, 200, 0}},
		{"cold, 10 of 200", stored(200), scanOf(some), [4]int{3, 2, 10, 0}},
		{"warm", seen(200, all), scanOf(all), [4]int{2, 2, 0, 0}},
		{"warm, one is new", changed, scanOf(all), [4]int{3, 2, 1, 0}},
		{"empty", empty, scanOf(all), [4]int{2, 2, 0, 0}},
		{"weak, cold", stored(200), scanOf(all, weak), [4]int{3, 2, 200, 0}},
		{"weak, warm", seen(200, all), scanOf(all, weak), [4]int{0, 0, 0, 0}},
		{"weak, of a part", seen(200, all),
			scanOf(strictkv.Range{From: keyAt(7), Limit: 3, Reverse: true}, weak), [4]int{}},
		{"weak, one has changed elsewhere", changed, scanOf(all, weak), [4]int{}},
		{"cold, and write another key", stored(200), sum, [4]int{6, 2, 201, 2}},
		{"warm, and write another key", seen(200, all), sum, [4]int{5, 2, 1, 2}},
	} {
		t.Run(x.kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scene{t: t, bucket: memory.New()}
				assert.Equal(t, x.want, s.rounds(x.prepare(s), x.call))
			})
		})
	}
}

// TestScanConflicts says which changes of others make a transaction run again.
func TestScanConflicts(t *testing.T) {
	from := func(i, j int) strictkv.Range { return strictkv.Range{From: keyAt(i), To: keyAt(j)} }
	back := func(r strictkv.Range) strictkv.Range { r.Reverse = true; return r }
	limit := func(r strictkv.Range, n int) strictkv.Range { r.Limit = n; return r }
	put := func(i int) func(c *client) error {
		return func(c *client) error { return c.coll.Write(c.ctx, keyAt(i), []byte("other")) }
	}
	drop := func(i int) func(c *client) error {
		return func(c *client) error { return c.coll.Delete(c.ctx, keyAt(i)) }
	}
	insert := func(key string) func(c *client) error {
		return func(c *client) error { return c.coll.Insert(c.ctx, []byte(key), nil) }
	}
	for _, x := range []struct {
		name  string
		r     strictkv.Range
		leave int // the loop, after so many
		do    func(c *client) error
		again bool
	}{
		{"a value changed", from(2, 8), 0, put(5), true},
		{"the first changed", from(2, 8), 0, put(2), true},
		{"behind the range", from(2, 8), 0, put(8), false},
		{"before the range", from(2, 8), 0, put(1), false},
		{"deleted", from(2, 8), 0, drop(7), true},
		{"created", from(2, 8), 0, insert("key-004+"), true},
		{"created at the end", from(2, 8), 0, insert("key-007+"), true},
		{"created at the beginning", from(2, 8), 0, insert("key-002\x00"), true},
		{"created beyond", from(2, 8), 0, insert("key-008\x00"), false},
		{"created at the open end", strictkv.Range{}, 0, insert("z"), true},
		{"left, changed behind", from(2, 8), 3, put(5), false},
		{"left, the last changed", from(2, 8), 3, put(4), true},
		{"left, created behind", from(2, 8), 3, insert("key-004\x00"), false},
		{"left, created before", from(2, 8), 3, insert("key-003\x00"), true},
		{"limit, changed behind", limit(from(2, 8), 3), 0, put(5), false},
		{"limit, the last changed", limit(from(2, 8), 3), 0, drop(4), true},
		{"limit, created before", limit(from(2, 8), 3), 0, insert("key-003+"), true},
		{"limit not reached, created", limit(from(2, 8), 30), 0, insert("key-007+"), true},
		{"reverse, left, changed behind", back(from(2, 8)), 3, put(4), false},
		{"reverse, left, the last changed", back(from(2, 8)), 3, put(5), true},
		{"reverse, left, created before", back(from(2, 8)), 3, insert("key-005+"), true},
		{"reverse, left, created behind", back(from(2, 8)), 3, insert("key-004+"), false},
		{"reverse, limit, the end", back(limit(from(2, 8), 1)), 0, insert("key-007+"), true},
		{"reverse, limit, behind", back(limit(from(2, 8), 1)), 0, put(6), false},
		{"keys only, deleted", strictkv.Range{KeysOnly: true}, 0, drop(3), true},
		{"empty range", from(8, 2), 0, put(5), false},
	} {
		for _, writes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, writes %v", x.name, writes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &scene{t: t, bucket: memory.New()}
					runs := s.scanWhile(x.r, x.leave, writes, x.do)
					assert.Equal(t, x.again, runs == 2, "%d runs", runs)
				})
			})
		}
	}
}

// scanWhile scans, and another client does something before the commit. It returns how
// often the function has run.
func (s *scene) scanWhile(
	r strictkv.Range, leave int, writes bool, do func(c *client) error,
) (runs int) {
	c, other := stored(10)(s), s.client()
	require.NoError(s.t, c.db.Tx(c.ctx, func(tx *strictkv.Tx) error {
		runs++
		n := 0
		for _, err := range tx.Scan(c.coll, r) {
			require.NoError(s.t, err)
			if n++; n == leave {
				break
			}
		}
		if runs == 1 {
			require.NoError(s.t, do(other))
		}
		if !writes {
			return nil
		}
		return tx.Write(c.db.Collection([]byte("sums")), []byte("n"), nil)
	}))
	return runs
}

// The run that follows a conflict needs requests only for what has changed.
func TestScanAgainIsCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, bucket: memory.New()}
		c, other := stored(500)(s), s.client()
		var began [2]time.Time
		run, before := 0, c.sim.Counts()
		require.NoError(t, c.db.View(c.ctx, func(tx *strictkv.Tx) error {
			began[run] = time.Now()
			run++
			items, err := scanAll(tx, c.coll, strictkv.Range{Reverse: true})
			if run == 1 {
				require.NoError(t, write(1)(other))
			} else {
				assert.Equal(t, "written", string(items[499].Value))
				assert.Equal(t, began[1], time.Now(), "no round")
			}
			return err
		}))
		assert.Equal(t, 2, run)
		now := c.sim.Counts().Sub(before)
		assert.Equal(t, []int{3, 501}, []int{now.Lists, now.Gets}, "no further validation")
		// Validation had found an instant, of which the handle knows all.
		weak := scanOf(strictkv.Range{}, strictkv.MaxStaleness(time.Hour))
		assert.Equal(t, [4]int{}, s.rounds(c, weak))
	})
}

// TestScanUnderWrites scans 1000 keys while 8 writers together update one key each second.
func TestScanUnderWrites(t *testing.T) {
	most, within := 0, 0
	for seed := range *scanTries {
		synctest.Test(t, func(t *testing.T) {
			s := newBusy(t, uint64(seed), 1000, 8*time.Second)
			attempts := 0
			err := s.reader.db.Tx(s.ctx, func(tx *strictkv.Tx) error {
				attempts++
				items, err := scanAll(tx, s.reader.coll, strictkv.Range{})
				if err != nil {
					return err
				}
				return tx.Write(s.sums, []byte("n"), fmt.Append(nil, len(items)))
			})
			s.end()
			require.NoError(t, err)
			if most = max(most, attempts); attempts <= 3 {
				within++
			}
		})
	}
	t.Logf("%d of %d within 3 attempts, at most %d", within, *scanTries, most)
	assert.GreaterOrEqual(t, 100*within, 99**scanTries)
}

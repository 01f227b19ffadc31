package system_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/backend/folder"
	"github.com/strictkv/strictkv/backend/gcs"
	"github.com/strictkv/strictkv/backend/gcs/gcstest"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/raced"
	"github.com/strictkv/strictkv/internal/txid"
)

// TestSweepIsAsFastAsItsRequests sweeps 50 000 objects in virtual time.
func TestSweepIsAsFastAsItsRequests(t *testing.T) {
	if raced.Enabled() {
		t.Skip("other tests sweep fewer objects, and race: run it without -race")
	}
	const objects, page = 50_000, 1000
	profile := simulated.GCS()
	wave := objects / strictkv.DefaultConcurrency * profile.Put.Mean
	for _, x := range []struct {
		name    string
		horizon time.Duration
		object  func(i int) (name string, data []byte)
		fenced  int
	}{
		{"tombstones, no horizon", -1, tombstone(false), 0},
		{"condemned tombstones", 0, tombstone(true), 0},
		{"values, no horizon", -1, orphan, 0},
		{"values", 0, orphan, objects}, // each of a cell of its own
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memory.New()
				for i := range objects {
					name, data := x.object(i)
					_, err := mem.Put(t.Context(), "db/"+name, data, backend.IfAbsent())
					require.NoError(t, err)
				}
				time.Sleep(strictkv.DefaultHorizon + time.Second)
				db, err := strictkv.Open(t.Context(), "db", simulated.New(mem, nil, profile))
				require.NoError(t, err)
				begun := time.Now()
				r, err := db.Sweep(t.Context(), strictkv.SweepOptions{Horizon: x.horizon})
				took := time.Since(begun)
				require.NoError(t, err)
				assert.Equal(t, int64(objects), r.Tombstones+r.Values)
				assert.Equal(t, 1+x.fenced, mem.Len(), "meta is left, and fences")
				requests := objects/page*profile.List.Mean + wave
				if x.fenced > 0 {
					requests += wave
				}
				t.Logf("%v, %.2f times its requests", took, float64(took)/float64(requests))
				assert.LessOrEqual(t, float64(took), 1.5*float64(requests))
				require.NoError(t, db.Close(t.Context()))
			})
		})
	}
}

// tombstone makes cells of deleted keys.
func tombstone(condemned bool) func(i int) (string, []byte) {
	return func(i int) (string, []byte) {
		tx := txid.ID{1, byte(i), byte(i >> 8)}
		c := &cell.Cell{Writer: tx, Recent: []txid.ID{tx}}
		if condemned {
			c = cell.Condemn(c)
		}
		return fmt.Sprintf("+c/=%06d", i), cell.Encode(c, uint64(i))
	}
}

// orphan makes external values that no cell refers to.
func orphan(i int) (string, []byte) {
	id := txid.ID{1, byte(i), byte(i >> 8)}.String()
	return keyspace.Value(fmt.Sprintf("+c/=%06d", i), id), []byte("value")
}

// TestSweepWithoutHorizon leaves nothing but live data.
func TestSweepWithoutHorizon(t *testing.T) {
	v := newVault(t)
	for i := range 50 {
		v.write(fmt.Sprint(i), large(i))
		v.write(fmt.Sprint(i+50), []byte("x"))
	}
	for i := range 20 {
		require.NoError(t, v.coll.Delete(v.ctx, fmt.Append(nil, 5*i)))
	}
	name, data := orphan(7)
	_, err := v.mem.Put(v.ctx, "db/"+name, data, backend.IfAbsent())
	require.NoError(t, err)
	require.NoError(t, v.db.Close(v.ctx)) // values of deleted keys are removed

	v.open(v.mem)
	r, err := v.db.Sweep(v.ctx, strictkv.SweepOptions{Horizon: -1})
	require.NoError(t, err)
	assert.Equal(t, strictkv.SweepReport{
		Objects: 142, Bytes: r.Bytes, Tombstones: 20, Values: 1, ValueBytes: int64(len(data)),
	}, r)
	for i := range 100 {
		got, err := v.coll.Read(v.ctx, fmt.Append(nil, i))
		switch {
		case i%5 == 0:
			assert.ErrorIs(t, err, strictkv.ErrNotFound)
		case i < 50:
			assert.Equal(t, large(i), got)
		default:
			assert.Equal(t, []byte("x"), got)
		}
	}
	cells, values := v.objects()
	assert.Len(t, cells, 80)
	assert.Len(t, values, 40)
}

// TestSweepKeepsToItsHorizon: by default a deleted key leaves after more than two days.
func TestSweepKeepsToItsHorizon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		v.write("k", large(1))
		require.NoError(t, v.coll.Delete(v.ctx, []byte("k")))
		v.write("alive", large(2))
		var condemned, removed, kept int64
		for range 8 {
			r, err := v.db.Sweep(v.ctx, strictkv.SweepOptions{})
			require.NoError(t, err)
			condemned += r.Condemned
			if removed += r.Tombstones; removed == 0 {
				kept++
			}
			time.Sleep(12*time.Hour + time.Minute)
		}
		assert.Equal(t, []int64{1, 1, 4}, []int64{condemned, removed, kept})
		cells, values := v.objects()
		assert.Equal(t, []string{"alive"}, cells)
		assert.Len(t, values, 1)
	})
}

// TestSweptKeysCanBeUsed uses keys with a handle that remembers their tombstones.
func TestSweptKeysCanBeUsed(t *testing.T) {
	for _, horizon := range []time.Duration{-1, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			v := newVault(t)
			for i := range 4 {
				v.write(fmt.Sprint(i), large(i))
				require.NoError(t, v.coll.Delete(v.ctx, fmt.Append(nil, i)))
			}
			other, err := strictkv.Open(v.ctx, "db", v.mem)
			require.NoError(t, err)
			for range 2 {
				time.Sleep(time.Hour + time.Second)
				_, err := other.Sweep(v.ctx, strictkv.SweepOptions{Horizon: horizon})
				require.NoError(t, err)
			}
			require.NoError(t, other.Close(v.ctx))
			assert.Equal(t, 1, v.mem.Len(), "meta is left")

			_, err = v.coll.Read(v.ctx, []byte("0"))
			assert.ErrorIs(t, err, strictkv.ErrNotFound)
			v.write("1", []byte("x"))
			require.NoError(t, v.coll.Insert(v.ctx, []byte("2"), []byte("x")))
			require.NoError(t, v.coll.Delete(v.ctx, []byte("3")))
			require.NoError(t, v.db.Tx(v.ctx, func(tx *strictkv.Tx) error {
				for i := range 4 {
					if err := tx.Write(v.coll, fmt.Append(nil, i), large(i+4)); err != nil {
						return err
					}
				}
				return nil
			}))
			cells, values := v.objects()
			assert.Len(t, cells, 4)
			assert.Len(t, values, 4)
		})
	}
}

func TestSweepOfACollection(t *testing.T) {
	v := newVault(t)
	inner := v.coll.Collection([]byte("inner"))
	for _, c := range []*strictkv.Collection{v.coll, inner, v.db.Collection([]byte("cc"))} {
		require.NoError(t, c.Write(v.ctx, []byte("k"), nil))
		require.NoError(t, c.Delete(v.ctx, []byte("k")))
	}
	for _, x := range []struct {
		o             strictkv.SweepOptions
		removed, left int
	}{
		{strictkv.SweepOptions{Horizon: -1, Collection: v.coll, DryRun: true}, 2, 4},
		{strictkv.SweepOptions{Horizon: -1, Collection: inner}, 1, 3},
		{strictkv.SweepOptions{Horizon: -1, Collection: v.coll}, 1, 2},
	} {
		r, err := v.db.Sweep(v.ctx, x.o)
		require.NoError(t, err)
		assert.EqualValues(t, x.removed, r.Tombstones)
		assert.Equal(t, x.left, v.mem.Len())
	}
}

func TestSweepOfWhatIsNotAllowed(t *testing.T) {
	v := newVault(t)
	other := newVault(t)
	for _, x := range []struct {
		c    *strictkv.Collection
		want error
	}{
		{other.coll, strictkv.ErrInvalid},
		{v.db.Collection(nil), strictkv.ErrInvalidKey},
	} {
		_, err := v.db.Sweep(v.ctx, strictkv.SweepOptions{Collection: x.c})
		assert.ErrorIs(t, err, x.want)
		_, err = v.db.Check(v.ctx, strictkv.CheckOptions{Collection: x.c})
		assert.ErrorIs(t, err, x.want)
	}
	ctx, cancel := context.WithCancel(v.ctx)
	cancel()
	_, err := v.db.Sweep(ctx, strictkv.SweepOptions{})
	assert.ErrorIs(t, err, context.Canceled)
	require.NoError(t, v.db.Close(v.ctx))
	_, err = v.db.Sweep(v.ctx, strictkv.SweepOptions{})
	assert.ErrorIs(t, err, strictkv.ErrClosed)
}

func TestSweepTellsItsProgress(t *testing.T) {
	v := newVault(t)
	for i := range 2500 {
		name, data := tombstone(false)(i)
		_, err := v.mem.Put(v.ctx, "db/"+name, data, backend.IfAbsent())
		require.NoError(t, err)
	}
	var seen []strictkv.SweepReport
	r, err := v.db.Sweep(v.ctx, strictkv.SweepOptions{
		Horizon: -1, Concurrency: 3,
		Progress: func(r strictkv.SweepReport) { seen = append(seen, r) },
	})
	require.NoError(t, err)
	require.Len(t, seen, 5, "2 passes of 2 full pages, and the end")
	assert.Equal(t, r, seen[4])
	assert.EqualValues(t, 2500, r.Tombstones)
	assert.EqualValues(t, 1000, seen[2].Objects)
}

// TestSweepWhileOthersWork lets clients move money between accounts while sweeps run with
// a short horizon, and clients die. An empty account is a deleted key, and some values are
// external.
func TestSweepWhileOthersWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &sweptBank{t: t, mem: memory.New(), until: time.Now().Add(20 * time.Minute)}
		db := b.open(b.mem)
		require.NoError(t, db.Collection([]byte("c")).Write(ctx, keyOf(0), balance(sweptTotal)))
		require.NoError(t, db.Close(ctx))
		var wg sync.WaitGroup
		for n := range 4 {
			wg.Go(func() {
				for life := uint64(0); time.Now().Before(b.until); life++ {
					b.client(rand.New(rand.NewPCG(uint64(n), life)))
				}
			})
		}
		for range 2 {
			wg.Go(b.sweep)
		}
		wg.Wait()
		db = b.open(b.mem)
		assert.EqualValues(t, sweptTotal, b.total(db))
		checked(t, db)
		require.NoError(t, db.Close(ctx))
		t.Logf("%d moved; %+v", b.moved.Load(), b.swept)
		assert.Greater(t, b.moved.Load(), int64(1000))
		for _, n := range []int64{
			b.swept.Condemned, b.swept.Tombstones, b.swept.Values,
		} {
			assert.Positive(t, n, "there was nothing to sweep")
		}
	})
}

// The clients use a few accounts at a time, and leave some behind every now and then.
const (
	sweptTotal, sweptAccounts = 1000, 40
	sweptUsed, sweptUse       = 4, 20 * time.Second
)

type sweptBank struct {
	t     *testing.T
	mem   *memory.Backend
	until time.Time
	moved atomic.Int64

	mu    sync.Mutex // guards swept
	swept strictkv.SweepReport
}

func (b *sweptBank) open(to backend.Backend) *strictkv.DB {
	db, err := strictkv.Open(ctx, "db", to, strictkv.WithInlineMax(small))
	require.NoError(b.t, err)
	return db
}

// balance is the value of an account: a large one if the balance is odd.
func balance(n int64) []byte { return append(bytesOf(n), make([]byte, 64*(n%2))...) }

func (b *sweptBank) read(tx *strictkv.Tx, c *strictkv.Collection, i int) (int64, error) {
	v, err := tx.Read(c, keyOf(i))
	if errors.Is(err, strictkv.ErrNotFound) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return number(v[:8]), nil
}

func (b *sweptBank) total(db *strictkv.DB) int64 {
	sum, err := strictkv.DoView(ctx, db, func(tx *strictkv.Tx) (sum int64, err error) {
		for i := range sweptAccounts {
			n, err := b.read(tx, db.Collection([]byte("c")), i)
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	})
	require.NoError(b.t, err)
	return sum
}

// client moves money until it dies, in the middle of something.
func (b *sweptBank) client(random *rand.Rand) {
	wire := faulty.New(simulated.New(b.mem, nil, simulated.Constant(5*time.Millisecond)),
		faulty.Options{
			Seed: random.Uint64(), LoseRequest: 0.01, LoseAnswer: 0.01, Duplicate: 0.01, Late: 0.01,
			DelayMax: time.Second,
		})
	age := min(time.Duration(random.Int64N(int64(10*time.Second))), time.Until(b.until))
	life, die := context.WithTimeout(ctx, age)
	defer die()
	db, err := strictkv.Open(life, "db", wire, strictkv.WithInlineMax(small))
	if err != nil {
		return
	}
	stopped := context.AfterFunc(life, wire.Crash)
	for life.Err() == nil {
		if b.move(life, db, random) == nil {
			b.moved.Add(1)
		}
		time.Sleep(time.Duration(random.Int64N(int64(300 * time.Millisecond))))
	}
	_ = db.Close(life)
	stopped()
}

func (b *sweptBank) move(life context.Context, db *strictkv.DB, random *rand.Rand) error {
	c := db.Collection([]byte("c"))
	first := int(time.Until(b.until) / sweptUse)
	from := (first + random.IntN(sweptUsed)) % sweptAccounts
	to := (first + random.IntN(sweptUsed)) % sweptAccounts
	if random.IntN(5) == 0 {
		to = random.IntN(sweptAccounts)
	}
	return db.Tx(life, func(tx *strictkv.Tx) error {
		n, err := b.read(tx, c, from)
		if err != nil || n == 0 || from == to {
			return err
		}
		m, err := b.read(tx, c, to)
		if err != nil {
			return err
		}
		take := 1 + random.Int64N(n)
		if err := tx.Write(c, keyOf(to), balance(m+take)); err != nil || n > take {
			return errors.Join(err, tx.Write(c, keyOf(from), balance(n-take)))
		}
		return tx.Delete(c, keyOf(from))
	})
}

// sweep sweeps again and again, and looks at the whole in between.
func (b *sweptBank) sweep() {
	db := b.open(simulated.New(b.mem, nil, simulated.Constant(5*time.Millisecond)))
	for time.Now().Before(b.until) {
		r, err := db.Sweep(ctx, strictkv.SweepOptions{Horizon: 20 * time.Second})
		assert.NoError(b.t, err)
		b.mu.Lock()
		b.swept.Settled += r.Settled
		b.swept.Condemned += r.Condemned
		b.swept.Tombstones += r.Tombstones
		b.swept.Values += r.Values
		b.mu.Unlock()
		assert.EqualValues(b.t, sweptTotal, b.total(db))
		time.Sleep(3 * time.Second)
	}
	require.NoError(b.t, db.Close(ctx))
}

var litterTransactions = flag.Int("litter", 0, "how many random transactions "+
	"TestNothingButLiveDataIsLeft runs on each store; 0 is 10 000 in memory, and fewer elsewhere")

// TestNothingButLiveDataIsLeft runs random transactions, with many crashes among them, and
// sweeps once without a horizon. Then the bucket holds meta, the cells of the keys that
// have a value, the external values among those, and nothing else.
func TestNothingButLiveDataIsLeft(t *testing.T) {
	mem, dir, server := memory.New(), t.TempDir(), gcstest.New(t)
	for _, x := range []struct {
		name               string
		store              backend.Backend
		transactions, each int
	}{
		{"memory", mem, 10_000, 85},
		{"folder", folder.New(dir, folder.NoSync()), 600, 15},
		{"gcs", gcs.New(server.Bucket(t)), 300, 15},
	} {
		t.Run(x.name, func(t *testing.T) {
			requests := &outliving{Backend: x.store}
			l := &litter{t: t, bucket: requests, left: x.transactions, each: x.each}
			if *litterTransactions > 0 {
				l.left, l.each = *litterTransactions, 85
			}
			if raced.Enabled() { // which finds in a few what it finds in many
				l.left /= 5
			}
			for life := uint64(0); l.left > 0; life++ {
				l.live(life)
			}
			for _, wire := range l.wires {
				require.NoError(t, wire.Wait(ctx))
			}
			requests.calls.Wait()
			l.sweep()
		})
	}
}

// The clients of one process, and the keys of all.
const litterClients, litterKeys = 8, 60

// outliving is a store whose writes go on when their caller has left, as real ones do. It
// counts them, so that the end of the last can be waited for.
type outliving struct {
	backend.Backend
	calls sync.WaitGroup
}

func (o *outliving) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	o.calls.Add(1)
	defer o.calls.Done()
	return o.Backend.Put(context.WithoutCancel(ctx), name, data, c)
}

func (o *outliving) Delete(ctx context.Context, name string, v backend.Version) error {
	o.calls.Add(1)
	defer o.calls.Done()
	return o.Backend.Delete(context.WithoutCancel(ctx), name, v)
}

type litter struct {
	t          *testing.T
	bucket     backend.Backend
	left, each int // transactions: all, and of one process at least
	wires      []*faulty.Backend
}

func (l *litter) open(to backend.Backend) *strictkv.DB {
	db, err := strictkv.Open(ctx, "db", to, strictkv.WithInlineMax(small),
		strictkv.WithPatience(10*time.Millisecond))
	require.NoError(l.t, err)
	return db
}

// live is the life of one process: it dies at a random request after its transactions.
func (l *litter) live(seed uint64) {
	life, die := context.WithCancel(ctx)
	defer die()
	var requests, last atomic.Int64
	last.Store(math.MaxInt64)
	var wire *faulty.Backend
	wire = faulty.New(l.bucket, faulty.Options{
		Seed: seed, LoseAnswer: 0.002, LoseRequest: 0.002, Late: 0.005, Duplicate: 0.005,
		DelayMax: 2 * time.Millisecond,
		Before: func(context.Context, faulty.Op) error {
			if requests.Add(1) > last.Load() {
				wire.Crash()
				die()
			}
			return nil
		},
	})
	l.wires = append(l.wires, wire)
	db := l.open(wire)
	var ended atomic.Int64
	var wg sync.WaitGroup
	for n := range litterClients {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		wg.Go(func() {
			for life.Err() == nil {
				l.transaction(life, db, random)
				if ended.Add(1) == int64(l.each) {
					last.Store(requests.Load() + random.Int64N(50))
				}
			}
		})
	}
	wg.Wait()
	_ = db.Close(life)
	l.left -= int(ended.Load())
}

// transaction does anything to a few keys, and ends in any way.
func (l *litter) transaction(life context.Context, db *strictkv.DB, random *rand.Rand) {
	if random.IntN(10) == 0 {
		age := time.Duration(random.Int64N(int64(time.Millisecond)))
		ctx, cancel := context.WithTimeout(life, age)
		defer cancel()
		life = ctx
	}
	end := random.IntN(10)
	err := db.Tx(life, func(tx *strictkv.Tx) error {
		n := 1 + random.IntN(4)
		if random.IntN(20) == 0 {
			n = 12
		}
		for range n {
			c := db.Collection([]byte{'a' + byte(random.IntN(2))})
			if err := step(tx, c, keyOf(random.IntN(litterKeys/2)), random); err != nil {
				return err
			}
		}
		switch end {
		case 0:
			return errBoom
		case 1:
			return tx.Abort()
		}
		return nil
	})
	for _, may := range []error{
		errBoom, strictkv.ErrAborted, strictkv.ErrInDoubt, strictkv.ErrUnavailable,
	} {
		if errors.Is(err, may) {
			return
		}
	}
	if life.Err() == nil {
		assert.NoError(l.t, err)
	}
}

// step does anything to a key.
func step(tx *strictkv.Tx, c *strictkv.Collection, key []byte, random *rand.Rand) error {
	var err error
	switch random.IntN(6) {
	case 0:
		err = tx.Delete(c, key)
	case 1:
		_, err = tx.Read(c, key)
	case 2:
		err = tx.Insert(c, key, large(random.IntN(1000)))
	case 3:
		err = tx.Write(c, key, []byte("small"))
	default:
		err = tx.Write(c, key, large(random.IntN(1000)))
	}
	if errors.Is(err, strictkv.ErrNotFound) || errors.Is(err, strictkv.ErrExists) {
		return nil
	}
	return err
}

// sweep sweeps, and counts what is left.
func (l *litter) sweep() {
	db := l.open(l.bucket)
	before := l.values(db)
	r, err := db.Sweep(ctx, strictkv.SweepOptions{Horizon: -1})
	require.NoError(l.t, err)
	l.t.Logf("%d keys are live after %d crashes; %+v", len(before), len(l.wires), r)
	assert.Equal(l.t, before, l.values(db), "the sweep has changed a value")
	require.NoError(l.t, db.Close(ctx))

	want := []string{"db/meta"}
	objects := l.objects()
	for name, value := range before {
		want = append(want, name)
		if len(value) > small {
			o, err := l.bucket.Get(ctx, name, "")
			require.NoError(l.t, err)
			c, err := cell.Decode(o.Data)
			require.NoError(l.t, err)
			assert.Nil(l.t, c.Intent)
			value := keyspace.Value(strings.TrimPrefix(name, "db/"), c.Value.Ref[:32])
			want = append(want, "db/"+value)
		}
	}
	assert.ElementsMatch(l.t, want, objects)
	assert.Greater(l.t, len(before), litterKeys/3)
}

// values are the values of all keys that have one, by the names of their cells.
func (l *litter) values(db *strictkv.DB) map[string]string {
	all := map[string]string{}
	for _, name := range []string{"a", "b"} {
		for i := range litterKeys / 2 {
			v, err := db.Collection([]byte(name)).Read(ctx, keyOf(i))
			if !errors.Is(err, strictkv.ErrNotFound) {
				require.NoError(l.t, err)
				all[fmt.Sprintf("db/+%s/=%s", name, keyOf(i))] = string(v)
			}
		}
	}
	return all
}

// objects are the names of all objects in the bucket.
func (l *litter) objects() (names []string) {
	page, err := l.bucket.List(ctx, backend.ListOptions{})
	require.NoError(l.t, err)
	require.False(l.t, page.More)
	for _, o := range page.Objects {
		names = append(names, o.Name)
	}
	return names
}

package system_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
)

// latency is what each request takes, in virtual time.
const latency = 50 * time.Millisecond

// cost is what a call costs.
type cost struct {
	// rounds is how long the call took, in latencies.
	rounds int
	// gets and puts are the requests before it returned, notModified those of the
	// gets that were answered so.
	gets, notModified, puts int
	// later is the number of puts after it returned: the intents being resolved.
	later int
}

// charge is a row of the table of costs.
type charge struct {
	kind    string
	prepare func(s *scene) *client // returns the one whose call counts
	call    func(c *client) error
	want    cost
}

// TestRoundTrips pins what each kind of transaction costs, and prints it.
func TestRoundTrips(t *testing.T) {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight|tabwriter.Debug)
	fmt.Fprintln(w, "rounds\tGETs\tnot modified\tPUTs\tPUTs later\t kind")
	for _, x := range charges() {
		t.Run(x.kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scene{t: t, bucket: memory.New()}
				got := s.measure(x.prepare(s), x.call)
				assert.Equal(t, x.want, got)
				fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t %s\n", got.rounds, got.gets,
					got.notModified, got.puts, got.later, x.kind)
			})
		})
	}
	require.NoError(t, w.Flush())
	t.Logf("cost by kind of transaction:\n%s", table.String())
}

func charges() []charge {
	return slices.Concat(openings(), reads(), weakReads(), meetings(), writes(), inserts(),
		larges(), updates(), expiries(), chains(), validations())
}

// documented are the rows of docs/costs.md, with the kind that each is about and the number of
// keys that n stands for; or without a kind, if another test pins them.
var documented = []struct {
	row, kind string
	n         float64
}{
	{"open a database", "open", 0},
	{"read a key, cold or warm, present or absent", "read, cold", 0},
	{"read a key, cold or warm, present or absent", "read of an absent key, warm", 0},
	{"weak read, known to be fresh enough", "weak read, fresh", 0},
	{"view n keys, by `ReadMulti`, cold", "view of 10 keys, cold", 10},
	{"view n keys, warm", "view of 10 keys, warm", 10},
	{"`Insert` of a new key", "insert", 0},
	{"`Insert` of a key that was deleted, cold", "insert over a tombstone, cold", 0},
	{"write or delete a key without reading it, cold", "blind write, cold", 0},
	{"write or delete a key without reading it, cold", "delete, cold", 0},
	{"the same, warm", "blind write, warm", 0},
	{"read and write a key, cold", "update of 1 key, cold", 0},
	{"the same, warm", "update of 1 key, warm", 0},
	{"the same, stale", "update of 1 key, stale", 0},
	{"read and write n keys, cold", "update of 10 keys, cold", 10},
	{"the same, warm", "update of 10 keys, warm", 10},
	{"the same n keys over and over, back to back", "", 0},
	{"`Insert` n new keys", "insert of 100 keys", 100},
	{"`Insert` over a value that has expired, warm", "insert over what is due, warm", 0},
	{"read and write a key that expires within 15 minutes, warm",
		"update of a key that expires soon, warm", 0},
	{"`Insert` of a value above 1 MiB", "insert of a large value", 0},
	{"write it, warm", "write of a large value, warm", 0},
	{"scan n keys with values, cold", "", 0},
	{"the same, warm; or keys only", "", 0},
	{"the same, weak, scanned lately enough", "", 0},
	{"scan n keys and write another, warm", "", 0},
	{"write 1 key, read 5 others, warm", "write 1, read 5, warm", 0},
	{"the same with `Lock` of the 5", "write 1, lock 5, warm", 0},
}

// TestCostTable compares the table of docs/costs.md with what TestRoundTrips wants.
func TestCostTable(t *testing.T) {
	rows := documentedRows(t)
	next := 0 // of rows
	for i, d := range documented {
		if i == 0 || d.row != documented[i-1].row {
			require.Less(t, next, len(rows), "no row %q in its place", d.row)
			require.Equal(t, d.row, rows[next][0], "rows in their order")
			next++
		}
		if d.kind == "" {
			continue
		}
		all := charges()
		at := slices.IndexFunc(all, func(x charge) bool { return x.kind == d.kind })
		require.GreaterOrEqual(t, at, 0, "a kind of transaction: %s", d.kind)
		c := all[at].want
		const read, write = 0.4, 5 // dollars for a million
		for column, want := range []float64{float64(c.rounds), float64(c.gets),
			float64(c.puts), float64(c.later),
			read*float64(c.gets) + write*float64(c.puts+c.later)} {
			got := evaluate(t, rows[next-1][column+1], d.n)
			assert.InDelta(t, want, got, 1e-9, "%s, column %d", d.row, column+1)
		}
	}
	assert.Len(t, rows, next, "every row is pinned")
}

// documentedRows are the cells of the table of docs/costs.md.
func documentedRows(t *testing.T) (rows [][]string) {
	dir := "."
	text, err := os.ReadFile(dir + "/docs/costs.md")
	for ; err != nil; text, err = os.ReadFile(dir + "/docs/costs.md") {
		dir += "/.."
		require.Less(t, len(dir), 20, "a folder above has the document: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(strings.Trim(line, "|\n"), "|"); len(cells) == 6 {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	require.Greater(t, len(rows), 2)
	return rows[2:] // below the head and its rule
}

// evaluate is the value of a cell such as "", "2", "n", "2n" or "10.40 n".
func evaluate(t *testing.T, cell string, n float64) float64 {
	factor, times := strings.CutSuffix(cell, "n")
	if factor = strings.TrimSpace(factor); factor == "" && !times {
		return 0
	}
	x, err := strconv.ParseFloat(cmp.Or(factor, "1"), 64)
	require.NoError(t, err, cell)
	if times {
		return x * n
	}
	return x
}

func openings() []charge {
	dial := func(s *scene) *client { return s.dial() }
	open := func(c *client) error { return c.open() }
	// What a probe costs beside this is told by TestCostOfTheProbe.
	create := func(c *client) (err error) {
		c.db, err = strictkv.Open(c.ctx, "example", c.sim, strictkv.WithProbe(strictkv.ProbeNever))
		return err
	}
	return []charge{
		{"open", func(s *scene) *client { s.client(); return s.dial() }, open, cost{1, 1, 0, 0, 0}},
		{"open and create, without a probe", dial, create, cost{2, 1, 0, 1, 0}},
	}
}

func reads() []charge {
	rows := []charge{
		{"read, cold", stored(1), read, cost{1, 1, 0, 0, 0}},
		{"read, warm", cached(1), read, cost{1, 1, 1, 0, 0}},
		{"read, stale", stale(1, 1), read, cost{1, 1, 0, 0, 0}},
		{"read of an absent key, cold", empty, read, cost{1, 1, 0, 0, 0}},
		{"read of an absent key, warm", cached(0), read, cost{1, 1, 0, 0, 0}},
		{"view of 1 key, cold", stored(1), view(1), cost{1, 1, 0, 0, 0}},
		{"view of 1 key, warm", cached(1), view(1), cost{1, 1, 1, 0, 0}},
		{"view of 1 key, stale", stale(1, 1), view(1), cost{1, 1, 0, 0, 0}},
		{"view of an absent key, cold", empty, view(1), cost{1, 1, 0, 0, 0}},
		{"view of an absent key, warm", cached(0), view(1), cost{1, 1, 0, 0, 0}},
	}
	for _, n := range []int{2, 10, 100} {
		keys := fmt.Sprintf("view of %d keys, ", n)
		rows = append(rows,
			charge{keys + "cold", stored(n), view(n), cost{2, 2 * n, n, 0, 0}},
			charge{keys + "warm", cached(n), view(n), cost{1, n, n, 0, 0}},
			charge{keys + "absent, cold", empty, view(n), cost{2, 2 * n, 0, 0, 0}},
			charge{keys + "absent, warm", cached(0), view(n), cost{1, n, 0, 0, 0}})
	}
	return append(rows,
		charge{"view of 2 keys, one stale", stale(2, 1), view(2), cost{2, 4, 3, 0, 0}},
		charge{"view of 2 keys in turn, cold", stored(2), inTurn(2), cost{3, 3, 1, 0, 0}},
		charge{"view of 2 keys in turn, warm", cached(2), inTurn(2), cost{1, 2, 2, 0, 0}})
}

func weakReads() []charge {
	weak := func(bound time.Duration) func(c *client) error {
		return func(c *client) error {
			_, err := c.coll.ReadWeak(c.ctx, keyAt(0), bound)
			return present(err)
		}
	}
	snapshot := view(10, strictkv.MaxStaleness(time.Hour))
	return []charge{
		{"weak read, cold", stored(1), weak(time.Hour), cost{1, 1, 0, 0, 0}},
		{"weak read, fresh", cached(1), weak(time.Hour), cost{}},
		{"weak read, too old", cached(1), weak(time.Second), cost{1, 1, 1, 0, 0}},
		{"weak read of an absent key, fresh", cached(0), weak(time.Hour), cost{}},
		{"weak view of 10 keys, cold", stored(10), snapshot, cost{2, 20, 10, 0, 0}},
		{"weak view of 10 keys, fresh", cached(10), snapshot, cost{}},
	}
}

// meetings are reads of keys in which intents of a committed transaction stand. With
// more than cell.ListMax members only the primary's intent lists them all.
func meetings() []charge {
	last := func(c *client) error {
		_, err := c.coll.Read(c.ctx, keyAt(cell.ListMax-1))
		return err
	}
	return []charge{
		{"read, 2 intents being resolved", resolving(2), read, cost{2, 2, 0, 0, 0}},
		{"read, 2 intents left by a crash", crashed(2), read, cost{2, 2, 0, 0, 0}},
		{"read, 8 intents left by a crash", crashed(8), last, cost{2, 8, 0, 0, 0}},
		{"read, 10 intents left, of the primary", crashed(10), read, cost{2, 10, 0, 0, 0}},
		{"read, 10 intents left, of another", crashed(10), last, cost{3, 10, 0, 0, 0}},
	}
}

func writes() []charge {
	return []charge{
		{"blind write, cold", stored(1), write(1), cost{2, 1, 0, 1, 0}},
		{"blind write, warm", cached(1), write(1), cost{1, 0, 0, 1, 0}},
		{"blind write, stale", stale(1, 1), write(1), cost{3, 1, 0, 2, 0}},
		{"blind write of an absent key, cold", empty, write(1), cost{2, 1, 0, 1, 0}},
		{"blind write of an absent key, warm", cached(0), write(1), cost{1, 0, 0, 1, 0}},
		{"blind write of 10 keys, cold", stored(10), write(10), cost{2, 10, 0, 10, 10}},
		{"blind write of 10 keys, warm", cached(10), write(10), cost{1, 0, 0, 10, 10}},
		{"delete, cold", stored(1), remove(1), cost{2, 1, 0, 1, 0}},
		{"delete, warm", cached(1), remove(1), cost{1, 0, 0, 1, 0}},
		{"delete of 10 keys, cold", stored(10), remove(10), cost{2, 10, 0, 10, 10}},
		{"delete of 10 keys, warm", cached(10), remove(10), cost{1, 0, 0, 10, 10}},
	}
}

func inserts() []charge {
	existing := func(c *client) error {
		if err := insert(1)(c); !errors.Is(err, strictkv.ErrExists) {
			return fmt.Errorf("insert of a key that exists: %w", err)
		}
		return nil
	}
	return []charge{
		{"insert", empty, insert(1), cost{1, 0, 0, 1, 0}},
		{"insert over a tombstone, cold", deleted, insert(1), cost{3, 1, 0, 2, 0}},
		{"insert of a key that exists, cold", stored(1), existing, cost{2, 1, 0, 1, 0}},
		{"insert of a key that exists, warm", cached(1), existing, cost{1, 1, 1, 0, 0}},
		{"insert of 100 keys", empty, insert(100), cost{1, 0, 0, 100, 100}},
	}
}

// larges write values that are objects of their own.
func larges() []charge {
	large := make([]byte, 1<<20+1)
	insert := each(1, func(c *client, tx *strictkv.Tx, key []byte) error {
		return tx.Insert(c.coll, key, large)
	})
	write := each(1, func(c *client, tx *strictkv.Tx, key []byte) error {
		return tx.Write(c.coll, key, large)
	})
	return []charge{
		{"insert of a large value", empty, insert, cost{2, 0, 0, 3, 0}},
		{"insert of a large value over a tombstone, cold", deleted, insert, cost{3, 1, 0, 3, 0}},
		{"write of a large value, warm", cached(1), write, cost{2, 0, 0, 2, 0}},
		{"write of a large value, cold", stored(1), write, cost{2, 1, 0, 2, 0}},
		{"write of a large value, absent, warm", cached(0), write, cost{2, 0, 0, 3, 0}},
		{"write of a large value, absent, cold", empty, write, cost{3, 1, 0, 3, 0}},
	}
}

// updates read keys and write them.
func updates() []charge {
	rows := []charge{
		{"update of 1 key, cold", stored(1), update(1), cost{2, 1, 0, 1, 0}},
		{"update of 1 key, warm", cached(1), update(1), cost{1, 0, 0, 1, 0}},
		{"update of 1 key, stale", stale(1, 1), update(1), cost{3, 1, 0, 2, 0}},
	}
	for _, n := range []int{2, 10, 100} {
		keys := fmt.Sprintf("update of %d keys, ", n)
		rows = append(rows,
			charge{keys + "cold", stored(n), update(n), cost{2, n, 0, n, n}},
			charge{keys + "warm", cached(n), update(n), cost{1, 0, 0, n, n}},
			charge{keys + "stale", stale(n, n), update(n), cost{3, n, 0, 2 * n, n}},
			charge{keys + "one stale", stale(n, 1), update(n), cost{3, 1, 0, 2 * n, n}})
	}
	return rows
}

// expiries are of keys that expire, long after the transaction or soon, or that have.
func expiries() []charge {
	after := func(d time.Duration) func(s *scene) *client {
		return func(s *scene) *client {
			c := s.client()
			s.do(c, each(1, func(c *client, tx *strictkv.Tx, key []byte) error {
				return tx.Write(c.coll, key, nil, strictkv.ExpireAt(time.Now().Add(d)))
			}))
			time.Sleep(time.Minute)
			return c
		}
	}
	cold := func(s *scene) *client { after(time.Second)(s); return s.client() }
	weak := func(c *client) error {
		_, err := c.coll.ReadWeak(c.ctx, keyAt(0), time.Hour)
		return present(err)
	}
	return []charge{
		{"update of a key that expires, warm", after(time.Hour), update(1), cost{1, 0, 0, 1, 0}},
		{"update of a key that expires soon, warm", after(2 * time.Minute), update(1),
			cost{2, 0, 0, 2, 0}},
		{"view of a key that expires soon", after(2 * time.Minute), view(1), cost{1, 1, 1, 0, 0}},
		{"insert over what is due, warm", after(time.Second), insert(1), cost{1, 0, 0, 1, 0}},
		{"insert over what is due, cold", cold, insert(1), cost{3, 1, 0, 2, 0}},
		{"weak read of what has become due", after(time.Second), weak, cost{1, 1, 1, 0, 0}},
	}
}

// chains are back-to-back updates: each folds the intents of the one before.
func chains() []charge {
	chain := func(n int, from func(i int) int) func(c *client) error {
		return func(c *client) error {
			for i := range n {
				began := time.Now()
				if err := updateFrom(from(i), 3)(c); err != nil {
					return err
				}
				assert.Equal(c.t, latency, time.Since(began), "transaction %d", i)
				synctest.Wait() // what the background does at once, it does here
			}
			return nil
		}
	}
	same := func(int) int { return 0 }
	shifting := func(i int) int { return i }
	return []charge{
		{"5 updates of the same 3 keys", cached(3), chain(5, same), cost{5, 0, 0, 15, 3}},
		{"30 updates of the same 3 keys", cached(3), chain(30, same), cost{30, 0, 0, 90, 3}},
		// The first and the second leave one intent each that no other replaces: it is
		// resolved while the next one runs.
		{"3 updates of 3 keys, each one further", cached(5), chain(3, shifting),
			cost{3, 0, 0, 9 + 2, 3}},
	}
}

func validations() []charge {
	read5 := func(writes int) func(c *client) error { return writeAndRead(writes, 5, false) }
	lock5 := func(writes int) func(c *client) error { return writeAndRead(writes, 5, true) }
	return []charge{
		{"write 1, read 5, warm", cached(6), read5(1), cost{3, 5, 5, 2, 0}},
		{"write 1, read 5, cold", stored(6), read5(1), cost{4, 11, 5, 2, 0}},
		{"write 3, read 5, warm", cached(8), read5(3), cost{3, 5, 5, 4, 2}},
		{"write 10, read 5, warm", cached(15), read5(10), cost{3, 5, 5, 11, 9}},
		{"write 1, lock 5, warm", cached(6), lock5(1), cost{1, 0, 0, 6, 6}},
		{"write 3, lock 5, warm", cached(8), lock5(3), cost{1, 0, 0, 8, 8}},
	}
}

// scene is a bucket and its clients.
type scene struct {
	t       *testing.T
	bucket  *memory.Backend
	clients []*client
	// abandoned says that a crashed client has left intents for good.
	abandoned bool
}

// client is a handle with its own way to the bucket.
type client struct {
	t    *testing.T
	ctx  context.Context
	sim  *simulated.Backend
	db   *strictkv.DB
	coll *strictkv.Collection
}

// dial returns a client that has not opened the database.
func (s *scene) dial() *client {
	sim := simulated.New(s.bucket, nil, simulated.Constant(latency))
	c := &client{t: s.t, ctx: s.t.Context(), sim: sim}
	s.clients = append(s.clients, c)
	return c
}

func (c *client) open() (err error) {
	if c.db, err = strictkv.Open(c.ctx, "example", c.sim); err != nil {
		return err
	}
	c.coll = c.db.Collection([]byte("collection"))
	return nil
}

func (s *scene) client() *client {
	c := s.dial()
	require.NoError(s.t, c.open())
	return c
}

// do makes a call, and waits until its intents have been resolved.
func (s *scene) do(c *client, call func(c *client) error) {
	require.NoError(s.t, call(c))
	time.Sleep(time.Second)
}

// measure makes a call. Afterwards everything must come to rest, with no intent left.
func (s *scene) measure(c *client, call func(c *client) error) cost {
	before, began := c.sim.Counts(), time.Now()
	require.NoError(s.t, call(c))
	took := time.Since(began)
	atReturn := c.sim.Counts()
	time.Sleep(time.Second)
	settled := s.requests()
	now, later := atReturn.Sub(before), c.sim.Counts().Sub(atReturn)
	time.Sleep(time.Hour)
	assert.Equal(s.t, settled, s.requests(), "requests of idle handles")
	assert.Zero(s.t, took%latency, "%v is no whole number of rounds", took)
	assert.Equal(s.t, simulated.Counts{Puts: later.Puts}, later, "requests after the return")
	assert.Zero(s.t, now.Deletes+now.Lists, "other requests")
	stats, all := c.db.Stats(), c.sim.Counts()
	assert.EqualValues(s.t, all.Gets, stats.Gets, "gets by the handle's own count")
	assert.EqualValues(s.t, all.NotModified, stats.NotModified, "not modified, by the same")
	assert.EqualValues(s.t, all.Puts, stats.Puts, "puts by the same")
	assert.Equal(s.t, s.abandoned, s.intents() > 0, "intents are left in the bucket")
	for _, c := range s.clients {
		require.NoError(s.t, c.db.Close(c.ctx))
	}
	return cost{int(took / latency), now.Gets, now.NotModified, now.Puts, later.Puts}
}

// requests counts those of all clients.
func (s *scene) requests() (n int) {
	for _, c := range s.clients {
		n += c.sim.Counts().Requests()
	}
	return n
}

// intents counts the cells that hold one.
func (s *scene) intents() (n int) {
	page, err := s.bucket.List(s.t.Context(), backend.ListOptions{Prefix: "example/+"})
	require.NoError(s.t, err)
	for _, o := range page.Objects {
		if _, _, err := keyspace.ParseValue(strings.TrimPrefix(o.Name, "example/")); err == nil {
			continue
		}
		object, err := s.bucket.Get(s.t.Context(), o.Name, "")
		require.NoError(s.t, err)
		c, err := cell.Decode(object.Data)
		require.NoError(s.t, err)
		if c.Intent != nil {
			n++
		}
	}
	return n
}

func empty(s *scene) *client { return s.client() }

// stored: another client has made n keys.
func stored(n int) func(s *scene) *client {
	return func(s *scene) *client {
		s.do(s.client(), insert(n))
		return s.client()
	}
}

// cached: the client has read n keys, and found those beyond them absent.
func cached(n int) func(s *scene) *client {
	return func(s *scene) *client {
		s.do(s.client(), insert(n))
		c := s.client()
		s.do(c, view(max(n, 100)))
		time.Sleep(time.Minute)
		return c
	}
}

// stale: since the client has read n keys, another has changed the first few.
func stale(n, changed int) func(s *scene) *client {
	return func(s *scene) *client {
		c := cached(n)(s)
		s.do(s.client(), write(changed))
		return c
	}
}

// deleted: another client has made a key, and deleted it.
func deleted(s *scene) *client {
	c := s.client()
	s.do(c, insert(1))
	s.do(c, remove(1))
	return s.client()
}

// resolving: another client has just committed on n keys.
func resolving(n int) func(s *scene) *client {
	return func(s *scene) *client {
		c := stored(n)(s)
		require.NoError(s.t, update(n)(s.client()))
		return c
	}
}

// crashed: another client has died right after it had committed on n keys.
func crashed(n int) func(s *scene) *client {
	return func(s *scene) *client {
		c, dying := stored(n)(s), s.client()
		require.NoError(s.t, update(n)(dying))
		ctx, cancel := context.WithCancel(s.t.Context())
		cancel()
		require.ErrorIs(s.t, dying.db.Close(ctx), context.Canceled)
		s.abandoned = true
		time.Sleep(time.Second)
		return c
	}
}

func keyAt(i int) []byte { return fmt.Appendf(nil, "key-%03d", i) }

func (c *client) keys(from, n int) []strictkv.Key {
	keys := make([]strictkv.Key, n)
	for i := range keys {
		keys[i] = c.coll.Key(keyAt(from + i))
	}
	return keys
}

// present lets the error of an absent key pass.
func present(err error) error {
	if errors.Is(err, backend.ErrNotFound) {
		return nil
	}
	return err
}

func read(c *client) error {
	_, err := c.coll.Read(c.ctx, keyAt(0))
	return present(err)
}

// readAll reads n keys in parallel.
func (c *client) readAll(tx *strictkv.Tx, from, n int) error {
	for _, r := range tx.ReadMulti(c.keys(from, n)...) {
		if err := present(r.Err); err != nil {
			return err
		}
	}
	return nil
}

// view reads n keys in parallel.
func view(n int, opts ...strictkv.ViewOption) func(c *client) error {
	return func(c *client) error {
		return c.db.View(c.ctx, func(tx *strictkv.Tx) error {
			return c.readAll(tx, 0, n)
		}, opts...)
	}
}

// inTurn reads n keys one after another.
func inTurn(n int) func(c *client) error {
	return func(c *client) error {
		return c.db.View(c.ctx, func(tx *strictkv.Tx) error {
			for i := range n {
				if _, err := tx.Read(c.coll, keyAt(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// each runs a transaction that does the same with n keys.
func each(n int, do func(c *client, tx *strictkv.Tx, key []byte) error) func(c *client) error {
	return func(c *client) error {
		return c.db.Tx(c.ctx, func(tx *strictkv.Tx) error {
			for i := range n {
				if err := do(c, tx, keyAt(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func write(n int) func(c *client) error {
	return each(n, func(c *client, tx *strictkv.Tx, key []byte) error {
		return tx.Write(c.coll, key, []byte("written"))
	})
}

func insert(n int) func(c *client) error {
	return each(n, func(c *client, tx *strictkv.Tx, key []byte) error {
		return tx.Insert(c.coll, key, []byte("inserted"))
	})
}

func remove(n int) func(c *client) error {
	return each(n, func(c *client, tx *strictkv.Tx, key []byte) error {
		return tx.Delete(c.coll, key)
	})
}

func update(n int) func(c *client) error { return updateFrom(0, n) }

// updateFrom reads n keys in parallel, and writes them.
func updateFrom(from, n int) func(c *client) error {
	return func(c *client) error {
		return c.db.Tx(c.ctx, func(tx *strictkv.Tx) error {
			if err := c.readAll(tx, from, n); err != nil {
				return err
			}
			for _, k := range c.keys(from, n) {
				if err := tx.Write(k.Collection, k.Key, []byte("updated")); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// writeAndRead writes keys, and reads others, which it may lock.
func writeAndRead(writes, reads int, lock bool) func(c *client) error {
	return func(c *client) error {
		return c.db.Tx(c.ctx, func(tx *strictkv.Tx) error {
			var others [][]byte
			for i := range writes {
				if err := tx.Write(c.coll, keyAt(i), []byte("written")); err != nil {
					return err
				}
			}
			for i := range reads {
				others = append(others, keyAt(writes+i))
			}
			if lock {
				return tx.Lock(c.coll, others...)
			}
			return c.readAll(tx, writes, reads)
		})
	}
}

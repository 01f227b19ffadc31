package processes_test

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/backendtest/faultproxy"
	"github.com/strictkv/strictkv/backend/bucketurl/bucketurltest"
	"github.com/strictkv/strictkv/internal/history"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/sim/baton"
	"github.com/strictkv/strictkv/internal/sim/workload"
)

const (
	// roundMax bounds the time on one database, so that histories stay small.
	roundMax = 10 * time.Second
	// grace is what the dead may delay the last client by, beyond the patience for each
	// key.
	grace = 10 * time.Second
	// instantsPer is how many of a history's instants a nanosecond has.
	instantsPer = 1 << 16
)

var allKeys = strings.Split("abcdefghijkl", "")

// tally is what has happened in all rounds on a store.
type tally struct {
	rounds, processes, kills, freezes, finished int
	transactions                                map[history.Status]int
	cut                                         int // unknown because of a kill
	judged, undetermined, anomalies             int
	exact                                       int // rounds whose verdict is exact
	faults                                      counts
	slowest                                     time.Duration
}

func TestFolder(t *testing.T) {
	rounds(t, func(p place) (place, func() counts) {
		p.Dir, p.Faulty = t.TempDir(), true
		return p, nil
	})
}

func TestFolderNoSync(t *testing.T) {
	rounds(t, func(p place) (place, func() counts) {
		p.Dir, p.NoSync, p.Faulty = t.TempDir(), true, true
		return p, nil
	})
}

func TestBuckets(t *testing.T) {
	for i, store := range bucketurltest.Stores {
		t.Run(store.Name, func(t *testing.T) {
			var proxy *faultproxy.Proxy
			bucket := store.BucketBehind(t, func(u string) string {
				target, err := url.Parse(u)
				require.NoError(t, err)
				proxy = faultproxy.New(target, faultproxy.Options{Seed: *runSeed + uint64(i)})
				t.Cleanup(proxy.Close)
				return proxy.URL()
			})
			before := counts{}
			rounds(t, func(p place) (place, func() counts) {
				p.Bucket = bucket
				proxy.SetChances(weather()...)
				return p, func() counts {
					proxy.SetChances()
					proxy.Outage(0)
					now := counts(proxy.Counts())
					defer func() { before = now }()
					return now.since(before)
				}
			})
		})
	}
}

// rounds runs processes on one database after another. calm, if there is one, ends the
// faults of a place, and tells how many there were.
func rounds(t *testing.T, prepare func(place) (p place, calm func() counts)) {
	sum := tally{transactions: map[history.Status]int{}, faults: counts{}}
	defer func() { t.Log(sum.String()) }()
	for end := time.Now().Add(*runTime); ; sum.rounds++ {
		left := time.Until(end)
		if *runKills > 0 {
			left = roundMax
		}
		if sum.rounds > 0 && (left < time.Second || *runKills > 0 && sum.kills >= *runKills) {
			break
		}
		r := newRound(t, *runSeed+uint64(sum.rounds), &sum)
		var calm func() counts
		r.worker.Place, calm = prepare(r.worker.Place)
		kills := max(*runKills-sum.kills, 0)
		r.run(t, min(left, roundMax), kills)
		if calm != nil {
			sum.faults.add(calm())
		}
		r.judge(t)
	}
	assert.Positive(t, sum.kills, "processes that were killed")
	assert.Positive(t, sum.transactions[history.Committed], "transactions that committed")
}

// round is what happens to one database.
type round struct {
	*crew
	sum *tally
}

func newRound(t *testing.T, seed uint64, sum *tally) *round {
	r := baton.Derive(seed, 6)
	p := place{
		Name:     fmt.Sprint("round-", sum.rounds),
		Patience: []time.Duration{200, 50, 1000}[r.Below(3)] * time.Millisecond,
		Cache:    []int64{1 << 20, 4 << 10, 600, 0}[r.Below(4)],
		Keys:     allKeys[:[]int{12, 10, 6, 3}[r.Below(4)]],
	}
	w := worker{
		Seed: seed, Start: clock(), Place: p, Exact: sum.rounds%2 == 1, Dir: t.TempDir(),
	}
	return &round{newCrew(w), sum}
}

func (r *round) run(t *testing.T, d time.Duration, kills int) {
	err := r.crew.run(d, kills)
	r.sum.processes += len(r.all)
	r.sum.kills += len(r.killed)
	r.sum.freezes += r.frozen
	r.sum.finished += r.finish
	require.NoError(t, err)
}

// judge lets one more client check the database and use each key, and then judges the
// history of all.
func (r *round) judge(t *testing.T) {
	all := [][]history.Transaction{r.settle(t)}
	for _, w := range r.all {
		faults, err := counted(w.misfortunes())
		require.NoError(t, err)
		r.sum.faults.add(faults)
		in, err := os.Open(w.history())
		if os.IsNotExist(err) {
			continue // it died before
		}
		require.NoError(t, err)
		h, err := history.Decode(in)
		require.NoError(t, err, "history of process %d", w.Life)
		require.NoError(t, in.Close())
		all = append(all, h)
		if r.killed[w.Life] {
			r.sum.cut += cutOff(h)
		}
	}
	merged, err := history.Merge(all...)
	require.NoError(t, err)
	for _, x := range merged {
		r.sum.transactions[x.Status]++
	}
	report, err := history.Check(merged,
		history.Options{ClockError: int64(clockError) * instantsPer})
	require.NoError(t, err)
	r.sum.judged += report.Transactions
	r.sum.undetermined += report.Undetermined
	if report.Undetermined == 0 {
		r.sum.exact++
	}
	r.sum.anomalies += len(report.Anomalies)
	if err := report.Err(); err != nil {
		require.NoError(t, err, "the history is in %s", keep(t, merged))
	}
}

// cutOff counts the last transactions of clients that have no outcome.
func cutOff(h []history.Transaction) int {
	last := map[string]history.Status{}
	for _, x := range h {
		last[x.Client] = x.Status
	}
	n := 0
	for _, s := range last { // any order: it is a sum
		if s == history.Unknown {
			n++
		}
	}
	return n
}

// keep saves a history that is wrong.
func keep(t *testing.T, h []history.Transaction) string {
	f, err := os.CreateTemp("", "history-*.jsonl") //nolint:usetesting // it must outlive the test
	require.NoError(t, err)
	require.NoError(t, history.Encode(f, h...))
	require.NoError(t, f.Close())
	return f.Name()
}

// settle is the last client's part, with a handle of its own.
func (r *round) settle(t *testing.T) []history.Transaction {
	p := r.worker.Place
	soon := time.Duration(len(p.Keys))*p.Patience + grace
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	b, closes, err := p.connect(ctx)
	require.NoError(t, err)
	defer func() { assert.NoError(t, closes()) }()
	db, err := p.open(ctx, b)
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close(context.WithoutCancel(ctx))) }()
	r.check(t, ctx, db)

	var out strings.Builder
	id := len(r.all) * workerClients
	d := newDiary(fmt.Sprint(id), r.worker.Seed, r.worker.Start, p.Keys, &out)
	workload.Last("", id, len(p.Keys)).Run(ctx, seam.Real(), db, d.ledger)
	d.tell()
	require.NoError(t, d.contradiction())
	for _, x := range d.ledger.Records() {
		require.Equal(t, history.Committed, x.Status, "with a patience of %v: %v", p.Patience, x)
		r.sum.slowest = max(r.sum.slowest, time.Duration((x.Returned-x.Invoked)/instantsPer))
	}
	r.check(t, ctx, db)
	h, err := history.Decode(strings.NewReader(out.String()))
	require.NoError(t, err)
	return h
}

func (r *round) check(t *testing.T, ctx context.Context, db *strictkv.DB) {
	report, err := db.Check(ctx, strictkv.CheckOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
}

// String tells all of it, for people.
func (s *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rounds, %d processes: %d killed, %d ended by themselves; "+
		"%d times one was stopped for a while\n",
		s.rounds, s.processes, s.kills, s.finished, s.freezes)
	fmt.Fprintf(&b, "transactions: %d committed, %d failed, %d unknown (%d of them cut off "+
		"by a kill); %d took part in the verdict\n",
		s.transactions[history.Committed], s.transactions[history.Failed],
		s.transactions[history.Unknown], s.cut, s.judged)
	b.WriteString("faults:")
	for _, kind := range slices.Sorted(maps.Keys(s.faults)) {
		fmt.Fprintf(&b, " %s %d,", kind, s.faults[kind])
	}
	fmt.Fprintf(&b, "\nanomalies: %d, exact in %d rounds; in the others the order of writes is "+
		"left open for %d keys\nafterwards the slowest transaction took %v",
		s.anomalies, s.exact, s.undetermined, s.slowest.Round(time.Millisecond))
	return b.String()
}

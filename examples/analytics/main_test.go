package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/examples/internal/crew"
	"github.com/strictkv/strictkv/internal/plain"
)

var full = flag.Bool("full", false, "kill 200 processes on a folder")

func TestMain(m *testing.M) {
	crew.Serve[worker]()
	// A library of the SDK starts one goroutine for the life of the process.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// folder is a place of the test's own.
func folder(t *testing.T) crew.Place {
	return crew.Place{Dir: t.TempDir(), Patience: 300 * time.Millisecond}
}

// mustRun runs the program on a folder, and returns what it has printed.
func mustRun(t *testing.T, a *analytics) string {
	var out bytes.Buffer
	a.out = &out
	err := a.run(t.Context())
	t.Logf("\n%s", &out)
	require.NoError(t, err)
	require.NoError(t, plain.Check(out.String()))
	return out.String()
}

func TestSums(t *testing.T) {
	a := &analytics{place: folder(t)}
	a.ingesters, a.compactors, a.shift.Time = 2, 1, 250*time.Millisecond
	first := mustRun(t, a)
	assert.Contains(t, first, "the sums are equal")
	assert.Regexp(t, "snapshots: [1-9]", first)
	assert.Positive(t, acked(a), "events that were acknowledged")
	again := mustRun(t, a)
	assert.Contains(t, again, "the sums are equal")
	assert.GreaterOrEqual(t, appended(t, again), appended(t, first)+acked(a),
		"the sums of the first run are still there")
}

// acked is how many events the last run was acknowledged.
func acked(a *analytics) int {
	total := sum{}
	for _, s := range a.acked {
		total = total.plus(s)
	}
	return int(total.Events)
}

// appended is how many events a run has told of.
func appended(t *testing.T, told string) int {
	found := regexp.MustCompile(`appended: +(\d+) events`).FindStringSubmatch(told)
	require.Len(t, found, 2)
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n
}

func TestKills(t *testing.T) {
	a := &analytics{place: folder(t)}
	a.ingesters, a.compactors, a.shift.Kills = 2, 2, 8
	if *full {
		a.shift.Kills = 200
	}
	mustRun(t, a)
	assert.Equal(t, a.shift.Kills, a.killed[0]+a.killed[1])
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &analytics{place: folder(t), out: &bytes.Buffer{}}
	a.ingesters, a.compactors, a.shift.Time = 1, 1, time.Hour
	require.NoError(t, a.run(ctx))
}

func TestArguments(t *testing.T) {
	a := &analytics{place: crew.Place{Bucket: "mem://name"}, ingesters: 1, compactors: 1}
	require.ErrorContains(t, a.run(t.Context()), "share no memory")
	a.compactors = 0
	require.ErrorContains(t, a.run(t.Context()), "at least")
}

// open opens events in memory.
func open(t *testing.T) *events {
	db, err := strictkv.Open(t.Context(), "analytics", memory.New())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	return newEvents(db)
}

var three = []event{{"/", 1}, {"/docs", 2}, {"/", 4}}

func TestAppendTwice(t *testing.T) {
	e := open(t)
	for range 2 { // the second time as after doubt
		after, err := e.append(t.Context(), "p", sum{}, three)
		require.NoError(t, err)
		assert.Equal(t, sum{3, 7}, after)
	}
	_, err := e.append(t.Context(), "p", sum{1, 1}, three)
	require.ErrorIs(t, err, errViolation, "a sum out of nowhere")
	b, err := e.books(t.Context())
	require.NoError(t, err)
	assert.Equal(t, books{map[string]sum{"p": {3, 7}}, map[string]sum{}, sum{3, 7}}, b)
	require.NoError(t, b.balance())
}

func TestCompact(t *testing.T) {
	e := open(t)
	const processes, rounds = 3, 50
	for p := range processes {
		before := sum{}
		for range rounds {
			var err error
			before, err = e.append(t.Context(), fmt.Sprint(p), before, three)
			require.NoError(t, err)
		}
	}
	n, err := e.compact(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3*processes*rounds, n)
	b, err := e.books(t.Context())
	require.NoError(t, err)
	require.NoError(t, b.balance())
	assert.Zero(t, b.log)
	assert.Equal(t, map[string]sum{
		"/":     {2 * processes * rounds, 5 * processes * rounds},
		"/docs": {processes * rounds, 2 * processes * rounds},
	}, b.rolledUp)
	n, err = e.compact(t.Context())
	require.NoError(t, err)
	assert.Zero(t, n, "each is rolled up once")
}

// TestBooksBalanceAtAnyTime: a transaction that scans sees appending and rolling up as a
// whole, or not at all.
func TestBooksBalanceAtAnyTime(t *testing.T) {
	e := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	appended, compacted := make(chan error, 1), make(chan error, 1)
	go func() {
		before, err := sum{}, error(nil)
		for range 60 {
			if before, err = e.append(ctx, "p", before, three); err != nil {
				break
			}
		}
		cancel()
		appended <- err
	}()
	go func() {
		var err error
		for err == nil {
			_, err = e.compact(ctx)
		}
		compacted <- err
	}()
	checks := 0
	for ctx.Err() == nil {
		b, err := e.books(context.WithoutCancel(ctx))
		require.NoError(t, err)
		require.NoError(t, b.balance())
		checks++
	}
	require.NoError(t, <-appended)
	require.ErrorIs(t, <-compacted, context.Canceled)
	t.Logf("%d checks", checks)
}

// TestViolation: sums that differ make the whole program fail.
func TestViolation(t *testing.T) {
	p := folder(t)
	db, err := p.Open(t.Context(), "analytics")
	require.NoError(t, err)
	e := newEvents(db.DB)
	_, err = e.append(t.Context(), "p", sum{}, three)
	require.NoError(t, err)
	require.NoError(t, e.appended.Delete(t.Context(), []byte("p")))
	require.NoError(t, db.Close(t.Context()))
	a := &analytics{place: p, ingesters: 1, compactors: 1, out: &bytes.Buffer{}}
	require.ErrorIs(t, a.run(t.Context()), errViolation)
}

// TestAcknowledged: what was acknowledged must be there.
func TestAcknowledged(t *testing.T) {
	e := open(t)
	_, err := e.append(t.Context(), "p", sum{}, three)
	require.NoError(t, err)
	_, err = e.compact(t.Context())
	require.NoError(t, err)
	b, err := e.books(t.Context())
	require.NoError(t, err)
	a := &analytics{e: e, out: &bytes.Buffer{}, acked: map[string]sum{"p": {3, 7}}}
	require.NoError(t, a.compare(b))
	a.acked["p"] = sum{4, 8}
	require.ErrorIs(t, a.compare(b), errViolation)
}

package main

import (
	"bytes"
	"context"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/bucketurl/bucketurltest"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/examples/internal/crew"
	_ "github.com/strictkv/strictkv/examples/internal/store/clouds"
	"github.com/strictkv/strictkv/internal/plain"
)

var full = flag.Bool("full", false, "kill 200 workers on a folder and 50 on each bucket")

func TestMain(m *testing.M) {
	crew.Serve[worker]()
	// A library of the SDK starts one goroutine for the life of the process.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// kills is the number to kill: a few, or all if the flag asks for them.
func kills(few, all int) int {
	if *full {
		return all
	}
	return few
}

func TestTransfers(t *testing.T) {
	b := &bank{place: crew.Place{Dir: t.TempDir(), Patience: time.Second}, accounts: 8}
	b.workers, b.shift.Time = 3, 500*time.Millisecond
	out := b.mustRun(t)
	assert.Contains(t, out, "the total is right")
	assert.Positive(t, b.tally.transfers)
	assert.Equal(t, b.tally.transfers, b.tally.stats.Committed)
}

func TestKillsOnFolder(t *testing.T) {
	b := &bank{place: crew.Place{Dir: t.TempDir(), Patience: time.Second}, accounts: 8}
	b.workers, b.shift.Kills = 4, kills(20, 200)
	b.mustRun(t)
	assert.Equal(t, b.shift.Kills, b.tally.kills)
	assert.Positive(t, b.tally.transfers)
}

func TestKillsOnBucket(t *testing.T) {
	for _, store := range bucketurltest.Stores {
		t.Run(store.Name, func(t *testing.T) {
			p := crew.Place{Bucket: store.Bucket(t), Patience: time.Second}
			b := &bank{place: p, accounts: 8}
			b.workers, b.shift.Kills = 4, kills(5, 50)
			b.mustRun(t)
			assert.Equal(t, b.shift.Kills, b.tally.kills)
			assert.Positive(t, b.tally.transfers)
		})
	}
}

func TestMemory(t *testing.T) {
	b := &bank{place: crew.Place{Bucket: "mem://name"}, accounts: 8, workers: 2}
	b.out = &bytes.Buffer{}
	require.ErrorContains(t, b.run(t.Context()), "share no memory")
}

// mustRun runs the bank, and returns what it has printed.
func (b *bank) mustRun(t *testing.T) string {
	var out bytes.Buffer
	b.out = &out
	err := b.run(t.Context())
	t.Logf("\n%s", &out)
	require.NoError(t, err)
	require.NoError(t, plain.Check(out.String()))
	return out.String()
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := &bank{place: crew.Place{Dir: t.TempDir(), Patience: time.Second}, accounts: 2}
	b.workers, b.shift.Time, b.out = 2, time.Hour, &bytes.Buffer{}
	require.NoError(t, b.run(ctx))
}

// tellers are accounts in memory.
func tellers(t *testing.T) (*accounts, backend.Backend) {
	store := memory.New()
	db, err := strictkv.Open(t.Context(), "bank", store)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	a := newAccounts(db, 4)
	require.NoError(t, a.open(t.Context()))
	return a, store
}

func (a *accounts) set(t *testing.T, key strictkv.Key, n int64) {
	require.NoError(t, a.db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		return write(tx, key, n)
	}))
}

func TestCheck(t *testing.T) {
	a, _ := tellers(t)
	require.NoError(t, a.check(t.Context()))
	a.set(t, a.account(1), startBalance+1)
	require.ErrorIs(t, a.check(t.Context()), errViolation, "money out of nowhere")
	require.NoError(t, a.open(t.Context()), "accounts that are open stay as they are")
	require.ErrorIs(t, a.check(t.Context()), errViolation)
}

func TestSound(t *testing.T) {
	a, store := tellers(t)
	require.NoError(t, a.sound(t.Context()))
	_, err := store.Put(t.Context(), "bank/stranger", []byte("?"), backend.IfAbsent())
	require.NoError(t, err)
	require.ErrorIs(t, a.sound(t.Context()), errViolation)
}

// TestViolation: a total that is wrong makes the whole program fail.
func TestViolation(t *testing.T) {
	b := &bank{place: crew.Place{Dir: t.TempDir(), Patience: time.Second}, accounts: 2, workers: 1}
	b.out = &bytes.Buffer{}
	db, err := b.place.Open(t.Context(), "bank")
	require.NoError(t, err)
	a := newAccounts(db.DB, b.accounts)
	a.set(t, a.account(0), startBalance-1)
	require.NoError(t, db.Close(t.Context()))
	require.ErrorIs(t, b.run(t.Context()), errViolation)
}

func TestTouch(t *testing.T) {
	a, _ := tellers(t)
	_, err := a.touch(t.Context())
	require.NoError(t, err)
	require.NoError(t, a.check(t.Context()), "touching changes no balance")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = a.touch(ctx)
	require.ErrorIs(t, err, errViolation, "an account that can't be written")
}

func TestSurely(t *testing.T) {
	a, _ := tellers(t)
	runs := 0
	require.NoError(t, a.surely(t.Context(), func(*strictkv.Tx) error {
		if runs++; runs < 3 {
			return strictkv.ErrInDoubt
		}
		return nil
	}))
	assert.Equal(t, 3, runs)
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, a.surely(ctx, func(*strictkv.Tx) error {
		cancel()
		return strictkv.ErrInDoubt
	}), strictkv.ErrInDoubt)
}

func TestCompare(t *testing.T) {
	a, _ := tellers(t)
	for _, x := range []struct {
		name                         string
		before, acked, doubts, count int64
		more, violation              bool
	}{
		{"as acknowledged", 3, 7, 0, 7, false, false},
		{"one that could not be acknowledged", 3, 7, 0, 8, true, false},
		{"one acknowledged is lost", 3, 7, 0, 6, false, true},
		{"one out of nowhere", 3, 7, 0, 9, false, true},
		{"two in doubt, and the last", 3, 7, 2, 10, true, false},
		{"nothing was acknowledged", 3, 0, 0, 3, false, false},
		{"an earlier process's is lost", 3, 0, 0, 2, false, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			a.set(t, a.counter(1), x.count)
			r := report{Acked: x.acked, Doubts: x.doubts}
			more, err := r.compare(t.Context(), a, 1, x.before)
			assert.Equal(t, x.more, more)
			if x.violation {
				assert.ErrorIs(t, err, errViolation)
			} else {
				assert.NoError(t, err)
			}
		})
	}
}

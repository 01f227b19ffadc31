package processes_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/history"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/sim/workload"
)

// diary writes down what one client does, so that it outlives the client's process.
type diary struct {
	client string
	ledger *workload.Ledger
	out    io.Writer

	news chan struct{} // has an element while some have ended that may not be written down

	mu    sync.Mutex         // guards all below, and orders writes to out
	ended []*workload.Record // not written down; nobody changes them any more
	over  int                // how many have ended
}

// newDiary makes the diary of a client that is unique among all processes. start is
// what the clock showed when the first of them began.
func newDiary(client string, seed uint64, start int64, keys []string, out io.Writer) *diary {
	d := &diary{client: client, out: out, news: make(chan struct{}, 1)}
	d.ledger = &workload.Ledger{
		Seed: seed, Keys: keys, Drafted: d.draft, Ended: d.end,
		Now: func() time.Duration { return time.Duration(clock() - start) },
	}
	return d
}

// draft writes down a transaction whose function has run, as unknown: from now on its writes
// may be sent, by itself or together with others'.
func (d *diary) draft(r *workload.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writeLocked(r.Transaction)
}

// end hears of each transaction that has ended.
func (d *diary) end(r *workload.Record) {
	d.mu.Lock()
	d.ended, d.over = append(d.ended, r), d.over+1
	d.mu.Unlock()
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// tell writes down the transactions that have ended.
func (d *diary) tell() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.ended {
		d.writeLocked(r.Transaction)
	}
	d.ended = nil
}

// writeLocked writes a transaction under a name that is unique among all processes.
func (d *diary) writeLocked(t history.Transaction) {
	t.ID, t.Client = d.client+"-"+t.ID, d.client
	if err := history.Encode(d.out, t); err != nil {
		panic(err) // a history with a gap proves nothing
	}
}

// contradiction is what the client found wrong by itself; it must have ended. The ledger's
// other complaints are about values of other clients, which it does not know.
func (d *diary) contradiction() error {
	err := d.ledger.Judge()
	var own []history.Transaction
	for _, r := range d.ledger.Records() {
		own = append(own, r.Transaction)
	}
	report, foreign := history.Check(own, history.Options{})
	if foreign == nil {
		foreign = report.Err()
	}
	if fmt.Sprint(err) == fmt.Sprint(foreign) {
		return nil
	}
	return fmt.Errorf("client %s: %w", d.client, err)
}

// killer is a store that is asked to write. Whoever is killed now leaves this history.
type killer struct {
	backend.Backend
	t     *testing.T
	diary *diary // of a client that has begun
	out   *bytes.Buffer
	left  []history.Transaction
}

func (k *killer) Put(
	ctx context.Context, name string, data []byte, c backend.Condition,
) (backend.Stamp, error) {
	if k.diary != nil && k.left == nil {
		assert.Zero(k.t, k.diary.over)
		var err error
		k.left, err = history.Decode(bytes.NewReader(k.out.Bytes()))
		assert.NoError(k.t, err)
	}
	return k.Backend.Put(ctx, name, data, c)
}

// TestDiary: what a transaction has done is written down before its first write, and its
// outcome when it has ended.
func TestDiary(t *testing.T) {
	out := &bytes.Buffer{}
	d := newDiary("7", 1, clock(), []string{"a"}, out)
	k := &killer{Backend: memory.New(), t: t, out: out}
	db, err := strictkv.Open(t.Context(), "diary", k)
	require.NoError(t, err)
	k.diary = d
	c := workload.Deal("counter", 1, 3, nil)[0]
	c.Run(t.Context(), seam.Real(), db, d.ledger)
	d.tell()
	require.NoError(t, db.Close(t.Context()))

	all, err := history.Decode(out)
	require.NoError(t, err)
	require.Len(t, all, 3)
	for _, x := range all {
		assert.Equal(t, history.Committed, x.Status)
		assert.Less(t, x.Invoked, x.Returned)
	}
	require.Len(t, k.left, 1, "written down before the first write")
	assert.Equal(t, history.Unknown, k.left[0].Status)
	assert.Equal(t, all[0].ID, k.left[0].ID)
	assert.Equal(t, all[0].Ops, k.left[0].Ops)
}

// TestContradiction: what a client finds wrong by itself counts, but not what it can't
// know.
func TestContradiction(t *testing.T) {
	db, err := strictkv.Open(t.Context(), "diary", memory.New())
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(t.Context())) }()
	var alone *diary
	for i := range 2 { // the second reads what the first has written
		alone = newDiary(fmt.Sprint(i), 1, clock(), []string{"a"}, io.Discard)
		c := workload.Deal("counter", i+1, i+1, nil)[i]
		c.Run(t.Context(), seam.Real(), db, alone.ledger)
	}
	require.Error(t, alone.ledger.Judge())
	require.NoError(t, alone.contradiction())
	alone.ledger.Fail("both %v and %v", "here", "there")
	require.ErrorContains(t, alone.contradiction(), "both here and there")
}

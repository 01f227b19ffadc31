package scan_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/protocoltest"
	"github.com/strictkv/strictkv/internal/scan"
)

// A function may return while another goroutine of its is in a scan: then both stop it.
func TestStopTwiceAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(1)
		walker := w.scans.Walk(w.ctx, w.all(), scan.WalkOptions{})
		w.net.beforeGet(func() { pass(4 * latency) }) // a request that does not heed its context
		pass(2 * latency)
		done := make(chan struct{})
		go func() {
			walker.Stop()
			close(done)
		}()
		walker.Stop()
		<-done
	})
}

// An intent was undecided at the instant of which a listing is, and its attempt has committed
// since without a write of the cell: its value is not of that instant.
func TestIntentSinceTheInstant(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(5)
		w.intend("k00003", "new")
		span := w.consume(w.all(), scan.WalkOptions{}, 0)
		at := time.Now()
		_, stale, _ := w.validate(scan.Validator{}, span)
		require.False(t, stale)
		var m scan.Memory
		m.Keep([]*scan.Span{span}, at)

		w.join("k00003")
		_, err := w.rs.Shared(w.ctx, w.name("k00003"), w.st.Tick())
		require.NoError(t, err)
		walker := w.scans.Walk(w.ctx, w.all(),
			scan.WalkOptions{Known: m.Recall(w.all(), at)})
		defer walker.Stop()
		for range 5 {
			item, ok, err := walker.Next()
			require.NoError(t, err)
			require.True(t, ok)
			if item.Name == w.name("k00003") {
				fresh := string(item.Value().Data) == "new"
				assert.Equal(t, fresh, item.Live, "the value %q", item.Value().Data)
			}
		}
	})
}

// A listing that is known may reach over a page that a long reverse scan has marked.
func TestReverseKnownOverMarks(t *testing.T) {
	inWorld(t, func(w *world) {
		keys := w.fill(20_000)
		page := w.all().Interval // from where one begins on
		page.From, page.To = keyspace.UpTo(w.name("k01999")), w.name("k04500")
		for _, i := range []keyspace.Interval{w.interval("k02500", "k04500"), page} {
			r := scan.Range{Interval: i, KeysOnly: true}
			known, _, _ := w.validate(scan.Validator{}, w.consume(r, scan.WalkOptions{}, 0))
			r = w.all()
			r.KeysOnly, r.Reverse = true, true
			span := w.consume(r, scan.WalkOptions{Known: known}, len(keys)+1)
			_, stale, _ := w.validate(scan.Validator{}, span)
			assert.False(t, stale)
		}
	})
}

// After Stop nothing is returned, be it there.
func TestNothingIsReturnedAfterStop(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(3)
		r := w.all()
		r.KeysOnly = true
		walker := w.scans.Walk(w.ctx, r, scan.WalkOptions{})
		_, ok, err := walker.Next()
		require.NoError(t, err)
		require.True(t, ok)
		walker.Stop()
		_, ok, err = walker.Next()
		assert.ErrorIs(t, err, context.Canceled)
		assert.False(t, ok)
	})
}

// A listing that is known may have cells whose values were too large to be kept.
func TestKnownWithoutItsValues(t *testing.T) {
	inWorld(t, func(w *world) {
		big := strings.Repeat("x", 1<<20)
		for i := range 9 { // 8 MiB are kept
			w.write(fmt.Sprint("k", i), big)
		}
		span := w.consume(w.all(), scan.WalkOptions{}, 0)
		w.write("new", "v") // so that there is something to read
		known, _, _ := w.validate(scan.Validator{}, span)
		w.open(1 << 10)
		walker := w.scans.Walk(w.ctx, w.all(), scan.WalkOptions{Known: known})
		defer walker.Stop()
		for n := range 10 {
			item, ok, err := walker.Next()
			require.NoError(t, err)
			require.True(t, ok)
			assert.NotEmpty(t, item.Value().Data, "the value of cell %d", n)
		}
	})
}

// What the store says is damaged is read, be it in the cache at that version.
func TestWalkReadsWhatIsDamaged(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(3)
		w.walk(w.all())
		for name, reads := range map[string]int{"": 0, protocoltest.Prefix + w.name("k00001"): 1} {
			w.net.damaged = name
			w.net.reset()
			keys, _, _ := w.walk(w.all())
			assert.Len(t, keys, 3)
			_, gets := w.net.reset()
			assert.Equal(t, reads, gets, name)
		}
	})
}

package scan_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/keyspace"
	"github.com/strictkv/strictkv/internal/scan"
)

func TestWalkOrderAndBounds(t *testing.T) {
	for _, pageMax := range []int{0, 1, 7} {
		inWorld(t, func(w *world) {
			w.net.pageMax = pageMax
			keys := w.fill(60)
			w.remove(keys[20])
			live := slices.Delete(slices.Clone(keys), 20, 21)
			at := func(k string) int { i, _ := slices.BinarySearch(live, k); return i }
			for _, x := range []struct{ from, to string }{
				{"", ""}, {keys[10], ""}, {"", keys[50]}, {keys[10], keys[50]},
				{keys[20], keys[21]}, {"k00020a", "k00030a"}, {"k0003", "k0004"}, {"z", ""},
				{keys[5], keys[5] + "\x00"},
			} {
				i, j := at(x.from), len(live)
				if x.to != "" {
					j = at(x.to)
				}
				want := live[i:j]
				r := scan.Range{Interval: w.interval(x.from, x.to)}
				got, values, _ := w.walk(r)
				require.Equal(t, want, append([]string{}, got...), "%q", x)
				for n, k := range got {
					require.Equal(t, "v"+k, values[n])
				}
				r.Reverse = true
				got, _, _ = w.walk(r)
				require.Equal(t, reversed(want), append([]string{}, got...), "%q", x)
				r.Limit, r.KeysOnly = 3, true
				got, _, _ = w.walk(r)
				require.Equal(t, reversed(want)[:min(3, len(want))], append([]string{}, got...))
			}
		})
	}
}

// With as many cells as the limit asks for, nothing is read or listed ahead any more; but the
// consumer may go on.
func TestWalkStopsAtItsLimit(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(40)
		w.net.reset()
		const limit = 20
		x := w.scans.Walk(w.ctx, scan.Range{Interval: w.interval("", ""), Limit: limit},
			scan.WalkOptions{})
		defer x.Stop()
		next := func() {
			_, ok, err := x.Next()
			require.NoError(t, err)
			require.True(t, ok)
			synctest.Wait()
		}
		for range limit {
			next()
		}
		lists, gets := w.net.reset()
		assert.Equal(t, 1, lists)
		assert.Equal(t, limit, gets)
		for range limit {
			next()
		}
		_, ok, err := x.Next()
		require.NoError(t, err)
		assert.False(t, ok)
	})
}

// A reverse scan of more names than it keeps lists them twice, and no more.
func TestWalkReverseInBoundedMemory(t *testing.T) {
	inWorld(t, func(w *world) {
		keys := w.fill(33_500)
		w.net.reset()
		got, _, _ := w.walk(scan.Range{Interval: w.interval("", ""), Reverse: true, KeysOnly: true})
		require.Equal(t, reversed(keys), got)
		lists, gets := w.net.reset()
		assert.Equal(t, 34+18, lists, "pages, and those once more that were not kept")
		assert.Zero(t, gets)
	})
	inWorld(t, func(w *world) { // so many pages that it forgets where some begin
		keys := w.fill(25_000)
		w.net.pageMax = 1
		got, _, _ := w.walk(scan.Range{Interval: w.interval("", ""), Reverse: true, KeysOnly: true})
		require.Equal(t, reversed(keys), got)
	})
}

// A bound that is too long to be sent is cut, and what comes along is left out.
func TestWalkFromALongBound(t *testing.T) {
	for _, pageMax := range []int{0, 1} {
		inWorld(t, func(w *world) {
			w.net.pageMax = pageMax
			var err error
			w.path, err = keyspace.Path("").Collection(bytes.Repeat([]byte{'x'}, 440))
			require.NoError(t, err)
			var keys []string
			for c := 'a'; c <= 'e'; c++ {
				keys = append(keys, strings.Repeat("k", 511)+string(c))
				w.write(keys[len(keys)-1], "")
			}
			got, _, _ := w.walk(scan.Range{Interval: w.interval(keys[2], "")})
			assert.Equal(t, keys[2:], got)
			assert.Len(t, w.net.gets, 3)
			w.walk(scan.Range{Interval: w.interval(strings.Repeat("/", keyspace.KeyMax), "")})
			for _, l := range w.net.lists {
				assert.LessOrEqual(t, len(l.After), keyspace.CellMax)
			}
		})
	}
}

func TestWalkCost(t *testing.T) {
	rounds := func(d time.Duration) int { return int(d / latency) }
	inWorld(t, func(w *world) {
		w.fill(300)
		_, _, d := w.walk(scan.Range{Interval: w.interval("", ""), KeysOnly: true})
		lists, gets := w.net.reset()
		assert.Equal(t, []int{1, 0, 1}, []int{lists, gets, rounds(d)}, "keys only")

		_, _, d = w.walk(w.all())
		lists, gets = w.net.reset()
		assert.Equal(t, []int{1, 300, 2}, []int{lists, gets, rounds(d)}, "cold")

		_, _, d = w.walk(w.all())
		lists, gets = w.net.reset()
		assert.Equal(t, []int{1, 0, 1}, []int{lists, gets, rounds(d)}, "warm")

		w.write("k00007", "new")
		w.remove("k00008")
		_, values, d := w.walk(w.all())
		lists, gets = w.net.reset()
		assert.Equal(t, []int{1, 1, 2}, []int{lists, gets, rounds(d)}, "one is new")
		assert.Equal(t, "new", values[7])

		w.intend("k00010", "staged")
		_, values, _ = w.walk(scan.Range{Interval: w.interval("", ""), KeysOnly: true})
		_, gets = w.net.reset()
		assert.Positive(t, gets, "a cell with an intent is read, also if only keys are wanted")
		assert.Len(t, values, 299)
	})
}

// What the listing shows of a cell with an intent is not its value: the effective one is
// asked for, each time until it is final.
func TestWalkReadsThroughIntents(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(3)
		w.intend("k00001", "new")
		_, values, _ := w.walk(w.all())
		assert.Equal(t, []string{"vk00000", "vk00001", "vk00002"}, values, "undecided")
		w.net.reset()
		_, values, _ = w.walk(w.all())
		_, gets := w.net.reset()
		assert.Positive(t, gets, "not final")
		assert.Equal(t, "vk00001", values[1])
		w.resolve("k00001")
		_, values, _ = w.walk(w.all())
		assert.Equal(t, "new", values[1])
	})
}

func TestWalkReadsNoMoreThanTheLimit(t *testing.T) {
	inWorld(t, func(w *world) {
		keys := w.fill(500)
		got, _, d := w.walk(scan.Range{Interval: w.interval("", ""), Limit: 10})
		assert.Equal(t, keys[:10], got)
		lists, gets := w.net.reset()
		assert.Equal(t, []int{1, 10, 2}, []int{lists, gets, int(d / latency)})
	})
}

// A scan of the first value that finds many that are due before it reads ever more of them at once,
// and no more than twice as many as there are.
func TestWalkReadsAheadOverWhatIsDue(t *testing.T) {
	for _, x := range []struct{ due, limit, rounds int }{
		{0, 1, 2}, {10, 1, 8}, {1000, 1, 20}, {1000, 10, 20},
	} {
		t.Run(fmt.Sprint(x.due, " due, limit ", x.limit), func(t *testing.T) {
			inWorld(t, func(w *world) {
				keys := w.fill(2*x.due + 100)
				for _, key := range keys[:x.due] {
					w.expire(key)
				}
				got, _, d := w.walk(scan.Range{Interval: w.interval("", ""), Limit: x.limit})
				assert.Equal(t, keys[x.due:x.due+x.limit], got)
				_, gets := w.net.reset()
				assert.LessOrEqual(t, int(d/latency), x.rounds)
				assert.LessOrEqual(t, gets, 2*x.due+x.limit)
				t.Logf("%d due: %d rounds, %d reads", x.due, int(d/latency), gets)
			})
		})
	}
}

func TestWalkKeepsToItsBounds(t *testing.T) {
	inWorld(t, func(w *world) {
		big := strings.Repeat("x", 1<<20)
		for i := range 40 {
			w.write(fmt.Sprintf("k%05d", i), big)
		}
		walker := w.scans.Walk(w.ctx, w.all(), scan.WalkOptions{})
		time.Sleep(10 * latency)
		_, gets := w.net.reset()
		assert.Equal(t, 15, gets, "16 MiB, of cells a little larger than 1 MiB")
		for range 5 {
			_, ok, err := walker.Next()
			require.True(t, ok)
			require.NoError(t, err)
		}
		time.Sleep(10 * latency)
		_, gets = w.net.reset()
		assert.Equal(t, 5, gets, "what was taken makes room")
		walker.Stop()
	})
	inWorld(t, func(w *world) {
		w.fill(3000)
		walker := w.scans.Walk(w.ctx, w.all(), scan.WalkOptions{})
		time.Sleep(10 * latency)
		lists, gets := w.net.reset()
		assert.Equal(t, []int{3, 1024}, []int{lists, gets})
		walker.Stop()
	})
}

func TestStopEndsAllRequests(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(2000)
		walker := w.scans.Walk(w.ctx, w.all(), scan.WalkOptions{})
		time.Sleep(latency + latency/2)
		begun := time.Now()
		walker.Stop()
		assert.Less(t, time.Since(begun), latency/2, "requests under way are given up")
		w.net.reset()
		time.Sleep(10 * latency)
		synctest.Wait()
		lists, gets := w.net.reset()
		assert.Zero(t, lists+gets)
		_, _, err := walker.Next()
		assert.ErrorIs(t, err, context.Canceled)
	})
}

func TestWalkEndsWithItsContext(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(10)
		ctx, cancel := context.WithCancel(w.ctx)
		walker := w.scans.Walk(ctx, w.all(), scan.WalkOptions{})
		defer walker.Stop()
		time.AfterFunc(latency/2, cancel)
		_, _, err := walker.Next()
		assert.ErrorIs(t, err, context.Canceled)
	})
}

func TestWalkPassesOverWhatIsNotACell(t *testing.T) {
	for _, name := range []string{"+c/=k\xff", "+c/=%", "+c/=k00000 (1)", "+c/=k00000/x"} {
		inWorld(t, func(w *world) {
			w.fill(2)
			for shape := range 4 { // that its size would be of
				w.PutData(fmt.Sprint(name, shape), []byte("four,,,"[:4+shape]))
			}
			keys, _, _ := w.walk(w.all())
			assert.Equal(t, []string{"k00000", "k00001"}, keys)
		})
	}
}

func TestWalkFetchesExternalValues(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fill(1)
		small, big := []byte(strings.Repeat("s", 1<<20)), []byte(strings.Repeat("b", 20<<20))
		for key, data := range map[string][]byte{"small": small, "x-big": big} {
			v, _, err := w.st.Upload(w.ctx, w.name(key), w.st.NewValue(data), data)
			require.NoError(t, err)
			w.put(key, cell.Write(&cell.Cell{}, cell.Fold{}, w.tx(), cell.Put, v))
		}
		w.open(1 << 20)
		keys, values, d := w.walk(w.all())
		assert.Equal(t, []string{"k00000", "small", "x-big"}, keys)
		assert.Equal(t, []string{"vk00000", string(small), string(big)}, values)
		assert.Equal(t, 4, int(d/latency), "a list, the cells, the small value, the big one alone")
	})
}

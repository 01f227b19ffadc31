package resolve_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/seam"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// racer races for =a, and records which versions it has tried.
type racer struct {
	*client
	o resolve.Race

	mu    sync.Mutex // guards tried
	tried []backend.Version
}

// racer begins from what is stored. Its writes take as long as is said.
func (w *world) racer(takes time.Duration) *racer {
	r := &racer{client: w.client()}
	r.o.Base = r.status("=a")
	r.o.Priority = txid.Priority{Time: 1}
	r.o.Try = func(
		_ context.Context, rd resolve.Reading, _ cell.Fold,
	) (bool, store.Snapshot, error) {
		r.mu.Lock()
		r.tried = append(r.tried, rd.Version)
		r.mu.Unlock()
		pass(takes)
		return r.write(rd, 9) == store.Applied, store.Snapshot{}, nil
	}
	return r
}

func (r *racer) race() (store.Snapshot, time.Duration) {
	start := time.Now()
	last, err := r.rs.Race(context.Background(), r.o)
	require.NoError(r.w.T, err)
	return last, time.Since(start)
}

// A writer replaces the cell every 70 ms, just before the first try arrives. A racer that
// reads and writes in turn would come too late each time: a write takes 69 ms, and the
// version that it has read lasts no longer. One that sees a version when it is new wins.
func TestRaceWinsWhenAVersionIsNew(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		r := w.racer(60 * time.Millisecond)
		stop := make(chan bool)
		go func() {
			defer close(stop)
			for range 3 {
				pass(59 * time.Millisecond)
				w.Value(2, "=a")
			}
			pass(11 * time.Millisecond)
		}()
		_, took := r.race()
		<-stop
		c, _ := w.Cell("=a")
		assert.Equal(t, id(9), c.Writer)
		assert.Less(t, took, 300*time.Millisecond)
		seen := map[backend.Version]bool{}
		for _, v := range r.tried {
			assert.False(t, seen[v], "version tried twice")
			seen[v] = true
		}
	})
}

func TestRaceEnds(t *testing.T) {
	for _, x := range []struct {
		name    string
		arrange func(w *world, r *racer)
		looks   int // requests
	}{
		{"at an undecided intent of another", func(w *world, _ *racer) {
			w.Rival(5, cell.Pending, "=a").Place("=a")
		}, 2},
		{"when it has looked often enough", func(w *world, r *racer) {
			c, _ := w.Cell("=a")
			in := &cell.Intent{
				Tx: id(5), Priority: r.o.Priority, Mode: cell.Pending, Action: cell.Lock,
				Members: cell.Members{List: []cell.Member{{Name: "=a"}}},
			}
			w.Put("=a", cell.Place(c, cell.Fold{}, in)) // its own, but nobody learns of it
		}, 66},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Value(1, "=a")
				r := w.racer(0)
				x.arrange(w, r)
				before := r.requests(faulty.Get)
				last, _ := r.race()
				_, now := w.Cell("=a")
				assert.Equal(t, now, last.Version, "the newest that was seen")
				assert.LessOrEqual(t, r.requests(faulty.Get)-before, x.looks)
				assert.Len(t, r.tried, 1)
			})
		})
	}
}

// A caller who leaves ends the race at once.
func TestRaceEndsWithItsContext(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		r := w.racer(0)
		r.o.Try = func(
			context.Context, resolve.Reading, cell.Fold,
		) (bool, store.Snapshot, error) {
			return false, store.Snapshot{}, nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := r.rs.Race(ctx, r.o)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 20*time.Millisecond, time.Since(start))
	})
}

// Between the look for room in the cell and the try, other transactions of the handle end,
// and it forgets why a mark may go. A try must not be given a fold that leaves no room: the
// cell would get more marks than it can carry, which is a panic, on no goroutine of the caller.
func TestRaceTriesOnlyWhatItHasRoomFor(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		x, _ := w.Cell("=a")
		full := *x
		list := func(n int) cell.Members {
			return cell.Members{List: []cell.Member{
				{Name: "=a", Expected: "old"}, {Name: fmt.Sprintf("=m%d", n), Expected: "old"},
			}}
		}
		for n := range cell.MarksMax {
			full.Marks = append(full.Marks, cell.Mark{Tx: id(byte(50 + n)), Members: list(n)})
		}
		w.Put("=a", &full)
		c := w.client()
		base := c.status("=a")
		c.rs.Clear(id(50), "=m0") // so the mark of 50 may go
		const extra = 1
		f := c.rs.FoldOf(base)
		require.LessOrEqual(t, cell.MarksAfter(base.Cell, f)+extra, cell.MarksMax, "room is made")

		// Others end at the first instant without a lock after the race has looked for room.
		var held, deep, done atomic.Int64
		seam.Observe(func(delta int) {
			if done.Load() == 1 {
				return
			}
			switch h := held.Add(int64(delta)); {
			case h >= 2:
				deep.Store(1)
			case h == 0 && deep.Load() == 1 && done.CompareAndSwap(0, 1):
				for i := range 8192 {
					c.rs.Dead(txid.ID{1: byte(i >> 8), 2: byte(i), 3: 1})
				}
			}
		})
		defer seam.Observe(nil)
		tried := 0
		_, err := c.rs.Race(context.Background(), resolve.Race{
			Base: base, Extra: extra, Priority: txid.Priority{Time: 1},
			Try: func(
				_ context.Context, rd resolve.Reading, f cell.Fold,
			) (bool, store.Snapshot, error) {
				tried++
				assert.LessOrEqual(t, cell.MarksAfter(rd.Cell, f)+extra, cell.MarksMax)
				return true, store.Snapshot{}, nil
			},
		})
		require.NoError(t, err)
		assert.Equal(t, int64(1), done.Load())
		assert.LessOrEqual(t, tried, 1)
	})
}

package resolve_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/faulty"
	"github.com/strictkv/strictkv/internal/cell"
	"github.com/strictkv/strictkv/internal/resolve"
	"github.com/strictkv/strictkv/internal/store"
	"github.com/strictkv/strictkv/internal/txid"
)

// racer chases =a, and records which versions it has tried.
type racer struct {
	*client
	o resolve.Chase

	mu    sync.Mutex // guards tried
	tried []backend.Version
}

// racer begins from what is stored. Its writes take as long as is said.
func (w *world) racer(takes time.Duration) *racer {
	r := &racer{client: w.client()}
	r.o.Base = r.status("=a")
	r.o.Priority = txid.Priority{Time: 1}
	r.o.Try = func(rd resolve.Reading, _ cell.Fold) (bool, store.Snapshot, error) {
		r.mu.Lock()
		r.tried = append(r.tried, rd.Version)
		r.mu.Unlock()
		pass(takes)
		return r.write(rd, 9) == store.Applied, store.Snapshot{}, nil
	}
	return r
}

func (r *racer) chase() (store.Snapshot, time.Duration) {
	start := time.Now()
	last, err := r.rs.Chase(context.Background(), r.o)
	require.NoError(r.w.T, err)
	return last, time.Since(start)
}

// A writer replaces the cell every 70 ms, just before the first try arrives. A chaser that
// reads and writes in turn would come too late each time: a write takes 69 ms, and the
// version that it has read lasts no longer. One that sees a version when it is new wins.
func TestChaseWinsWhenAVersionIsNew(t *testing.T) {
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
		_, took := r.chase()
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

func TestChaseEnds(t *testing.T) {
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
				last, _ := r.chase()
				_, now := w.Cell("=a")
				assert.Equal(t, now, last.Version, "the newest that was seen")
				assert.LessOrEqual(t, r.requests(faulty.Get)-before, x.looks)
				assert.Len(t, r.tried, 1)
			})
		})
	}
}

// A caller who leaves ends the chase at once.
func TestChaseEndsWithItsContext(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Value(1, "=a")
		r := w.racer(0)
		r.o.Try = func(resolve.Reading, cell.Fold) (bool, store.Snapshot, error) {
			return false, store.Snapshot{}, nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := r.rs.Chase(ctx, r.o)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 20*time.Millisecond, time.Since(start))
	})
}

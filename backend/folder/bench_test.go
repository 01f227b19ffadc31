package folder_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/backend"
	"github.com/strictkv/strictkv/backend/folder"
)

var kilobyte = make([]byte, 1<<10)

func BenchmarkPut(b *testing.B) {
	b.Run("Sync", func(b *testing.B) { benchmarkPut(b) })
	b.Run("NoSync", func(b *testing.B) { benchmarkPut(b, folder.NoSync()) })
}

func benchmarkPut(b *testing.B, options ...folder.Option) {
	store := folder.New(b.TempDir(), options...)
	v, err := store.Put(b.Context(), "db/c/key", kilobyte, backend.IfAbsent())
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		v, err = store.Put(b.Context(), "db/c/key", kilobyte, backend.IfVersion(v.Version))
		require.NoError(b, err)
	}
}

// BenchmarkCreate makes objects of one folder from several goroutines at once.
func BenchmarkCreate(b *testing.B) {
	store := folder.New(b.TempDir())
	b.SetParallelism(8)
	names := make(chan string)
	go func() {
		defer close(names)
		for i := range b.N {
			names <- fmt.Sprintf("db/c/%d", i)
		}
	}()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, err := store.Put(b.Context(), <-names, kilobyte, backend.IfAbsent())
			require.NoError(b, err)
		}
	})
}

func BenchmarkGet(b *testing.B) {
	store := folder.New(b.TempDir(), folder.NoSync())
	v, err := store.Put(b.Context(), "db/c/key", kilobyte, backend.IfAbsent())
	require.NoError(b, err)
	b.Run("Data", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := store.Get(b.Context(), "db/c/key", "")
			require.NoError(b, err)
		}
	})
	b.Run("NotModified", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := store.Get(b.Context(), "db/c/key", v.Version)
			require.ErrorIs(b, err, backend.ErrNotModified)
		}
	})
}

// BenchmarkList lists a page of 100 in a folder of more.
func BenchmarkList(b *testing.B) {
	for _, count := range []int{100, 10_000} {
		store := folder.New(b.TempDir(), folder.NoSync())
		for i := range count {
			_, err := store.Put(b.Context(), fmt.Sprintf("db/c/%06d", i), nil, backend.IfAbsent())
			require.NoError(b, err)
		}
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				o := backend.ListOptions{Prefix: "db/c/", Limit: 100}
				page, err := store.List(b.Context(), o)
				require.NoError(b, err)
				require.Len(b, page.Objects, 100)
			}
		})
	}
}

// BenchmarkRecords reads and writes objects of 1 KiB at random in folders that hold more and
// more of them.
func BenchmarkRecords(b *testing.B) {
	for _, count := range []int{100, 1000, 10_000, 100_000} {
		dir := b.TempDir()
		r := records{folder.New(dir, folder.NoSync()), make([]backend.Version, count)}
		for i := range count {
			require.NoError(b, r.put(b, i, backend.IfAbsent()))
		}
		run := func(name string, do func(r records, i int) error) {
			b.Run(fmt.Sprintf("%s/records=%d", name, count), func(b *testing.B) {
				random := rand.New(rand.NewPCG(1, 2))
				b.ReportAllocs()
				for b.Loop() {
					require.NoError(b, do(r, random.IntN(count)))
				}
			})
		}
		write := func(r records, i int) error {
			return r.put(b, i, backend.IfVersion(r.versions[i]))
		}
		run("read", func(r records, i int) error {
			_, err := r.store.Get(b.Context(), recordName(i), "")
			return err
		})
		run("write", write)
		r.store = folder.New(dir)
		run("write-synced", write)
	}
}

// records are the objects of a folder, with their versions.
type records struct {
	store    *folder.Backend
	versions []backend.Version
}

func recordName(i int) string { return fmt.Sprintf("db/c/%06d", i) }

func (r records) put(b *testing.B, i int, c backend.Condition) error {
	at, err := r.store.Put(b.Context(), recordName(i), kilobyte, c)
	r.versions[i] = at.Version
	return err
}

// BenchmarkListBesideWriter lists all objects of a folder, page by page, while nobody
// writes to it, and while one writer replaces and creates objects there. It reports how
// long the slowest write took.
func BenchmarkListBesideWriter(b *testing.B) {
	for _, count := range []int{10_000, 100_000} {
		dir := b.TempDir()
		store := folder.New(dir, folder.NoSync())
		r := records{folder.New(dir, folder.NoSync()), make([]backend.Version, count)}
		for i := range count {
			require.NoError(b, r.put(b, i, backend.IfAbsent()))
		}
		list := func(b *testing.B) {
			for b.Loop() {
				o, n := backend.ListOptions{Prefix: "db/c/"}, 0
				for more := true; more; {
					page, err := store.List(b.Context(), o)
					require.NoError(b, err)
					n += len(page.Objects)
					more, o.After = page.More, page.Objects[len(page.Objects)-1].Name
				}
				require.GreaterOrEqual(b, n, count)
			}
		}
		b.Run(fmt.Sprintf("quiet/%d", count), list)
		b.Run(fmt.Sprintf("writer/%d", count), func(b *testing.B) {
			stop, slowest := make(chan struct{}), make(chan time.Duration)
			go func() { slowest <- r.write(b, stop) }()
			list(b)
			close(stop)
			b.ReportMetric(float64((<-slowest).Milliseconds()), "ms-slowest-write")
		})
	}
}

// write replaces objects, and each tenth time creates one, until it is told to stop.
func (r records) write(b *testing.B, stop chan struct{}) (slowest time.Duration) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return slowest
		default:
		}
		began := time.Now()
		i := n * 7919 % len(r.versions)
		assert.NoError(b, r.put(b, i, backend.IfVersion(r.versions[i])))
		if n%10 == 0 {
			name := fmt.Sprintf("db/c/new-%06d", i)
			_, err := r.store.Put(b.Context(), name, nil, backend.IfAbsent())
			if !errors.Is(err, backend.ErrPrecondition) {
				assert.NoError(b, err)
			}
		}
		slowest = max(slowest, time.Since(began))
	}
}

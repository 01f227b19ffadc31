package otelkv_test

import (
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/otelkv"
)

// BenchmarkCost compares transactions in memory without an observer, with one that does nothing,
// and with metrics, one of each in turn, by what they take at the median and at the 99th
// percentile. Those of one key are measured by the processor's time of the thread that runs them: by
// the clock, the 99th percentile shows what else the machine does. Those of several keys use several
// threads.
func BenchmarkCost(b *testing.B) {
	metrics, err := otelkv.New(metrics())
	require.NoError(b, err)
	begun := time.Now()
	for _, x := range []struct {
		name string
		keys int
		now  func() time.Duration
	}{
		{"keys=1", 1, spent},
		{"keys=10", 10, func() time.Duration { return time.Since(begun) }},
	} {
		b.Run(x.name, func(b *testing.B) {
			if x.keys == 1 {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			asking := reading(x.now)
			runs := []update{
				newUpdate(b, x.keys), newUpdate(b, x.keys, strictkv.WithObserver(nothing())),
				newUpdate(b, x.keys, strictkv.WithObserver(metrics)),
			}
			took := make([][]time.Duration, len(runs))
			for i := range took {
				took[i] = make([]time.Duration, 0, b.N)
			}
			for range b.N {
				for i, run := range runs {
					start := x.now()
					if err := run(); err != nil {
						b.Fatal(err)
					}
					took[i] = append(took[i], x.now()-start-asking)
				}
			}
			report(b, took)
		})
	}
}

// report tells what the first of the runs takes, and how much more the others do.
func report(b *testing.B, took [][]time.Duration) {
	for _, all := range took {
		slices.Sort(all)
	}
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", .5}, {"p99", .99}} {
		of := func(i int) float64 { return float64(took[i][int(q.at*float64(len(took[i])-1))]) }
		b.ReportMetric(of(0), q.name+"-ns")
		b.ReportMetric(100*(of(1)/of(0)-1), "nothing-"+q.name+"-%")
		b.ReportMetric(100*(of(2)/of(0)-1), "metrics-"+q.name+"-%")
	}
}

// spent is the processor's time that the thread has had.
func spent() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// reading is how long it takes to read a clock.
func reading(now func() time.Duration) time.Duration {
	least := time.Duration(math.MaxInt64)
	for range 10000 {
		start := now()
		least = min(least, now()-start)
	}
	return least
}

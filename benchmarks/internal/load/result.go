package load

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/strictkv/strictkv"
)

// latencyMax is the longest that can be recorded, in microseconds; longer ones count as that.
const latencyMax = int64(time.Hour / time.Microsecond)

// Result is what the workers did in the time that counts.
type Result struct {
	// Time is how long that was.
	Time time.Duration
	// Kinds are the kinds of transactions.
	Kinds []*Kind
	// Workers counts the transactions of each worker.
	Workers []int64
	// Failed is how many transactions were in doubt, or refused by the store for too long.
	Failed int64
	// Stats are the sum of all handles'.
	Stats Stats
}

// Kind is one kind of transactions.
type Kind struct {
	Name string
	// Count is how many ended in the time that counts.
	Count int64

	seconds   []int64                 // how many ended in each second
	latencies *hdrhistogram.Histogram // in microseconds
}

// ended counts one that did so after a time.
func (k *Kind) ended(after time.Duration) {
	for i := int(after / time.Second); len(k.seconds) <= i; {
		k.seconds = append(k.seconds, 0)
	}
	k.seconds[int(after/time.Second)]++
}

// Lasting compares how many ended in the last seconds to how many did in the first: 1 is a
// load that neither slows down nor speeds up.
func (k *Kind) Lasting(seconds int, all time.Duration) float64 {
	sum := func(from int) (n int64) {
		for i := from; i < from+seconds; i++ {
			if i >= 0 && i < len(k.seconds) {
				n += k.seconds[i]
			}
		}
		return n
	}
	return float64(sum(int(all/time.Second)-seconds)) / float64(max(sum(0), 1))
}

func newResult(kinds []string, workers int) *Result {
	r := &Result{Workers: make([]int64, workers)}
	for _, name := range kinds {
		h := hdrhistogram.New(1, latencyMax, 3)
		r.Kinds = append(r.Kinds, &Kind{Name: name, latencies: h})
	}
	return r
}

// Count is the number of transactions of all kinds.
func (r *Result) Count() (n int64) {
	for _, k := range r.Kinds {
		n += k.Count
	}
	return n
}

// PerSecond is the throughput of all kinds.
func (r *Result) PerSecond() float64 { return float64(r.Count()) / r.Time.Seconds() }

// Fairness compares the slowest and the fastest worker with the mean: 1 and 1 is fair.
func (r *Result) Fairness() (slowest, fastest float64) {
	return Fairness(r.Workers)
}

// Fairness is the least and the greatest count, each divided by the mean.
func Fairness(counts []int64) (slowest, fastest float64) {
	var sum int64
	for _, n := range counts {
		sum += n
	}
	if sum == 0 {
		return 0, 0
	}
	mean := float64(sum) / float64(len(counts))
	return float64(slices.Min(counts)) / mean, float64(slices.Max(counts)) / mean
}

// Quantile is the latency that the share q of the transactions did not exceed, in ms.
func (k *Kind) Quantile(q float64) float64 {
	return float64(k.latencies.ValueAtQuantile(q*100)) / 1000
}

// Mean is that of the latencies, in ms.
func (k *Kind) Mean() float64 { return k.latencies.Mean() / 1000 }

// Max is the greatest latency, in ms.
func (k *Kind) Max() float64 { return float64(k.latencies.Max()) / 1000 }

// Stats are the counters of strictkv.Stats that benchmarks report.
type Stats struct {
	// Retries counts runs of a function that were made again.
	Retries int64
	// Groups counts commits that were not refused.
	Groups int64
	// Requests by kind: NotModified are those of the Gets so answered.
	Gets, NotModified, Puts, Deletes, Lists int64
}

func statsOf(s strictkv.Stats) Stats {
	return Stats{
		Retries: s.StaleReads + s.Refused,
		Groups:  s.Direct + s.Parallel + s.Validated - s.Refused,
		Gets:    s.Gets, NotModified: s.NotModified, Puts: s.Puts,
		Deletes: s.Deletes, Lists: s.Lists,
	}
}

func (s Stats) add(o Stats) Stats {
	return Stats{
		s.Retries + o.Retries, s.Groups + o.Groups, s.Gets + o.Gets,
		s.NotModified + o.NotModified, s.Puts + o.Puts, s.Deletes + o.Deletes, s.Lists + o.Lists,
	}
}

// Sub returns what has been counted since an earlier state.
func (s Stats) Sub(earlier Stats) Stats {
	return Stats{
		s.Retries - earlier.Retries, s.Groups - earlier.Groups, s.Gets - earlier.Gets,
		s.NotModified - earlier.NotModified, s.Puts - earlier.Puts,
		s.Deletes - earlier.Deletes, s.Lists - earlier.Lists,
	}
}

// Requests is the number of requests of all kinds.
func (s Stats) Requests() int64 { return s.Gets + s.Puts + s.Deletes + s.Lists }

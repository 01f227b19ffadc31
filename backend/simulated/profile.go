package simulated

import (
	"math"
	"time"

	"github.com/strictkv/strictkv/internal/seam"
)

// Latency is the distribution of the time from a request to its answer:
// lognormal, as that of real stores is, roughly.
type Latency struct {
	// Mean is the average.
	Mean time.Duration
	// Deviation is the standard deviation; 0 means that all requests take Mean.
	Deviation time.Duration
}

// Profile says how a store behaves in time.
type Profile struct {
	// Get is for a Get that is answered with data.
	Get Latency
	// Stat is for a Get that is answered without: not modified, not found.
	Stat Latency
	// Put is for a Put of few data, and for a Delete.
	Put Latency
	// PutPerMiB is what each MiB of data adds to a Put, exactly.
	PutPerMiB time.Duration
	// List is for a page of a listing.
	List Latency
	// OneWritePerSecond makes the store refuse, with ErrThrottled, more than one
	// write of an object per second. Bursts of up to three pass, if the object
	// has been left alone before. Refused writes do not count.
	OneWritePerSecond bool
	// InTurn lets writes that exceed that wait, in order, instead of being refused. They
	// count all, those included whose condition fails.
	InTurn bool
	// TailIn makes one of so many requests take TailTimes as long; 0 is none.
	TailIn    int
	TailTimes float64
	// BusyIn makes the store refuse one of so many writes with ErrThrottled; 0 is none.
	BusyIn int
}

// Times is the profile of a client that is further away: each request takes so many times as
// long.
func (p Profile) Times(factor float64) Profile {
	for _, l := range []*Latency{&p.Get, &p.Stat, &p.Put, &p.List} {
		l.Mean = time.Duration(float64(l.Mean) * factor)
		l.Deviation = time.Duration(float64(l.Deviation) * factor)
	}
	p.PutPerMiB = time.Duration(float64(p.PutPerMiB) * factor)
	return p
}

const ms = time.Millisecond

// GCS is like Google Cloud Storage from within its region. OneWritePerSecond,
// which the real service documents, is off.
func GCS() Profile {
	return Profile{
		Get:       Latency{57 * ms, 6600 * time.Microsecond},
		Stat:      Latency{31 * ms, 8 * ms},
		Put:       Latency{70 * ms, 17300 * time.Microsecond},
		PutPerMiB: 47 * ms,
		List:      Latency{60 * ms, 10 * ms},
	}
}

// S3 is like Amazon S3 from within its region.
func S3() Profile {
	return Profile{
		Get:       Latency{22 * ms, 9 * ms},
		Stat:      Latency{21 * ms, 9 * ms},
		Put:       Latency{55 * ms, 18 * ms},
		PutPerMiB: 20 * ms,
		List:      Latency{22 * ms, 8 * ms},
	}
}

// Azure is like the standard tier of Azure Blob Storage from within its region, roughly: no
// table of its latencies by kind of request was at hand. Its blobs are said to take 9 to 10
// conditional updates in turn per second where objects of S3 take 15, so it is S3 made
// slower by that ratio.
func Azure() Profile {
	return Profile{
		Get:       Latency{35 * ms, 14 * ms},
		Stat:      Latency{33 * ms, 14 * ms},
		Put:       Latency{87 * ms, 28 * ms},
		PutPerMiB: 32 * ms,
		List:      Latency{35 * ms, 13 * ms},
	}
}

// Constant is a store where every request takes exactly d, so that the time of a
// transaction, in virtual time, counts its rounds.
func Constant(d time.Duration) Profile {
	l := Latency{Mean: d}
	return Profile{Get: l, Stat: l, Put: l, List: l}
}

// draw is the latency at z standard deviations, on the logarithmic scale, above
// the median.
func (l Latency) draw(z float64) time.Duration {
	if l.Deviation == 0 {
		return l.Mean
	}
	ratio := float64(l.Deviation) / float64(l.Mean)
	variance := math.Log1p(ratio * ratio)
	return time.Duration(float64(l.Mean) * math.Exp(z*math.Sqrt(variance)-variance/2))
}

// normal draws from the standard normal distribution (Box and Muller).
func normal(rt seam.Runtime) float64 {
	// In (0, 1], for the logarithm.
	u := (float64(rt.Uint64()>>11) + 1) / (1 << 53)
	v := float64(rt.Uint64()>>11) / (1 << 53)
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}

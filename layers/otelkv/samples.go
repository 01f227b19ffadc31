package otelkv

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// OpenTelemetry has no histogram that is read when metrics are collected, as counters can be: each
// sample has to be recorded by itself, which takes as long as a twentieth of a transaction in
// memory. So samples are kept for a while, and recorded by a goroutine when there are many, or when
// metrics are collected.

const (
	// samplesMax is how many samples a shard keeps.
	samplesMax = 256
	// shardsMax is how many shards there are at most.
	shardsMax = 64
)

// series is one of a histogram: its attributes are made once. Some count more than the histogram
// does.
type series struct {
	number uint32
	of     metric.Float64Histogram
	with   []metric.RecordOption
	count  func(tally)
}

func (s *series) record(ctx context.Context, took time.Duration, more tally) {
	s.of.Record(ctx, took.Seconds(), s.with...)
	if s.count != nil {
		s.count(more)
	}
}

// tally is what there is to count besides a duration: runs, rounds and requests of a transaction,
// or the bytes that a request has read and written.
type tally struct{ a, b, c int }

// sample is one of a series, as it is kept: without pointers, which the garbage collector would
// want to know of, and small, as another processor reads it.
type sample struct {
	of      uint32 // the number of the series
	a, b, c uint32 // the tally
	took    time.Duration
}

// fits reports whether a sample has room for a tally.
func (t tally) fits() bool { return uint64(t.a|t.b|t.c) <= math.MaxUint32 }

// samples are those that are kept, in shards, of which a goroutine takes any: they seldom meet.
type samples struct {
	shards []shard
	// exemplars says that spans are made, of which some samples are to be examples.
	exemplars bool

	mu  sync.RWMutex // guards all
	all []*series    // by their numbers; never changed, but for what is added
}

// shard is one of them. Who fills it gives its samples to a goroutine, which gives the room back.
// Until it has, samples that find no room are recorded at once. So nobody ever waits, and what is
// kept has a bound.
type shard struct {
	// recording is held while samples that were taken out are recorded; it is taken before mu, or
	// tried. It guards spare.
	recording sync.Mutex
	spare     []sample

	mu   sync.Mutex // guards all below
	kept []sample

	_ [64]byte // the next one's lock is in another line of the processor's cache
}

func newSamples(exemplars bool) *samples {
	s := &samples{
		shards:    make([]shard, min(2*runtime.GOMAXPROCS(0), shardsMax)),
		exemplars: exemplars,
	}
	for i := range s.shards {
		x := &s.shards[i]
		x.kept, x.spare = make([]sample, 0, samplesMax), make([]sample, 0, samplesMax)
	}
	return s
}

// register numbers a series, and returns it.
func (s *samples) register(x *series) *series {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.number = uint32(len(s.all)) //nolint:gosec // there are not so many
	s.all = append(s.all, x)
	return x
}

// add records a sample, later perhaps. That of a span that is traced is recorded at once: it may
// be an exemplar, which is taken from the context.
func (s *samples) add(ctx context.Context, of *series, took time.Duration, more tally) {
	if s.exemplars && trace.SpanContextFromContext(ctx).IsSampled() || !more.fits() ||
		!s.keep(sample{of.number, uint32(more.a), uint32(more.b), uint32(more.c), took}) {
		of.record(ctx, took, more)
	}
}

// keep reports whether the sample is kept.
func (s *samples) keep(one sample) bool {
	x := s.shard(one.took)
	if !x.mu.TryLock() {
		return false
	}
	if len(x.kept) == samplesMax && !s.empty(x) {
		x.mu.Unlock()
		return false
	}
	x.kept = append(x.kept, one)
	x.mu.Unlock()
	return true
}

// shard is one of the shards. How long something took is as good as a random number,
// and there already.
func (s *samples) shard(took time.Duration) *shard {
	const odd = 0x9E3779B1 // it scatters those that differ in few bits, or in all but the lowest
	return &s.shards[uint64(uint32(took)*odd)*uint64(len(s.shards))>>32]
}

// empty has a goroutine record what a shard keeps, and reports whether there is room now.
func (s *samples) empty(x *shard) bool {
	if !x.recording.TryLock() {
		return false
	}
	go s.record(x, x.take())
	return true
}

// take is called with both locks held.
func (x *shard) take() []sample {
	all := x.kept
	x.kept, x.spare = x.spare, nil
	return all
}

// record records what was taken from a shard, and gives up its lock.
func (s *samples) record(x *shard, taken []sample) {
	defer x.recording.Unlock()
	s.mu.RLock()
	all := s.all
	s.mu.RUnlock()
	for _, one := range taken {
		more := tally{int(one.a), int(one.b), int(one.c)}
		all[one.of].record(context.Background(), one.took, more)
	}
	x.spare = taken[:0]
}

// flush records all that was kept before, and waits for what others are recording.
func (s *samples) flush() {
	for i := range s.shards {
		x := &s.shards[i]
		x.recording.Lock()
		x.mu.Lock()
		taken := x.take()
		x.mu.Unlock()
		s.record(x, taken)
	}
}

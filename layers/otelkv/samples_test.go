package otelkv_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/otelkv"
	"github.com/strictkv/strictkv/layers/otelkv/internal/instrument"
)

// exporter adds up what a periodic reader exports, at its shutdown at the latest.
type exporter struct {
	sdkmetric.Exporter

	samples uint64
	seconds float64
	runs    int64
	read    int64
	points  []uint64 // samples by series
	example []metricdata.Exemplar[float64]
}

func (*exporter) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.DeltaTemporality
}

func (*exporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (*exporter) ForceFlush(context.Context) error { return nil }
func (*exporter) Shutdown(context.Context) error   { return nil }

func (x *exporter) Export(_ context.Context, rm *metricdata.ResourceMetrics) error {
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					x.samples, x.seconds = x.samples+p.Count, x.seconds+p.Sum
					x.points = append(x.points, p.Count)
					x.example = append(x.example, p.Exemplars...)
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					if m.Name == instrument.TxRuns.Name {
						x.runs += p.Value
					}
					if m.Name == instrument.RequestIO.Name {
						x.read += p.Value
					}
				}
			}
		}
	}
	return nil
}

func newExporter(t *testing.T) (*exporter, *sdkmetric.MeterProvider) {
	x := &exporter{}
	return x, sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(x)))
}

// TestNoSampleIsLost: of more samples than are kept, taken by many while metrics are collected,
// each is exported, at the provider's shutdown at the latest.
func TestNoSampleIsLost(t *testing.T) {
	const workers, each = 8, 5000
	x, provider := newExporter(t)
	o, err := otelkv.New(otelkv.Options{Meters: provider})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range each {
				o.TxEnd(t.Context(), strictkv.TxEnd{
					TxBegin:  strictkv.TxBegin{Database: []string{"a", "b"}[i%2]},
					Duration: time.Second, Runs: 1,
				})
				if i%1000 == 0 {
					assert.NoError(t, provider.ForceFlush(t.Context()))
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, provider.Shutdown(context.Background()))
	assert.Equal(t, uint64(workers*each), x.samples)
	assert.InDelta(t, workers*each, x.seconds, 1e-3)
	assert.Equal(t, int64(workers*each), x.runs)
}

// TestLargeTally: what has no room in a sample that is kept is counted nevertheless.
func TestLargeTally(t *testing.T) {
	const small, large = 7, 5 << 30
	x, provider := newExporter(t)
	o, err := otelkv.New(otelkv.Options{Meters: provider})
	require.NoError(t, err)
	for _, read := range []int{small, large} {
		o.RequestEnd(t.Context(), strictkv.RequestEnd{
			RequestBegin: strictkv.RequestBegin{Database: "a"}, BytesRead: read,
		})
	}
	require.NoError(t, provider.Shutdown(context.Background()))
	assert.Equal(t, uint64(2), x.samples)
	assert.Equal(t, int64(small+large), x.read)
}

// TestSeriesAreToldApart: transactions whose names are of one length, and that end alike, are counted
// apart.
func TestSeriesAreToldApart(t *testing.T) {
	x, provider := newExporter(t)
	o, err := otelkv.New(otelkv.Options{Meters: provider})
	require.NoError(t, err)
	for i := range 9 {
		o.TxEnd(t.Context(), strictkv.TxEnd{
			TxBegin: strictkv.TxBegin{Database: "a", Name: []string{"x", "y", "z"}[i%3]},
		})
	}
	require.NoError(t, provider.Shutdown(context.Background()))
	assert.Equal(t, []uint64{3, 3, 3}, x.points)
}

// TestExemplars: where spans are made, a sample may be an example, which names its span.
func TestExemplars(t *testing.T) {
	x, provider := newExporter(t)
	tracers := sdktrace.NewTracerProvider()
	o, err := otelkv.New(otelkv.Options{Meters: provider, Tracers: tracers})
	require.NoError(t, err)
	begin := strictkv.TxBegin{Database: "a", Start: time.Now()}
	o.TxEnd(o.TxBegin(t.Context(), begin), strictkv.TxEnd{TxBegin: begin, Duration: time.Second})
	require.NoError(t, provider.Shutdown(context.Background()))
	require.Len(t, x.example, 1)
	assert.NotEmpty(t, x.example[0].TraceID)
}

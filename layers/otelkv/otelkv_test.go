package otelkv_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/backend/simulated"
	"github.com/strictkv/strictkv/layers/otelkv"
	"github.com/strictkv/strictkv/layers/otelkv/internal/instrument"
)

// world is a database, and what OpenTelemetry has been told of it.
type world struct {
	t      *testing.T
	store  *simulated.Backend
	db     *strictkv.DB
	users  *strictkv.Collection
	reader *sdkmetric.ManualReader
	spans  *tracetest.InMemoryExporter
}

func newWorld(t *testing.T, o otelkv.Options) *world {
	w := &world{
		t: t, store: simulated.New(memory.New(), nil, simulated.Constant(20*time.Millisecond)),
		reader: sdkmetric.NewManualReader(), spans: tracetest.NewInMemoryExporter(),
	}
	o.Meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.reader))
	o.Tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(w.spans))
	observer, err := otelkv.New(o)
	require.NoError(t, err)
	w.db, err = strictkv.Open(t.Context(), "shop", w.store, strictkv.WithObserver(observer))
	require.NoError(t, err)
	w.users = w.db.Collection([]byte("users"))
	return w
}

// points are those of an instrument; of a histogram they count its samples.
type point struct {
	attributes attribute.Set
	n          int64
}

func (w *world) points(i instrument.Instrument) (all []point) {
	w.t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(w.t, w.reader.Collect(w.t.Context(), &rm))
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			if m.Name != i.Name {
				continue
			}
			assert.Equal(w.t, i.Unit, m.Unit, i.Name)
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				assert.Equal(w.t, i.Kind == instrument.Counter, data.IsMonotonic, i.Name)
				for _, p := range data.DataPoints {
					all = append(all, point{p.Attributes, p.Value})
				}
			case metricdata.Histogram[float64]:
				assert.Equal(w.t, instrument.Histogram, i.Kind, i.Name)
				for _, p := range data.DataPoints {
					all = append(all, point{p.Attributes, int64(p.Count)})
				}
			}
		}
	}
	return all
}

// sum adds up the points that have the attributes, in pairs of key and value.
func (w *world) sum(i instrument.Instrument, want ...string) (n int64) {
	w.t.Helper()
	for _, p := range w.points(i) {
		match := true
		for k := 0; k < len(want); k += 2 {
			v, _ := p.attributes.Value(attribute.Key(want[k]))
			match = match && v.AsString() == want[k+1]
		}
		if match {
			n += p.n
		}
	}
	return n
}

var errOwn = errors.New("own")

// contend has workers at a few keys.
func (w *world) contend() {
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(3, uint64(worker)))
			for range 20 {
				a, b := []byte{byte('a' + r.IntN(4))}, []byte{byte('a' + r.IntN(4))}
				err := w.db.Tx(w.t.Context(), func(tx *strictkv.Tx) error {
					v, err := tx.Read(w.users, a)
					if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
						return err
					}
					if r.IntN(10) == 0 {
						return errOwn
					}
					return tx.Write(w.users, b, append(v[:len(v):len(v)], 'x'))
				}, strictkv.Named("move"))
				if !errors.Is(err, errOwn) {
					assert.NoError(w.t, err)
				}
				if _, err := w.users.Read(w.t.Context(), a); !errors.Is(err, strictkv.ErrNotFound) {
					assert.NoError(w.t, err)
				}
			}
		})
	}
	wg.Wait()
	_, err := w.db.Sweep(w.t.Context(), strictkv.SweepOptions{})
	require.NoError(w.t, err)
}

// TestAddsUp: metrics and spans of a contended run add up to Stats, and to the store's own count.
func TestAddsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, otelkv.Options{RequestSpans: true})
		w.contend()
		require.NoError(t, w.db.Close(t.Context()))
		s, counts := w.db.Stats(), w.store.Counts()
		assert.Positive(t, s.StaleReads+s.Refused, "contended")

		tx := instrument.TxDuration
		assert.Equal(t, s.Committed, w.sum(tx, instrument.Outcome, "committed"))
		assert.Equal(t, s.ReadOnly, w.sum(tx, instrument.Outcome, "read_only"))
		assert.Equal(t, s.Failed, w.sum(tx, instrument.Outcome, "failed"))
		assert.Equal(t, s.Direct, w.sum(instrument.TxAttempts, instrument.Protocol, "direct"))
		assert.Equal(t, s.Parallel, w.sum(instrument.TxAttempts, instrument.Protocol, "parallel"))
		assert.Equal(t, s.Validated, w.sum(instrument.TxAttempts, instrument.Protocol, "validated"))
		assert.Equal(t, s.Refused, w.sum(instrument.TxAttempts, instrument.Outcome, "refused"))
		assert.Equal(t, s.Grouped, w.sum(instrument.TxGrouped))
		assert.Equal(t, s.StaleReads, w.sum(instrument.TxRetries, instrument.Cause, "stale read")+
			w.sum(instrument.TxRetries, instrument.Cause, "write conflict"))
		requests := instrument.RequestDuration
		for op, n := range map[string]int{
			"get": counts.Gets, "put": counts.Puts, "delete": counts.Deletes, "list": counts.Lists,
		} {
			assert.Equal(t, int64(n), w.sum(requests, instrument.Operation, op), op)
		}
		assert.Equal(t, s.Gets+s.Puts+s.Deletes+s.Lists, w.sum(requests))
		assert.Equal(t, s.BytesRead, w.sum(instrument.RequestIO, instrument.Direction, "read"))
		assert.Equal(t, s.BytesWritten,
			w.sum(instrument.RequestIO, instrument.Direction, "written"))
		assert.Zero(t, w.sum(instrument.TxActive))
		assert.Zero(t, w.sum(instrument.RequestActive))
		w.spansAddUp(s)
	})
}

func (w *world) spansAddUp(s strictkv.Stats) {
	t := w.t
	kinds := map[string]int64{}
	var attempts, retries int64
	for _, span := range w.spans.GetSpans() {
		values := attribute.NewSet(span.Attributes...)
		v, _ := values.Value(semconv.DBSystemNameKey)
		assert.Equal(t, "strictkv", v.AsString(), span.Name)
		v, _ = values.Value(semconv.DBNamespaceKey)
		assert.Equal(t, "shop", v.AsString(), span.Name)
		switch op, _ := values.Value(semconv.DBOperationNameKey); op.AsString() {
		case "tx", "view", "read":
			kinds["transactions"]++
			assert.Contains(t, []string{"tx move", "read shop"}, span.Name)
		case "":
			kinds["work"]++
		default:
			kinds["requests"]++
		}
		for _, e := range span.Events {
			switch e.Name {
			case "attempt":
				of := attribute.NewSet(e.Attributes...)
				if v, _ := of.Value(instrument.Protocol); v.AsString() != "locked" {
					attempts++
				}
			case "retry":
				retries++
			}
		}
	}
	assert.Equal(t, s.Committed+s.ReadOnly+s.Failed, kinds["transactions"])
	assert.Equal(t, s.Gets+s.Puts+s.Deletes+s.Lists, kinds["requests"])
	// Those that commit for several are told to the span of one, which may have left before.
	all := s.Direct + s.Parallel + s.Validated
	assert.LessOrEqual(t, attempts, all)
	assert.Greater(t, attempts, all/2)
	assert.Positive(t, retries)
	assert.Positive(t, kinds["work"])
}

// TestSpans: the requests of a transaction are below its span, which tells of its rounds.
func TestSpans(t *testing.T) {
	w := newWorld(t, otelkv.Options{RequestSpans: true, Keys: true})
	w.spans.Reset()
	require.NoError(t, w.db.Tx(t.Context(), func(tx *strictkv.Tx) error {
		if _, err := tx.Read(w.users, []byte("alice\n")); !errors.Is(err, strictkv.ErrNotFound) {
			return err
		}
		return tx.Write(w.users, []byte("alice\n"), []byte("secret"))
	}, strictkv.Named("sign up")))
	require.NoError(t, w.db.Close(t.Context()))
	spans := w.spans.GetSpans()
	require.Len(t, spans, 3)
	assert.Equal(t, []string{"get cell", "put cell", "tx sign up"},
		[]string{spans[0].Name, spans[1].Name, spans[2].Name})
	tx := spans[2]
	for _, request := range spans[:2] {
		assert.Equal(t, tx.SpanContext.SpanID(), request.Parent.SpanID())
	}
	var events []string
	for _, e := range tx.Events {
		events = append(events, e.Name)
	}
	assert.Equal(t, []string{"round", "round", "attempt"}, events)
	assert.Equal(t, codes.Unset, tx.Status.Code)
	assert.NotContains(t, fmt.Sprint(spans), "secret")
}

// TestNoKeys: neither spans nor metrics have keys, unless they are asked for.
func TestNoKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, otelkv.Options{RequestSpans: true})
		key := []byte("someones-name")
		_, err := w.users.Read(t.Context(), key)
		require.ErrorIs(t, err, strictkv.ErrNotFound)
		require.NoError(t, w.users.Write(t.Context(), key, []byte("a value")))
		err = w.db.Tx(t.Context(), func(tx *strictkv.Tx) error {
			return tx.Insert(w.users, key, nil)
		})
		require.ErrorIs(t, err, strictkv.ErrExists)
		require.NoError(t, w.db.Close(t.Context()))
		text := fmt.Sprint(w.spans.GetSpans())
		for _, i := range instrument.All {
			text += fmt.Sprint(w.points(i))
		}
		assert.NotContains(t, text, "someones")
		assert.NotContains(t, text, "a value")
		assert.Contains(t, text, "exists", "error.type")
	})
}

// TestTxNamesMax: names of transactions cannot make any number of series.
func TestTxNamesMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, otelkv.Options{TxNamesMax: 3})
		for i := range 10 {
			require.NoError(t, w.db.View(t.Context(), func(*strictkv.Tx) error { return nil },
				strictkv.Named(fmt.Sprint("name ", i))))
		}
		require.NoError(t, w.db.Close(t.Context()))
		assert.Equal(t, int64(7), w.sum(instrument.TxDuration, instrument.TxName, otelkv.OtherName))
		assert.Len(t, w.points(instrument.TxDuration), 4)
	})
}

// TestInstruments: what is exported is what the table says, with no other attributes.
func TestInstruments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, otelkv.Options{})
		w.contend()
		require.NoError(t, w.db.Close(t.Context()))
		var rm metricdata.ResourceMetrics
		require.NoError(t, w.reader.Collect(t.Context(), &rm))
		require.Len(t, rm.ScopeMetrics, 1)
		known := map[string]instrument.Instrument{}
		for _, i := range instrument.All {
			known[i.Name] = i
		}
		for _, m := range rm.ScopeMetrics[0].Metrics {
			require.Contains(t, known, m.Name)
			allowed := append(known[m.Name].Attributes, instrument.System, instrument.Namespace)
			for _, p := range w.points(known[m.Name]) {
				for _, kv := range p.attributes.ToSlice() {
					assert.Contains(t, allowed, string(kv.Key), m.Name)
				}
			}
			delete(known, m.Name)
		}
		delete(known, instrument.RequestResent.Name) // nothing has failed
		assert.Empty(t, known, "never exported")
	})
}

// TestConventions: names that the semantic conventions have are theirs.
func TestConventions(t *testing.T) {
	for name, key := range map[string]attribute.Key{
		instrument.System: semconv.DBSystemNameKey, instrument.Namespace: semconv.DBNamespaceKey,
		instrument.Operation: semconv.DBOperationNameKey,
		instrument.ErrorType: semconv.ErrorTypeKey,
	} {
		assert.Equal(t, string(key), name)
	}
}

// TestNothing: without providers nothing is told.
func TestNothing(t *testing.T) {
	o, err := otelkv.New(otelkv.Options{})
	require.NoError(t, err)
	db, err := strictkv.Open(t.Context(), "shop", memory.New(), strictkv.WithObserver(o))
	require.NoError(t, err)
	require.NoError(t, db.View(context.Background(), func(*strictkv.Tx) error { return nil }))
	require.NoError(t, db.Close(t.Context()))
}

package otelkv_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/otelkv"
)

// update is a transaction that reads a key and writes it.
type update func() error

func newUpdate(b *testing.B, keys int, opts ...strictkv.Option) update {
	db, err := strictkv.Open(b.Context(), "db", memory.New(), opts...)
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close(b.Context()) })
	c := db.Collection([]byte("c"))
	return func() error {
		return db.Tx(b.Context(), func(tx *strictkv.Tx) error {
			for i := range keys {
				key := []byte{'k', byte(i)}
				v, err := tx.Read(c, key)
				if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
					return err
				}
				if err := tx.Write(c, key, append(v[:0:0], 'x')); err != nil {
					return err
				}
			}
			return nil
		}, strictkv.Named("update"))
	}
}

func metrics() otelkv.Options {
	return otelkv.Options{
		Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
	}
}

// BenchmarkTx is a transaction in memory, without an observer, with metrics, and with spans that
// are recorded and dropped.
func BenchmarkTx(b *testing.B) {
	spans := otelkv.Options{Tracers: sdktrace.NewTracerProvider()}
	spansToo := spans
	spansToo.RequestSpans = true
	for _, x := range []struct {
		name string
		o    otelkv.Options
	}{
		{"none", otelkv.Options{}}, {"metrics", metrics()}, {"spans", spans},
		{"request_spans", spansToo},
	} {
		b.Run(x.name, func(b *testing.B) {
			observer, err := otelkv.New(x.o)
			require.NoError(b, err)
			var opts []strictkv.Option
			if x.o != (otelkv.Options{}) {
				opts = append(opts, strictkv.WithObserver(observer))
			}
			run := newUpdate(b, 1, opts...)
			b.ReportAllocs()
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// nothing is an observer that is told all that metrics are, and does nothing.
func nothing() strictkv.Observer {
	return strictkv.Observer{
		TxBegin: func(ctx context.Context, _ strictkv.TxBegin) context.Context { return ctx },
		TxEnd:   func(context.Context, strictkv.TxEnd) {},
		RequestBegin: func(ctx context.Context, _ strictkv.RequestBegin) context.Context {
			return ctx
		},
		RequestEnd: func(context.Context, strictkv.RequestEnd) {},
		TxAttempt:  func(context.Context, strictkv.TxAttempt) {},
	}
}

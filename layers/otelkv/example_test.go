package otelkv_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/otelkv"
)

func ExampleNew() {
	ctx := context.Background()
	spans := tracetest.NewInMemoryExporter() // a program sends them to a collector
	observer, err := otelkv.New(otelkv.Options{
		Tracers:      sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
		RequestSpans: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	db, err := strictkv.Open(ctx, "shop", memory.New(), strictkv.WithObserver(observer))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close(ctx)
	spans.Reset()
	carts := db.Collection([]byte("carts"))
	err = db.Tx(ctx, func(tx *strictkv.Tx) error {
		return tx.Write(carts, []byte("alice"), []byte("apples"))
	}, strictkv.Named("checkout"))
	for _, span := range spans.GetSpans() {
		fmt.Println(span.Name)
	}
	fmt.Println(err)
	// Output:
	// get cell
	// put cell
	// tx checkout
	// <nil>
}

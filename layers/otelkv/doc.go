// Package otelkv tells OpenTelemetry what a database does: metrics of transactions, requests,
// conflicts and background work, and traces with a span for each transaction. It needs the API of
// OpenTelemetry alone; where the data go is what the program's SDK is set up for.
//
//	observer, err := otelkv.New(otelkv.Options{
//		Meters: otel.GetMeterProvider(), Tracers: otel.GetTracerProvider(),
//	})
//	db, err := strictkv.Open(ctx, "shop", bucket, strictkv.WithObserver(observer))
//
// Names follow the semantic conventions for databases where these have one (db.system.name,
// db.namespace, db.operation.name, db.client.operation.duration), else they begin with strictkv.
//
// The number of series has a bound: attributes of metrics are of fixed sets, but for the names of
// databases, which the program chooses, and those of transactions (strictkv.Named), of which no
// more than Options.TxNamesMax are told apart. Keys and values are never in metrics, and keys in
// spans only with Options.Keys.
package otelkv

//go:generate go run ./dashboard dashboard.json

package otelkv

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend"
)

const (
	// scope is the name of the instrumentation.
	scope = "github.com/strictkv/strictkv/layers/otelkv"
	// system is db.system.name.
	system = "strictkv"
	// DefaultTxNamesMax is how many names of transactions metrics tell apart.
	DefaultTxNamesMax = 100
	// OtherName stands for the names beyond.
	OtherName = "_other"
)

// Options say what is told.
type Options struct {
	// Meters is where metrics go; nil makes none.
	Meters metric.MeterProvider
	// Tracers is where spans go; nil makes none.
	Tracers trace.TracerProvider
	// RequestSpans gives each request to the store a span of its own, below that of its
	// transaction.
	RequestSpans bool
	// Keys puts keys, and names of objects, which have keys in them, into spans. They may be
	// personal data.
	Keys bool
	// TxNamesMax is how many names of transactions metrics tell apart, the first that come; others
	// are OtherName. 0 is DefaultTxNamesMax.
	TxNamesMax int
}

// New returns an observer for strictkv.WithObserver. It may serve any number of handles, and lasts
// as long as the providers do: make one for a program. An error is of the meter provider.
func New(o Options) (strictkv.Observer, error) {
	if o.TxNamesMax <= 0 {
		o.TxNamesMax = DefaultTxNamesMax
	}
	var metrics, spans strictkv.Observer
	if o.Meters != nil {
		m, err := newMeter(o)
		if err != nil {
			return strictkv.Observer{}, fmt.Errorf("otelkv: %w", err)
		}
		metrics = m.observer()
	}
	if o.Tracers != nil {
		spans = newTracer(o).observer()
	}
	return join(metrics, spans), nil
}

// join is an observer that tells both.
func join(a, b strictkv.Observer) strictkv.Observer {
	return strictkv.Observer{
		TxBegin:      then(a.TxBegin, b.TxBegin),
		TxEnd:        both(a.TxEnd, b.TxEnd),
		TxAttempt:    both(a.TxAttempt, b.TxAttempt),
		TxRetry:      both(a.TxRetry, b.TxRetry),
		WaitEnd:      both(a.WaitEnd, b.WaitEnd),
		RequestBegin: then(a.RequestBegin, b.RequestBegin),
		RequestEnd:   both(a.RequestEnd, b.RequestEnd),
		Resend:       both(a.Resend, b.Resend),
		WorkBegin:    then(a.WorkBegin, b.WorkBegin),
		WorkEnd:      both(a.WorkEnd, b.WorkEnd),
	}
}

func both[E any](a, b func(context.Context, E)) func(context.Context, E) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(ctx context.Context, e E) {
		a(ctx, e)
		b(ctx, e)
	}
}

func then[E any](
	a, b func(context.Context, E) context.Context,
) func(context.Context, E) context.Context {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(ctx context.Context, e E) context.Context { return b(a(ctx, e), e) }
}

// errorType is the value of error.type for an error of a transaction: one of a fixed set.
func errorType(err error) string {
	for _, x := range []struct {
		err  error
		name string
	}{
		{strictkv.ErrInDoubt, "in_doubt"}, {strictkv.ErrConflict, "conflict"},
		{strictkv.ErrAborted, "aborted"}, {strictkv.ErrNotFound, "not_found"},
		{strictkv.ErrExists, "exists"}, {strictkv.ErrVersion, "version"},
		{strictkv.ErrReadOnly, "read_only"}, {strictkv.ErrTooLarge, "too_large"},
		{strictkv.ErrInvalidKey, "invalid_key"}, {strictkv.ErrInvalid, "invalid"},
		{strictkv.ErrCorrupt, "corrupt"}, {strictkv.ErrFormat, "format"},
		// A request that its caller has ended may match what it looks like, too.
		{context.DeadlineExceeded, "timeout"}, {context.Canceled, "canceled"},
		{backend.ErrThrottled, "throttled"}, {backend.ErrUnavailable, "unavailable"},
		{backend.ErrDenied, "denied"}, {backend.ErrBucketNotFound, "bucket_not_found"},
	} {
		if errors.Is(err, x.err) {
			return x.name
		}
	}
	return "_OTHER"
}

// printable is a key as text that fits into one line.
func printable(key []byte) string {
	quoted := strconv.Quote(string(key))
	return quoted[1 : len(quoted)-1]
}

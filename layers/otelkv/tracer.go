package otelkv

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/otelkv/internal/instrument"
)

// Attributes of spans and their events alone.
const (
	attrRuns     = "strictkv.tx.runs"
	attrAttempts = "strictkv.tx.attempts"
	attrRequests = "strictkv.tx.requests"
	attrRounds   = "strictkv.tx.rounds"
	attrRound    = "strictkv.tx.round"
	attrRead     = "strictkv.bytes.read"
	attrWritten  = "strictkv.bytes.written"
	attrWaited   = "strictkv.tx.waited_seconds"
	attrGrouped  = "strictkv.tx.grouped"
	attrKeys     = "strictkv.keys"
	attrKey      = "strictkv.key"
	attrObject   = "strictkv.object.name"
	attrObjects  = "strictkv.objects"
	attrTry      = "strictkv.request.try"
	attrPause    = "strictkv.request.pause_seconds"
	attrDuration = "strictkv.duration_seconds"
)

// tracer makes spans.
type tracer struct {
	api trace.Tracer
	o   Options
}

func newTracer(o Options) *tracer { return &tracer{api: o.Tracers.Tracer(scope), o: o} }

func (t *tracer) observer() strictkv.Observer {
	return strictkv.Observer{
		TxBegin: t.txBegin, TxEnd: t.txEnd, TxAttempt: t.txAttempt, TxRetry: t.txRetry,
		WaitEnd: t.waitEnd, RequestBegin: t.requestBegin, RequestEnd: t.requestEnd,
		Resend: t.resend, WorkBegin: t.workBegin, WorkEnd: t.workEnd,
	}
}

// txSpan is a transaction's span, and the number of its rounds that it has been told of.
type txSpan struct {
	trace.Span
	told atomic.Int64
}

// The keys of what contexts hold: other observers may have put spans of theirs into them.
type (
	txKey      struct{}
	requestKey struct{}
	workKey    struct{}
)

func (t *tracer) txBegin(ctx context.Context, e strictkv.TxBegin) context.Context {
	name, attributes := e.Kind.String(), append(base(e.Database),
		attribute.String(instrument.Operation, e.Kind.String()))
	if e.Name != "" {
		name += " " + e.Name
		attributes = append(attributes, attribute.String(instrument.TxName, e.Name))
	} else {
		name += " " + e.Database
	}
	ctx, span := t.api.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithTimestamp(e.Start), trace.WithAttributes(attributes...))
	return context.WithValue(ctx, txKey{}, &txSpan{Span: span})
}

func (t *tracer) txEnd(ctx context.Context, e strictkv.TxEnd) {
	span, ok := ctx.Value(txKey{}).(*txSpan)
	if !ok {
		return
	}
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String(instrument.Outcome, e.Outcome.String()),
			attribute.String(instrument.Protocol, e.Protocol.String()),
			attribute.Int(attrRuns, e.Runs), attribute.Int(attrAttempts, e.Attempts),
			attribute.Int(attrRequests, e.Requests), attribute.Int(attrRounds, e.Rounds),
			attribute.Int64(attrRead, e.BytesRead), attribute.Int64(attrWritten, e.BytesWritten),
			attribute.Float64(attrWaited, e.Waited.Seconds()),
			attribute.Bool(attrGrouped, e.Grouped),
		)
		if e.Outcome == strictkv.OutcomeAborted && e.Err == nil {
			span.SetStatus(codes.Error, "the function panicked")
		}
		t.fail(span, e.Err, e.Outcome != strictkv.OutcomeReadOnly)
	}
	span.End(trace.WithTimestamp(e.Start.Add(e.Duration)))
}

// fail notes an error by its type. Its text may have keys, and what a user's function says.
func (t *tracer) fail(span trace.Span, err error, status bool) {
	if err == nil {
		return
	}
	kind := errorType(err)
	span.SetAttributes(attribute.String(instrument.ErrorType, kind))
	if status {
		text := kind
		if t.o.Keys {
			text = err.Error()
		}
		span.SetStatus(codes.Error, text)
	}
}

func (t *tracer) event(ctx context.Context, name string, attributes ...attribute.KeyValue) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent(name, trace.WithAttributes(attributes...))
	}
}

// withKey adds a key, if keys are wanted.
func (t *tracer) withKey(all []attribute.KeyValue, key strictkv.Key) []attribute.KeyValue {
	if t.o.Keys && key.Collection != nil {
		all = append(all, attribute.String(attrKey, printable(key.Key)))
	}
	return all
}

func (t *tracer) txAttempt(ctx context.Context, e strictkv.TxAttempt) {
	t.event(ctx, "attempt", t.withKey([]attribute.KeyValue{
		attribute.String(instrument.Protocol, e.Protocol.String()),
		attribute.String(instrument.Outcome, e.Outcome.String()),
		attribute.Int(attrKeys, e.Keys),
	}, e.Lost)...)
}

func (t *tracer) txRetry(ctx context.Context, e strictkv.TxRetry) {
	t.event(ctx, "retry", t.withKey([]attribute.KeyValue{
		attribute.String(instrument.Cause, e.Cause.String()),
	}, e.Lost)...)
}

func (t *tracer) waitEnd(ctx context.Context, e strictkv.WaitEnd) {
	t.event(ctx, "wait", t.withKey([]attribute.KeyValue{
		attribute.String(instrument.For, e.For.String()),
		attribute.String(instrument.Outcome, e.Outcome.String()),
		seconds(attrDuration, e.Duration),
	}, e.Key)...)
}

func (t *tracer) resend(ctx context.Context, e strictkv.Resend) {
	t.event(ctx, "resend", attribute.Int(attrTry, e.Try), seconds(attrPause, e.Pause),
		attribute.String(instrument.Result, e.Result.String()))
}

func (t *tracer) requestBegin(ctx context.Context, e strictkv.RequestBegin) context.Context {
	t.round(ctx, e.Round)
	if !t.o.RequestSpans {
		return ctx
	}
	attributes := append(base(e.Database),
		attribute.String(instrument.Operation, e.Op.String()),
		attribute.String(instrument.Object, e.Kind.String()), attribute.Int(attrRound, e.Round))
	if t.o.Keys {
		attributes = append(attributes, attribute.String(attrObject, e.Object))
	}
	ctx, span := t.api.Start(ctx, e.Op.String()+" "+e.Kind.String(),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(e.Start),
		trace.WithAttributes(attributes...))
	return context.WithValue(ctx, requestKey{}, span)
}

// round tells the transaction's span of a round that begins.
func (t *tracer) round(ctx context.Context, n int) {
	span, ok := ctx.Value(txKey{}).(*txSpan)
	if !ok || n == 0 || !span.IsRecording() {
		return
	}
	if told := span.told.Load(); int64(n) > told && span.told.CompareAndSwap(told, int64(n)) {
		span.AddEvent("round", trace.WithAttributes(attribute.Int(attrRound, n)))
	}
}

func (t *tracer) requestEnd(ctx context.Context, e strictkv.RequestEnd) {
	span, ok := ctx.Value(requestKey{}).(trace.Span)
	if !ok {
		return
	}
	if span.IsRecording() {
		span.SetAttributes(attribute.String(instrument.Result, e.Result.String()),
			attribute.Int(attrRead, e.BytesRead), attribute.Int(attrWritten, e.BytesWritten))
		t.fail(span, e.Err, e.Result >= strictkv.ResultThrottled)
	}
	span.End(trace.WithTimestamp(e.Start.Add(e.Duration)))
}

func (t *tracer) workBegin(ctx context.Context, e strictkv.WorkBegin) context.Context {
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindInternal), trace.WithTimestamp(e.Start),
		trace.WithAttributes(append(base(e.Database),
			attribute.String(instrument.Task, e.Task.String()))...),
	}
	if e.Task.Background() { // whoever has opened the database is not its cause
		options = append(options, trace.WithNewRoot())
	}
	ctx, span := t.api.Start(ctx, e.Task.String()+" "+e.Database, options...)
	return context.WithValue(ctx, workKey{}, span)
}

func (t *tracer) workEnd(ctx context.Context, e strictkv.WorkEnd) {
	span, ok := ctx.Value(workKey{}).(trace.Span)
	if !ok {
		return
	}
	if span.IsRecording() {
		span.SetAttributes(attribute.Int64(attrObjects, e.Objects))
		t.fail(span, e.Err, true)
	}
	span.End(trace.WithTimestamp(e.Start.Add(e.Duration)))
}

func seconds(key string, d time.Duration) attribute.KeyValue {
	return attribute.Float64(key, d.Seconds())
}

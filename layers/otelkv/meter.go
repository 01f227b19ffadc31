package otelkv

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/otelkv/internal/instrument"
)

// meter measures. Durations go to histograms at once; all else is counted here, and read when
// metrics are collected, which costs a transaction next to nothing.
type meter struct {
	tx, wait, request, work metric.Float64Histogram
	namesMax                int

	mu        sync.RWMutex // guards all below
	databases map[string]*database
	names     map[string]bool // of transactions
}

func newMeter(o Options) (*meter, error) {
	m := &meter{
		namesMax: o.TxNamesMax, databases: map[string]*database{}, names: map[string]bool{"": true},
	}
	api := o.Meters.Meter(scope)
	for _, x := range []struct {
		to *metric.Float64Histogram
		is instrument.Instrument
	}{
		{&m.tx, instrument.TxDuration}, {&m.wait, instrument.WaitDuration},
		{&m.request, instrument.RequestDuration}, {&m.work, instrument.WorkDuration},
	} {
		var err error
		*x.to, err = api.Float64Histogram(x.is.Name, metric.WithUnit(x.is.Unit),
			metric.WithDescription(x.is.Description),
			metric.WithExplicitBucketBoundaries(instrument.Buckets...))
		if err != nil {
			return nil, err
		}
	}
	return m, m.register(api)
}

// register makes the instruments of what is counted here.
func (m *meter) register(api metric.Meter) error {
	observables := make([]metric.Int64Observable, 0, len(counted))
	for _, x := range counted {
		var i metric.Int64Observable
		var err error
		unit, about := metric.WithUnit(x.is.Unit), metric.WithDescription(x.is.Description)
		if x.is.Kind == instrument.Gauge {
			i, err = api.Int64ObservableUpDownCounter(x.is.Name, unit, about)
		} else {
			i, err = api.Int64ObservableCounter(x.is.Name, unit, about)
		}
		if err != nil {
			return err
		}
		observables = append(observables, i)
	}
	all := make([]metric.Observable, len(observables))
	for i, o := range observables {
		all[i] = o
	}
	_, err := api.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		for _, d := range m.all() {
			for i, x := range counted {
				x.read(d, func(n int64, attributes ...attribute.KeyValue) {
					to.ObserveInt64(observables[i], n, d.with(attributes...))
				})
			}
		}
		return nil
	}, all...)
	return err
}

// all are the databases so far.
func (m *meter) all() []*database {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := make([]*database, 0, len(m.databases))
	for _, d := range m.databases {
		all = append(all, d)
	}
	return all
}

// of is what is counted of a database.
func (m *meter) of(name string) *database {
	m.mu.RLock()
	d := m.databases[name]
	m.mu.RUnlock()
	if d != nil {
		return d
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if d = m.databases[name]; d == nil {
		d = newDatabase(name)
		m.databases[name] = d
	}
	return d
}

// admit is the name of a transaction, or OtherName if there are too many.
func (m *meter) admit(name string) string {
	m.mu.RLock()
	known := m.names[name]
	m.mu.RUnlock()
	if known {
		return name
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.names[name] {
		if len(m.names) > m.namesMax { // the empty one is among them
			return OtherName
		}
		m.names[name] = true
	}
	return name
}

func (m *meter) observer() strictkv.Observer {
	return strictkv.Observer{
		TxBegin: m.txBegin, TxEnd: m.txEnd, TxAttempt: m.txAttempt, TxRetry: m.txRetry,
		WaitEnd: m.waitEnd, RequestBegin: m.requestBegin, RequestEnd: m.requestEnd,
		Resend: m.resend, WorkEnd: m.workEnd,
	}
}

func (m *meter) txBegin(ctx context.Context, e strictkv.TxBegin) context.Context {
	m.of(e.Database).txActive.Add(1)
	return ctx
}

func (m *meter) txEnd(ctx context.Context, e strictkv.TxEnd) {
	d := m.of(e.Database)
	d.txActive.Add(-1)
	d.runs.Add(int64(e.Runs))
	d.rounds.Add(int64(e.Rounds))
	d.txRequests.Add(int64(e.Requests))
	if e.Grouped {
		d.grouped.Add(1)
	}
	name, failure := "", ""
	if e.Name != "" {
		name = m.admit(e.Name)
	}
	if e.Err != nil {
		failure = errorType(e.Err)
	}
	k := seriesKey{
		what: seriesTx, a: uint8(e.Kind), b: uint8(e.Outcome), name: name, failure: failure,
	}
	m.tx.Record(ctx, e.Duration.Seconds(), d.series(k, func() []attribute.KeyValue {
		all := []attribute.KeyValue{
			attribute.String(instrument.Operation, e.Kind.String()),
			attribute.String(instrument.Outcome, e.Outcome.String()),
		}
		if name != "" {
			all = append(all, attribute.String(instrument.TxName, name))
		}
		if failure != "" {
			all = append(all, attribute.String(instrument.ErrorType, failure))
		}
		return all
	})...)
}

func (m *meter) txAttempt(_ context.Context, e strictkv.TxAttempt) {
	d := m.of(e.Database)
	d.attempts[index(e.Protocol)][index(e.Outcome)].Add(1)
}

func (m *meter) txRetry(_ context.Context, e strictkv.TxRetry) {
	m.of(e.Database).retries[index(e.Cause)].Add(1)
}

func (m *meter) waitEnd(ctx context.Context, e strictkv.WaitEnd) {
	k := seriesKey{what: seriesWait, a: uint8(e.For), b: uint8(e.Outcome)}
	m.wait.Record(ctx, e.Duration.Seconds(),
		m.of(e.Database).series(k, func() []attribute.KeyValue {
			return []attribute.KeyValue{
				attribute.String(instrument.For, e.For.String()),
				attribute.String(instrument.Outcome, e.Outcome.String()),
			}
		})...)
}

func (m *meter) requestBegin(ctx context.Context, e strictkv.RequestBegin) context.Context {
	m.of(e.Database).requestActive.Add(1)
	return ctx
}

func (m *meter) requestEnd(ctx context.Context, e strictkv.RequestEnd) {
	d := m.of(e.Database)
	d.requestActive.Add(-1)
	if e.BytesRead > 0 {
		d.read[index(e.Kind)].Add(int64(e.BytesRead))
	}
	if e.BytesWritten > 0 {
		d.written[index(e.Kind)].Add(int64(e.BytesWritten))
	}
	k := seriesKey{what: seriesRequest, a: uint8(e.Op), b: uint8(e.Kind), c: uint8(e.Result)}
	m.request.Record(ctx, e.Duration.Seconds(), d.series(k, func() []attribute.KeyValue {
		return []attribute.KeyValue{
			attribute.String(instrument.Operation, e.Op.String()),
			attribute.String(instrument.Object, e.Kind.String()),
			attribute.String(instrument.Result, e.Result.String()),
		}
	})...)
}

func (m *meter) resend(_ context.Context, e strictkv.Resend) {
	m.of(e.Database).resent[index(e.Result)].Add(1)
}

func (m *meter) workEnd(ctx context.Context, e strictkv.WorkEnd) {
	d, outcome := m.of(e.Database), "ok"
	if e.Err != nil {
		outcome = "failed"
	}
	d.objects[index(e.Task)].Add(e.Objects)
	k := seriesKey{what: seriesWork, a: uint8(e.Task), failure: outcome}
	m.work.Record(ctx, e.Duration.Seconds(), d.series(k, func() []attribute.KeyValue {
		return []attribute.KeyValue{
			attribute.String(instrument.Task, e.Task.String()),
			attribute.String(instrument.Outcome, outcome),
		}
	})...)
}

// base are the attributes of all points of a database.
func base(database string) []attribute.KeyValue {
	return slices.Clip([]attribute.KeyValue{
		attribute.String(instrument.System, system),
		attribute.String(instrument.Namespace, database),
	})
}

package otelkv

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/otelkv/internal/instrument"
)

// meter measures. What it counts is read when metrics are collected, and the samples of histograms
// are kept for a while, which costs a transaction next to nothing.
type meter struct {
	histograms [ofWork + 1]metric.Float64Histogram
	samples    *samples
	databases  table[string, *database]
	first      atomic.Pointer[database]

	namesMax int
	mu       sync.RWMutex    // guards names
	names    map[string]bool // of transactions
}

func newMeter(o Options) (*meter, error) {
	m := &meter{
		samples:  newSamples(o.Tracers != nil),
		namesMax: o.TxNamesMax, names: map[string]bool{"": true},
	}
	api := o.Meters.Meter(scope)
	for what, is := range map[what]instrument.Instrument{
		ofTx: instrument.TxDuration, ofWait: instrument.WaitDuration,
		ofRequest: instrument.RequestDuration, ofWork: instrument.WorkDuration,
	} {
		var err error
		m.histograms[what], err = api.Float64Histogram(is.Name, metric.WithUnit(is.Unit),
			metric.WithDescription(is.Description),
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
		m.samples.flush()
		for _, e := range m.databases.all() {
			d := e.v
			for i, x := range counted {
				x.read(d, func(n int64, attributes ...attribute.KeyValue) {
					to.ObserveInt64(observables[i], n, with(d.base, attributes...))
				})
			}
		}
		return nil
	}, all...)
	return err
}

// of is what is counted of a database. Most programs have one, which is found without hashing.
func (m *meter) of(name string) *database {
	if d := m.first.Load(); d != nil && d.name == name {
		return d
	}
	return m.databases.of(name, func() *database {
		d := newDatabase(name)
		m.first.CompareAndSwap(nil, d)
		return d
	})
}

// admit is the name of a transaction, or OtherName if there are too many.
func (m *meter) admit(name string) string {
	m.mu.RLock()
	known, full := m.names[name], len(m.names) > m.namesMax // the empty one is among them
	m.mu.RUnlock()
	switch {
	case known:
		return name
	case full:
		return OtherName
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.names[name] {
		if len(m.names) > m.namesMax {
			return OtherName
		}
		m.names[name] = true
	}
	return name
}

// series finds a series of a database, or makes it, which needs its attributes.
func (m *meter) series(
	d *database, k seriesKey, attributes func() []attribute.KeyValue,
) *series {
	if x, ok := d.series.at(k.hint(), k); ok {
		return x
	}
	return d.series.of(k, func() *series { return m.newSeries(d, k, attributes()) })
}

func (m *meter) newSeries(d *database, k seriesKey, attributes []attribute.KeyValue) *series {
	return m.samples.register(&series{
		of: m.histograms[k.what], count: d.count(k),
		with: []metric.RecordOption{with(d.base, attributes...)},
	})
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
	if e.Grouped {
		d.grouped.Add(1)
	}
	k := namedKey{name: e.Name}
	k.seriesKey = seriesKey{what: ofTx, a: uint8(e.Kind), b: uint8(e.Outcome)}
	if e.Err != nil {
		k.failure = errorType(e.Err)
	}
	of, ok := d.named.at(k.hint(), k)
	if !ok {
		of = m.txSeries(d, k, &e)
	}
	m.samples.add(ctx, of, e.Duration, tally{e.Runs, e.Rounds, e.Requests})
}

func (m *meter) txSeries(d *database, k namedKey, e *strictkv.TxEnd) *series {
	k.name = m.admit(k.name)
	return d.named.of(k, func() *series {
		all := []attribute.KeyValue{
			attribute.String(instrument.Operation, e.Kind.String()),
			attribute.String(instrument.Outcome, e.Outcome.String()),
		}
		if k.name != "" {
			all = append(all, attribute.String(instrument.TxName, k.name))
		}
		if k.failure != "" {
			all = append(all, attribute.String(instrument.ErrorType, k.failure))
		}
		return m.newSeries(d, k.seriesKey, all)
	})
}

func (m *meter) txAttempt(_ context.Context, e strictkv.TxAttempt) {
	d := m.of(e.Database)
	d.attempts[index(e.Protocol)][index(e.Outcome)].Add(1)
}

func (m *meter) txRetry(_ context.Context, e strictkv.TxRetry) {
	m.of(e.Database).retries[index(e.Cause)].Add(1)
}

func (m *meter) waitEnd(ctx context.Context, e strictkv.WaitEnd) {
	k := seriesKey{what: ofWait, a: uint8(e.For), b: uint8(e.Outcome)}
	of := m.series(m.of(e.Database), k, func() []attribute.KeyValue {
		return []attribute.KeyValue{
			attribute.String(instrument.For, e.For.String()),
			attribute.String(instrument.Outcome, e.Outcome.String()),
		}
	})
	m.samples.add(ctx, of, e.Duration, tally{})
}

func (m *meter) requestBegin(ctx context.Context, e strictkv.RequestBegin) context.Context {
	m.of(e.Database).requestActive.Add(1)
	return ctx
}

func (m *meter) requestEnd(ctx context.Context, e strictkv.RequestEnd) {
	d := m.of(e.Database)
	d.requestActive.Add(-1)
	k := seriesKey{what: ofRequest, a: uint8(e.Op), b: uint8(e.Kind), c: uint8(e.Result)}
	of := m.series(d, k, func() []attribute.KeyValue {
		return []attribute.KeyValue{
			attribute.String(instrument.Operation, e.Op.String()),
			attribute.String(instrument.Object, e.Kind.String()),
			attribute.String(instrument.Result, e.Result.String()),
		}
	})
	m.samples.add(ctx, of, e.Duration, tally{a: e.BytesRead, b: e.BytesWritten})
}

func (m *meter) resend(_ context.Context, e strictkv.Resend) {
	m.of(e.Database).resent[index(e.Result)].Add(1)
}

func (m *meter) workEnd(ctx context.Context, e strictkv.WorkEnd) {
	d := m.of(e.Database)
	d.objects[index(e.Task)].Add(e.Objects)
	k, outcome := seriesKey{what: ofWork, a: uint8(e.Task)}, "ok"
	if e.Err != nil {
		k.b, outcome = 1, "failed"
	}
	of := m.series(d, k, func() []attribute.KeyValue {
		return []attribute.KeyValue{
			attribute.String(instrument.Task, e.Task.String()),
			attribute.String(instrument.Outcome, outcome),
		}
	})
	m.samples.add(ctx, of, e.Duration, tally{})
}

// base are the attributes of all points of a database.
func base(database string) []attribute.KeyValue {
	return slices.Clip([]attribute.KeyValue{
		attribute.String(instrument.System, system),
		attribute.String(instrument.Namespace, database),
	})
}

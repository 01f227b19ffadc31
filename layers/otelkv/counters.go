package otelkv

import (
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/otelkv/internal/instrument"
)

// kindsMax is how many values of an attribute are counted apart: more than there are.
const kindsMax = 16

// counts are counters by an attribute, which is a number below kindsMax.
type counts [kindsMax]atomic.Int64

// index is that of a value; one of a later version, beyond what there is room for, is the last.
func index[E ~uint8](v E) int { return min(int(v), kindsMax-1) }

// database is what is counted of one.
type database struct {
	name string
	base []attribute.KeyValue

	txActive, runs, rounds, txRequests, grouped, requestActive atomic.Int64

	attempts                                [kindsMax]counts
	retries, read, written, resent, objects counts

	series table[seriesKey, *series]
	named  table[namedKey, *series]
}

func newDatabase(name string) *database { return &database{name: name, base: base(name)} }

// with are the attributes of a point.
func with(base []attribute.KeyValue, more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(base, more...)...))
}

// seriesKey names the series of a histogram.
type seriesKey struct {
	what    what
	a, b, c uint8
}

// hint is one for tables: the words are of few values each.
func (k seriesKey) hint() uint8 { return uint8(k.what) ^ k.a<<1 ^ k.b<<2 ^ k.c<<4 }

// namedKey names one of transactions.
type namedKey struct {
	seriesKey
	name, failure string
}

// hint is one for tables: names mostly differ in length.
func (k *namedKey) hint() uint8 { return k.seriesKey.hint() ^ uint8(len(k.name)) }

// count counts what a sample has beside its duration.
func (d *database) count(k seriesKey) func(tally) {
	switch k.what {
	case ofTx:
		return func(x tally) {
			d.runs.Add(int64(x.a))
			d.rounds.Add(int64(x.b))
			d.txRequests.Add(int64(x.c))
		}
	case ofRequest:
		kind := min(int(k.b), kindsMax-1)
		return func(x tally) {
			d.read[kind].Add(int64(x.a))
			d.written[kind].Add(int64(x.b))
		}
	}
	return nil
}

// what a series is of.
type what uint8

const (
	ofTx what = iota
	ofWait
	ofRequest
	ofWork
)

// report passes on one point.
type report func(n int64, attributes ...attribute.KeyValue)

// one reads a counter without attributes.
func one(of func(*database) *atomic.Int64) func(*database, report) {
	return func(d *database, to report) { to(of(d).Load()) }
}

// by passes on the counters that are not zero, each with its attribute.
func by[E interface {
	~uint8
	fmt.Stringer
}](c *counts, key string, to report, more ...attribute.KeyValue) {
	for i := range c {
		if n := c[i].Load(); n != 0 {
			to(n, append(more, attribute.String(key, E(i).String()))...)
		}
	}
}

// counted are the instruments of what is counted here.
var counted = []struct {
	is   instrument.Instrument
	read func(*database, report)
}{
	{instrument.TxActive, one(func(d *database) *atomic.Int64 { return &d.txActive })},
	{instrument.TxRuns, one(func(d *database) *atomic.Int64 { return &d.runs })},
	{instrument.TxRounds, one(func(d *database) *atomic.Int64 { return &d.rounds })},
	{instrument.TxRequests, one(func(d *database) *atomic.Int64 { return &d.txRequests })},
	{instrument.TxGrouped, one(func(d *database) *atomic.Int64 { return &d.grouped })},
	{instrument.RequestActive, one(func(d *database) *atomic.Int64 { return &d.requestActive })},
	{instrument.TxAttempts, func(d *database, to report) {
		for p := range d.attempts {
			by[strictkv.AttemptOutcome](&d.attempts[p], instrument.Outcome, to,
				attribute.String(instrument.Protocol, strictkv.Protocol(p).String()))
		}
	}},
	{instrument.TxRetries, func(d *database, to report) {
		by[strictkv.RetryCause](&d.retries, instrument.Cause, to)
	}},
	{instrument.RequestIO, func(d *database, to report) {
		read := attribute.String(instrument.Direction, "read")
		by[strictkv.ObjectKind](&d.read, instrument.Object, to, read)
		written := attribute.String(instrument.Direction, "written")
		by[strictkv.ObjectKind](&d.written, instrument.Object, to, written)
	}},
	{instrument.RequestResent, func(d *database, to report) {
		by[strictkv.RequestResult](&d.resent, instrument.Result, to)
	}},
	{instrument.WorkObjects, func(d *database, to report) {
		by[strictkv.Task](&d.objects, instrument.Task, to)
	}},
}
